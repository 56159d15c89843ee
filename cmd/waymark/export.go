package main

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"waymark/storage"
)

func (a *app) exportCommand() *cobra.Command {
	var format, around, output string
	var depth int
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the graph, or the catalog and history",
		Long:  `Writes the learned graph. The format waymark writes catalog and history instead, which import reads.`,
		Example: `  waymark export --format dot | dot -Tsvg > graph.svg
  waymark export --format mermaid --around fs:read_file --depth 1
  waymark export --format waymark -o history.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, fields := "graph", map[string]any{"format": format}
			if around != "" {
				fields["around"], fields["depth"] = around, depth
			}
			if format == "waymark" {
				id = "export"
			}
			return a.with(cmd.Context(), func(c *client) error {
				write := func(w io.Writer) error {
					resp, err := c.open(cmd.Context(), id, fields)
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
	f.StringVar(&around, "around", "", "only nodes near this `id`")
	f.IntVar(&depth, "depth", 2, "number of transitions from the id of --around")
	f.StringVarP(&output, "output", "o", "", "the `file` to write (default: standard output)")
	return cmd
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

func (a *app) diffCommand() *cobra.Command {
	return a.of(operation{
		id: "graph-diff", use: "diff FROM TO", args: "from to",
		long: `Compares two models of the workspace and their answers to sample requests: the active one (current), the one before
the last build (previous), or a version.`,
		example: `  waymark diff previous current`,
	})
}
