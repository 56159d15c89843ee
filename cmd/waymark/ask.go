package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
)

// confirm asks the person at the terminal. Where no person can be asked, only --yes agrees.
func (a *app) confirm(question string) error {
	if a.yes {
		return nil
	}
	if !isTerminal(a.in) {
		return usagef("%s Nobody is here to be asked; --yes answers", question)
	}
	fmt.Fprintf(a.errs, "%s [y/N] ", question)
	answer, err := bufio.NewReader(bounded.New(a.ctx, a.in, named("-"), bounded.Document)).ReadString('\n')
	if err != nil && err != io.EOF { // no answer is no
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return rejected{errors.New("nothing was done")}
	}
	return nil
}

// await polls until the job or run in the answer to a request is over or waits for approval, and returns the last answer.
// An interrupt cancels it, unless it started before the request.
func (q *asked) await(ctx context.Context, c *client, sent time.Time, body json.RawMessage) (json.RawMessage, error) {
	var s struct {
		ID, State, Phase string
		Progress         float64
		StartedAt        time.Time `json:"started_at"`
	}
	bar, cancel := q.progress(q.OperationID, 1000), strings.Replace(q.wait, "get", "cancel", 1)
	defer bar.hide()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := decode(body, &s)
		if err != nil || s.State != "running" {
			return body, err
		}
		bar.at(int64(s.Progress*1000), cmp.Or(s.Phase, s.State))
		err = ctx.Err()
		if bounded.Wait(ctx, wait) {
			body, err = c.body(ctx, q.wait, map[string]any{"id": s.ID})
		}
		if ctx.Err() != nil && !s.StartedAt.Before(sent) { // the caller no longer waits
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer stop()
			if failed := c.ask(ctx, cancel, map[string]any{"id": s.ID}, nil); failed != nil {
				fmt.Fprintf(q.errs, "it goes on: %s %s: %v\n", cancel, s.ID, failed)
			}
		}
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
	}
}

// argsFor returns the check that the number of arguments agrees with a line of usage.
func argsFor(use string) cobra.PositionalArgs {
	_, named, _ := strings.Cut(use, " ")
	return func(cmd *cobra.Command, args []string) error {
		least, most := len(strings.Fields(named)), len(strings.Fields(named))
		if strings.Contains(named, "...") {
			most = len(args)
		}
		if strings.HasSuffix(named, "]") {
			least--
		}
		switch {
		case named == "" && len(args) > 0:
			return usagef("%s takes no argument, got %q", inWords(cmd), args[0])
		case len(args) < least || len(args) > max(least, most):
			return usagef("%s needs %s; see `%s --help`", inWords(cmd), named, cmd.CommandPath())
		}
		return nil
	}
}

// inWords returns a command without the name of the program, with which every error begins anyway.
func inWords(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
