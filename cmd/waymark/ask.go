package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
)

// confirm asks the person at the terminal. Where nobody sits at one, --yes is the answer.
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

// watch reads the thing at a path again and again, until see says that it is over, and returns the last answer.
func watch(ctx context.Context, c *client, path string, see func(json.RawMessage) (over bool, err error)) (json.RawMessage, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		body, err := c.call(ctx, http.MethodGet, path, nil, nil)
		if err != nil {
			return nil, err
		}
		if over, err := see(body); over || err != nil {
			return body, err
		}
		if !bounded.Wait(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// abandon cancels what nobody waits for any more, after an interrupt.
func (a *app) abandon(ctx context.Context, c *client, method, path string) {
	if ctx.Err() == nil {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if _, err := c.call(ctx, method, path, nil, nil); err != nil {
		fmt.Fprintf(a.errs, "it goes on: %s %s: %v\n", method, path, err)
	}
}

// takes is the rule for the number of arguments that a line of usage shows.
func takes(use string) cobra.PositionalArgs {
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

// inWords is a command without the name of the program, with which every error begins anyway.
func inWords(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
