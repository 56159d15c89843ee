package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/internal/strictjson"
	"waymark/live"
)

func (a *app) capabilityExport() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "export ID",
		Short:   "Write a capability as JSON",
		Long:    `Writes a capability as JSON.`,
		Example: `  waymark capability export weekly-report --output weekly.json`,
		Args:    exactly(1, "the id of a capability"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				var one catalog.Capability
				if err := read(cmd.Context(), c, "/v1/capabilities/"+url.PathEscape(args[0]), &one); err != nil {
					return err
				}
				text, err := json.MarshalIndent(one, "", "  ")
				if err != nil {
					return err
				}
				text = append(text, '\n')
				if file != "" {
					return os.WriteFile(file, text, 0o644)
				}
				_, err = a.out.Write(text)
				return err
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "`file` to write; standard output without")
	return cmd
}

func (a *app) capabilityImport() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE|-",
		Short: "Put capabilities from a file into the catalog",
		Long: `Reads capabilities as JSON and puts them into the catalog: one, as waymark capability export writes it, a list, or
an object with a list "capabilities".`,
		Args: exactly(1, "a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.readInput(args[0])
			if err != nil {
				return err
			}
			if err := strictjson.CheckFile(text); err != nil {
				return rejected{fmt.Errorf("%s: %w", named(args[0]), err)}
			}
			var one map[string]json.RawMessage
			if json.Unmarshal(text, &one) == nil && one["capabilities"] == nil {
				text = slices.Concat([]byte("["), text, []byte("]"))
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				body, err := c.Call(cmd.Context(), http.MethodPut, "/v1/capabilities", json.RawMessage(text))
				if err != nil {
					return refusedInput(named(args[0]), err)
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
}
