package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress shows the progress of long work on stderr. The style bar redraws one line on a terminal. The style plain
// prints a line when the phase changes, and at most one a second within a phase.
type progress struct {
	app   *app
	style string // bar, plain or none
	what  string
	total int64 // -1: not known
	began time.Time
	drawn time.Time
	phase string
}

// clearLine moves a terminal to the beginning of its line and empties it.
const clearLine = "\r\x1b[K"

func (a *app) progressFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.style, "progress", "auto", "progress on stderr: auto (a bar on a terminal), plain or none")
}

// progress chooses the style; only terminals get control characters.
func (a *app) progress(what string, total int64) *progress {
	style := a.style
	if style == "auto" {
		style = map[bool]string{true: "bar", false: "none"}[isTerminal(a.errs)]
	}
	return &progress{app: a, style: style, what: what, total: total, began: time.Now()}
}

// at reports n of the total as done.
func (p *progress) at(n int64, doing string) {
	least := map[bool]time.Duration{true: time.Second / 10, false: time.Second}[p.style == "bar"]
	if p.style == "none" || doing == p.phase && time.Since(p.drawn) < least {
		return
	}
	p.drawn, p.phase = time.Now(), doing
	line := p.what + ": " + doing
	if p.total > 0 {
		line += fmt.Sprintf(" %d%%", 100*n/p.total)
	} else if n > 0 {
		line += fmt.Sprintf(" %d", n)
	}
	if p.style == "plain" {
		fmt.Fprintln(p.app.errs, line)
		return
	}
	if spent := time.Since(p.began); p.total > 0 && n > 0 {
		line += fmt.Sprintf(", %v left", (time.Duration(float64(spent) * float64(p.total-n) / float64(n))).Round(time.Second))
	}
	fmt.Fprint(p.app.errs, clearLine+line)
}

// hide clears the bar until the next call of at, if there is one.
func (p *progress) hide() {
	if p.style == "bar" {
		fmt.Fprint(p.app.errs, clearLine)
	}
}

// isTerminal reports whether a stream is a terminal with a person at it.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
