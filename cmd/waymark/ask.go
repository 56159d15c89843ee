package main

import (
	"bufio"
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

// watch polls a job or a run by the operation get until see reports that it is over, and returns the last answer. After
// an interrupt it calls the operation cancel, unless that is empty.
func (a *app) watch(ctx context.Context, c *client, get, cancel, id string, see func(json.RawMessage) (over bool, err error)) (json.RawMessage, error) {
	thing := map[string]any{"id": id}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		body, err := c.ask(ctx, get, thing, nil)
		if err == nil {
			if over, err := see(body); over || err != nil {
				return body, err
			}
			if bounded.Wait(ctx, wait) {
				continue
			}
			err = ctx.Err()
		}
		if ctx.Err() != nil && cancel != "" { // the caller no longer waits
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer stop()
			if _, failed := c.ask(ctx, cancel, thing, nil); failed != nil {
				fmt.Fprintf(a.errs, "it goes on: %s %s: %v\n", cancel, id, failed)
			}
		}
		return nil, err
	}
}

// argsFor returns the check that the number of arguments agrees with a line of usage.
func argsFor(use string) cobra.PositionalArgs {
	_, named, _ := strings.Cut(use, " ")
	return func(cmd *cobra.Command, args []string) error {
		least, most := len(strings.Fields(named)), len(strings.Fields(named))
		if strings.HasSuffix(named, "...") || strings.HasSuffix(named, "...]") {
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
