package main

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"waymark/live"
)

func (a *app) ruleCommand() *cobra.Command {
	return group("rule", "Ban or pin tools in suggestions", a.ruleBan(), a.rulePin(), a.ruleList(), a.ruleUndo())
}

func (a *app) ruleBan() *cobra.Command {
	return &cobra.Command{
		Use:   "ban TOOL",
		Short: "Never suggest a tool",
		Long: `The tool is in no answer of next, dag and search any more; explain says why. It can still be called, and
what was learned of it is kept. "waymark rule undo" restores the former answers.`,
		Args: exactly(1, "a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addRule(cmd, live.Rule{Kind: live.RuleBan, Tool: args[0]})
		},
	}
}

func (a *app) rulePin() *cobra.Command {
	rule := live.Rule{Kind: live.RulePin}
	cmd := &cobra.Command{
		Use:   "pin TOOL [--after TOOL]",
		Short: "Suggest a tool first after another one",
		Long: `The tool is the first suggestion of next when --after was used last; without --after, when no tool was
used yet. A ban of the same tool wins.`,
		Example: `  waymark rule pin github:get_checks --after github:create_pull_request`,
		Args:    exactly(1, "a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.Tool = args[0]
			return a.addRule(cmd, rule)
		},
	}
	cmd.Flags().StringVar(&rule.After, "after", "", "the `tool` that was used last")
	return cmd
}

func (a *app) addRule(cmd *cobra.Command, rule live.Rule) error {
	return call(cmd.Context(), a, http.MethodPost, "/v1/rules", rule, func(a *app, r live.Rule) { a.printf("rule %s added\n", clean(r.ID)) })
}

func (a *app) ruleList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the rules",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return get(cmd.Context(), a, "/v1/rules", func(a *app, l struct {
				Rules []live.Rule `json:"rules"`
			}) {
				var rows [][]string
				for _, r := range l.Rules {
					rows = append(rows, []string{r.ID, r.Kind, r.Tool, r.After})
				}
				columns(a.out, []string{"id", "rule", "tool", "after"}, rows)
			})
		},
	}
}

func (a *app) ruleUndo() *cobra.Command {
	return &cobra.Command{
		Use:   "undo ID",
		Short: "Undo a rule; the former answers return",
		Args:  exactly(1, "the id of a rule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.remove(cmd, "/v1/rules/"+url.PathEscape(args[0]), "rule "+args[0], "undone")
		},
	}
}
