package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress tells a waiting person how far long work has come. It writes to stderr only.
type progress interface {
	at(n int64, doing string) // n of the total; a total of -1 is not known
	hide()                    // until the next at, if there is one
}

func progressFlag(cmd *cobra.Command, style *string) {
	cmd.Flags().StringVar(style, "progress", "auto", "how progress is shown on stderr: auto (a bar on a terminal), plain, json or none")
}

// progress chooses how to show it. Control characters go to terminals alone.
func (a *app) progress(style, what string, total int64) (progress, error) {
	switch style {
	case "auto":
		if !isTerminal(a.errs) {
			return silent{}, nil
		}
		return &bar{a: a, what: what, total: total, began: time.Now()}, nil
	case "plain", "json":
		return &lines{a: a, json: style == "json", what: what, total: total}, nil
	case "none":
		return silent{}, nil
	}
	return nil, usagef("unknown --progress %q: want auto, plain, json or none", style)
}

type silent struct{}

func (silent) at(int64, string) {}
func (silent) hide()            {}

// bar draws one line on a terminal over and over: the work, how much of it is done, and the time that is left.
type bar struct {
	a            *app
	what         string
	total        int64
	began, drawn time.Time
	columns      int // of the line that is shown, which the next one covers
}

func (b *bar) at(n int64, doing string) {
	renamed := doing != "" && doing != b.what
	if !renamed && time.Since(b.drawn) < 100*time.Millisecond {
		return
	}
	if renamed {
		b.what = doing
	}
	b.drawn = time.Now()
	line := b.what
	switch spent := time.Since(b.began); {
	case b.total > 0:
		done := min(max(float64(n)/float64(b.total), 0), 1)
		line += fmt.Sprintf(" %3.0f%% |%-30s|", 100*done, strings.Repeat("█", int(30*done)))
		if done > 0 {
			line += fmt.Sprintf(" %v left", (time.Duration(float64(spent) * (1 - done) / done)).Round(time.Second))
		}
	case n > 0:
		line += fmt.Sprintf(" %d, %v", n, spent.Round(time.Second))
	}
	columns := len([]rune(line))
	fmt.Fprintf(b.a.errs, "\r%s%*s", line, max(b.columns-columns, 0), "")
	b.columns = columns
}

func (b *bar) hide() {
	fmt.Fprintf(b.a.errs, "\r%*s\r", b.columns, "")
	b.columns = 0
}

// lines prints one line when the phase changes, and otherwise at most one a second.
type lines struct {
	a     *app
	json  bool
	what  string
	total int64
	last  time.Time
	phase string
}

func (l *lines) at(n int64, doing string) {
	if doing == l.phase && time.Since(l.last) < time.Second {
		return
	}
	l.last, l.phase = time.Now(), doing
	if l.json {
		b, _ := json.Marshal(map[string]any{"work": l.what, "phase": doing, "done": n, "total": l.total}) // plain values always encode
		fmt.Fprintln(l.a.errs, string(b))
		return
	}
	of := ""
	if l.total > 0 {
		of = fmt.Sprintf(" %d%%", 100*n/l.total)
	} else if n > 0 {
		of = fmt.Sprintf(" %d", n)
	}
	fmt.Fprintf(l.a.errs, "%s: %s%s\n", l.what, doing, of)
}
func (l *lines) hide() {}

// isTerminal reports whether a stream is a terminal with a person at it.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
