package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
)

func (a *app) exportCommand() *cobra.Command {
	var format, around, output string
	var depth int
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the graph, or the catalog and history",
		Long: `Writes the learned graph as json, dot, graphml or mermaid. The format waymark writes catalog and
history instead, one object a line; import reads it back.`,
		Example: `  waymark export --format dot | dot -Tsvg > graph.svg
  waymark export --format mermaid --around fs:read_file --depth 1
  waymark export --format waymark -o history.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/v1/graph?" + url.Values{"format": {format}, "around": {around}, "depth": {strconv.Itoa(depth)}}.Encode()
			switch {
			case format == "waymark" && around != "":
				return usagef("--around is for the graph; --format waymark writes everything")
			case format == "waymark":
				path = "/v1/export"
			case around == "":
				path = "/v1/graph?" + url.Values{"format": {format}}.Encode()
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				write := func(w io.Writer) error {
					resp, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: path})
					if err != nil {
						return err
					}
					defer resp.Body.Close()
					_, err = io.Copy(w, resp.Body)
					return err
				}
				if output == "" || output == "-" {
					return write(a.out)
				}
				return replaceFile(output, write)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "json", "json, dot, graphml, mermaid or waymark")
	f.StringVar(&around, "around", "", "only what lies near this `id`")
	f.IntVar(&depth, "depth", 2, "how many transitions near is, with --around")
	f.StringVarP(&output, "output", "o", "", "the `file` to write (default: standard output)")
	return cmd
}

// replaceFile writes a file completely or not at all: a temporary one beside it, on disk, then renamed.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a device or a pipe is written to, not replaced
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cmp.Or(errors.Unwrap(err), err)) // nobody knows the temporary one
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func (a *app) diffCommand() *cobra.Command {
	return a.of(operation{
		id: "graph-diff", use: "diff FROM TO", args: "from to",
		long: `Compares two models of the workspace and their answers to sample requests: the active one (current), the one before
the last build (previous), or a version.`,
		example: `  waymark diff previous current`,
	})
}
