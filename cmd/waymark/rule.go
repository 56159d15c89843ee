package main

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"waymark/live"
)

func (a *app) ruleCommand() *cobra.Command {
	return group("rule", "Ban, pin and rename tools, trust and split sources", a.ruleBan(), a.rulePin(), a.ruleAlias(),
		a.ruleSource(live.RuleTrust, "Count what a source reports in full", `What a source with a key reports is limited, so that one dishonest key cannot bend what others are told. What a
trusted source reports counts as what the operator records: for a collector or importer that you run yourself.`),
		a.ruleSource(live.RuleSplit, "Count each reporter behind a collector as a source of its own", `A collector or importer reports for many. Each label of its episodes counts as a source of its own, with the limits
of one key: the "source" that an imported episode names, or the service and instance of an OpenTelemetry resource. The
collector must be trusted to name them truthfully: invented labels would count as several sources.`),
		a.ruleList(), a.ruleUndo())
}

func (a *app) ruleAlias() *cobra.Command {
	return &cobra.Command{
		Use:   "alias OTHER TOOL",
		Short: "Let calls of another id count for a tool",
		Long: `Requests and recordings that name the other id mean the tool, and what was learned of it counts for the tool: a tool or
server with a new name keeps its history. "old:*" and "new:*" stand for a server with all its tools. Nothing in the
log is changed: "waymark rule undo alias:OTHER" separates the two again.`,
		Example: `  waymark rule alias github:create_issue github:issue_write
  waymark rule alias 'github:*' 'gh:*'`,
		Args: exactly(2, "the other id and the tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addRule(cmd, live.Rule{Kind: live.RuleAlias, Alias: args[0], Tool: args[1]})
		},
	}
}

func (a *app) ruleBan() *cobra.Command {
	rule := live.Rule{Kind: live.RuleBan}
	cmd := &cobra.Command{
		Use:   "ban TOOL [--after TOOL] [--intent TEXT]",
		Short: "Never suggest a tool",
		Long: `The tool is in no answer of next, dag and search any more; explain says why. It can still be called, and
what was learned of it is kept. With --after it is left out of next alone, where that tool was used last; with --intent
out of the answers to that request alone, whatever the order and inflection of its words. "waymark rule undo" restores
the former answers.`,
		Example: `  waymark rule ban billing:charge --intent "refund a customer"`,
		Args:    exactly(1, "a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.Tool = args[0]
			return a.addRule(cmd, rule)
		},
	}
	a.ruleFlags(cmd, &rule)
	return cmd
}

func (a *app) ruleFlags(cmd *cobra.Command, rule *live.Rule) {
	cmd.Flags().StringVar(&rule.After, "after", "", "the `tool` that was used last")
	cmd.Flags().StringVar(&rule.Intent, "intent", "", "the `request` that the rule is about")
}

func (a *app) rulePin() *cobra.Command {
	rule := live.Rule{Kind: live.RulePin}
	cmd := &cobra.Command{
		Use:   "pin TOOL [--after TOOL] [--intent TEXT]",
		Short: "Suggest a tool first after another one, or for a request",
		Long: `The tool is the first suggestion of next when --after was used last; without --after, when no tool was
used yet. With --intent it is so for that request alone, whatever the order and inflection of its words; search then
finds the tool first and dag has it in the plan. A ban of the same tool wins.`,
		Example: `  waymark rule pin github:get_checks --after github:create_pull_request
  waymark rule pin billing:refund_payment --intent "give the customer the money back"`,
		Args: exactly(1, "a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			rule.Tool = args[0]
			return a.addRule(cmd, rule)
		},
	}
	a.ruleFlags(cmd, &rule)
	return cmd
}

func (a *app) ruleSource(kind, short, long string) *cobra.Command {
	return &cobra.Command{
		Use:   kind + " SOURCE",
		Short: short,
		Long: long + `

The rule holds for the past as well: the history is counted anew. "waymark doctor" lists sources. "waymark rule undo"
restores the limits.`,
		Example: "  waymark rule " + kind + " otel:key:2f6c1a9e",
		Args:    exactly(1, "a source"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.addRule(cmd, live.Rule{Kind: kind, Source: args[0]})
		},
	}
}

func (a *app) addRule(cmd *cobra.Command, rule live.Rule) error {
	if f := cmd.Flags().Lookup("intent"); f != nil && f.Changed && rule.Intent == "" { // such as an unset variable: not for all requests
		return usagef("--intent is empty; leave it out for a rule about every request")
	}
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
				if len(l.Rules) == 0 {
					a.printf("no rules\n")
					return
				}
				var rows [][]string
				for _, r := range l.Rules {
					rows = append(rows, []string{r.ID, r.Kind, r.Tool, r.After, r.Alias, r.Source, r.Intent})
				}
				columns(a.out, []string{"id", "rule", "tool", "after", "alias", "source", "request"}, rows)
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
