package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/ingest"
	"waymark/live"
	"waymark/run/exchange"
)

func (a *app) capabilityExport() *cobra.Command {
	var format, file string
	var skill bool
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a capability for this or another program",
		Long: `Writes a capability, by its id or id@version: as JSON (waymark), as a composite tool of ToolHive, or as an
Arazzo 1.0 workflow. What the format cannot say is listed on stderr. With --skill it becomes a skill: a folder
with a SKILL.md, in the folder that --output names.`,
		Example: `  waymark capability export weekly-report --format toolhive --output weekly.yaml
  waymark capability export weekly-report --skill --output .claude/skills`,
		Args: exactly(1, "the id of a capability"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				body, err := c.Call(cmd.Context(), http.MethodGet, "/v1/capabilities/"+url.PathEscape(args[0]), nil)
				if err != nil {
					return err
				}
				var one catalog.Capability
				if err := json.Unmarshal(body, &one); err != nil {
					return fmt.Errorf("export: the answer is not what this program expects: %w", err)
				}
				if skill {
					return a.writeSkill(one, file)
				}
				text, notes, err := exchange.Encode(format, one)
				if err != nil {
					return usageError{err}
				}
				for _, n := range notes {
					fmt.Fprintf(a.errs, "not exported: %s\n", clean(n))
				}
				if file != "" {
					return os.WriteFile(file, text, 0o644)
				}
				_, err = a.out.Write(text)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", exchange.Waymark, strings.Join(exchange.Formats, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "`file` to write; standard output without. With --skill a folder; the current one without")
	cmd.Flags().BoolVar(&skill, "skill", false, "write a folder with a SKILL.md")
	return cmd
}

// writeSkill writes a capability as a skill below a folder. A skill that is there already may be somebody's own.
func (a *app) writeSkill(one catalog.Capability, folder string) error {
	name, text, err := exchange.Skill(one)
	if err != nil {
		return rejected{err}
	}
	path := filepath.Join(folder, name, ingest.SkillFile)
	if there, err := os.ReadFile(path); err == nil && !bytes.Equal(there, text) {
		return rejected{fmt.Errorf("%s is there already and differs; remove it, or name another folder with --output", path)}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := (edit{path: path, after: text}).write(); err != nil {
		return err
	}
	if a.json {
		return a.printValue(map[string]string{"written": path})
	}
	a.printf("wrote %s\n", clean(path))
	return nil
}

func (a *app) capabilityImport() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "import FILE|-",
		Short: "Put capabilities from a file into the catalog",
		Long: `Reads capabilities as waymark capability export writes them, composite tools of ToolHive, or Arazzo 1.0
workflows, and puts them into the catalog. What cannot be said here is refused, each thing by its name;
what does not matter for running is listed on stderr.`,
		Args: exactly(1, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in, name, err := a.openInput(args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			text, err := io.ReadAll(io.LimitReader(in, exchange.MaxInput+1))
			if err != nil {
				return err
			}
			all, notes, err := exchange.Decode(format, text)
			if err != nil {
				return rejected{fmt.Errorf("%s: %w", name, err)}
			}
			for _, n := range notes {
				fmt.Fprintf(a.errs, "not imported: %s\n", clean(n))
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				body, err := c.Call(cmd.Context(), http.MethodPut, "/v1/capabilities", all)
				if err != nil {
					return refusedInput(name, err)
				}
				return printer(a, func(a *app, r live.PutResult) {
					a.printf("added %d, updated %d, unchanged %d, rejected %d\n", r.Added, r.Updated, r.Unchanged, len(r.Rejected))
					for _, one := range r.Rejected {
						a.printf("%s\n", clean(about(one)))
					}
				})(body)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "", strings.Join(exchange.Formats, ", ")+"; found out if not said")
	return cmd
}
