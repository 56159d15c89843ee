package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
)

// exchange sends a request and decodes the answer, which it also returns as it came.
func exchange(ctx context.Context, c *client.Client, method, path string, question, answer any) (json.RawMessage, error) {
	body, err := c.Call(ctx, method, path, question)
	if err == nil {
		if err = json.Unmarshal(body, answer); err != nil {
			err = fmt.Errorf("%s: the answer is not what this program expects: %w", path, err)
		}
	}
	return body, err
}

func read(ctx context.Context, c *client.Client, path string, answer any) error {
	_, err := exchange(ctx, c, http.MethodGet, path, nil, answer)
	return err
}

// printer prints a body as --json wants it, or decodes it for show.
func printer[Answer any](a *app, show func(*app, Answer)) func(json.RawMessage) error {
	return func(body json.RawMessage) error {
		if a.json {
			return a.printBody(body)
		}
		var answer Answer
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("the answer is not what this program expects: %w", err)
		}
		show(a, answer)
		return nil
	}
}

// confirm asks the person at the terminal. Where nobody sits at one, --yes is the answer.
func (a *app) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(a.in) {
		return usagef("%s Nobody is here to be asked; --yes answers", question)
	}
	sure, err := a.yes(a.ctx, question)
	if err == nil && !sure {
		err = rejected{errors.New("nothing was done")}
	}
	return err
}

// The rules for arguments say what is missing in the words of the command.

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, got %q", inWords(cmd), args[0])
	}
	return nil
}

func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s needs %s; see `%s --help`", inWords(cmd), what, cmd.CommandPath())
		}
		return nil
	}
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s needs %s, got %d arguments; see `%s --help`", inWords(cmd), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// inWords is a command without the name of the program, with which every error begins anyway.
func inWords(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
