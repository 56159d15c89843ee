package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress shows the progress of long work on stderr: a line that is redrawn on a terminal, or with --progress plain a line
// when the phase changes, and at most one a second within a phase.
type progress struct {
	app        *app
	bar, plain bool
	what       string
	total      int64 // -1: not known
	drawn      time.Time
	phase      string
}

// clearLine moves a terminal to the beginning of its line and empties it.
const clearLine = "\r\x1b[K"

func (a *app) progressFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.style, "progress", "auto", "progress on stderr: auto (a bar on a terminal), plain or none")
}

// progress chooses the style; only terminals get control characters.
func (a *app) progress(what string, total int64) *progress {
	return &progress{app: a, bar: a.style == "auto" && isTerminal(a.errs), plain: a.style == "plain", what: what, total: total}
}

// at reports n of the total as done.
func (p *progress) at(n int64, doing string) {
	if !p.bar && !p.plain || doing == p.phase && time.Since(p.drawn) < time.Second {
		return
	}
	p.drawn, p.phase = time.Now(), doing
	line := p.what + ": " + doing
	if p.total > 0 {
		line += fmt.Sprintf(" %d%%", 100*n/p.total)
	} else if n > 0 {
		line += fmt.Sprintf(" %d", n)
	}
	p.hide()
	fmt.Fprint(p.app.errs, line+map[bool]string{true: "\n"}[p.plain])
}

// hide clears the bar until the next call of at, if there is one.
func (p *progress) hide() {
	if p.bar {
		fmt.Fprint(p.app.errs, clearLine)
	}
}

// isTerminal reports whether a stream is a terminal with a person at it.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
