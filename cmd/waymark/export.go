package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"waymark/storage"
)

func (a *app) exportCommand() *cobra.Command {
	var output string
	return a.of(operation{
		id: "graph", use: "export", flags: "format around depth", short: "Export the graph, or the catalog and history",
		long: `Writes the learned graph. The format waymark writes catalog and history instead, which import reads.`,
		example: `  waymark export --format dot | dot -Tsvg > graph.svg
  waymark export --format mermaid --around fs:read_file --depth 1
  waymark export --format waymark -o history.jsonl`,
		more: func(cmd *cobra.Command) {
			cmd.Flags().StringVarP(&output, "output", "o", "", "the `file` to write (default: standard output)")
		},
		prepare: func(_ []string, q *asked) error {
			if q.fields["format"] == "waymark" {
				q.Operation, q.fields = operationsOf()["export"], nil
			}
			return nil
		},
		around: func(ctx context.Context, c *client, q *asked, _ func() error) error {
			return q.download(ctx, c, output, func(int64, http.Header) error { return nil })
		},
	})
}

// download writes the answer to a file completely or not at all, or to standard output if output is empty or "-". whole
// checks the number of bytes and the trailer of the answer.
func (q *asked) download(ctx context.Context, c *client, output string, whole func(n int64, trailer http.Header) error) error {
	write := func(w io.Writer) error {
		resp, err := c.open(ctx, q.OperationID, q.fields)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		n, err := io.Copy(w, resp.Body)
		if err != nil {
			return err
		}
		return whole(n, resp.Trailer)
	}
	if output == "" || output == "-" {
		return write(q.out)
	}
	return replaceFile(output, write)
}

// replaceFile writes a file completely or not at all. A device or a pipe is written to, not replaced.
func replaceFile(path string, write func(io.Writer) error) error {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		return storage.WriteFile(path, write)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
