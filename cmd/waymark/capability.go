package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/internal/plural"
	"waymark/live"
	"waymark/suggest/mine"
)

func (a *app) capabilityCommand() *cobra.Command {
	return group("capability", "Capabilities: list, export and import them, mine the history for new ones, approve or reject those",
		a.capabilityList(), a.capabilityExport(), a.capabilityImport(),
		a.capabilityPropose(), a.capabilityApprove(), a.capabilityReject())
}

// proposals is a list of them, as the API answers.
type proposals struct {
	Proposals []mine.Proposal `json:"proposals"`
	Total     int             `json:"total"`
}

func (a *app) capabilityPropose() *cobra.Command {
	var question struct {
		Support  int    `json:"support,omitempty"`
		Sessions int    `json:"sessions,omitempty"`
		Least    int    `json:"min_tools,omitempty"`
		Most     int    `json:"max_tools,omitempty"`
		Limit    int    `json:"limit,omitempty"`
		Rubric   string `json:"rubric,omitempty"`
	}
	var file, style string
	cmd := &cobra.Command{
		Use:   "propose",
		Short: "Look for capabilities in the history",
		Long: `Looks for what task after task has in common: DAGs of calls, with the order that the tasks agree on. They
are scored by a rubric and wait, the best first, until somebody approves or rejects them. Nothing is
published by itself, and what was rejected does not come back. With --json the job is printed.`,
		Example: `  waymark capability propose --support 5
  waymark capability approve p3f2a9c1b7d4e`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" {
				text, err := a.readFile(file)
				if err != nil {
					return usageError{err}
				}
				question.Rubric = string(text)
			}
			bar, err := a.progress(style, "propose", 1000)
			if err != nil {
				return err
			}
			return a.with(cmd.Context(), func(c *client.Client) error { return a.propose(cmd.Context(), c, question, bar) })
		},
	}
	f := cmd.Flags()
	countVar(f, &question.Support, "support", "fewest `tasks` that did it (default 3)")
	countVar(f, &question.Sessions, "sessions", "fewest `sessions` among them (default 2)")
	countVar(f, &question.Least, "min-tools", "fewest `calls` (default 2)")
	countVar(f, &question.Most, "max-tools", "most `calls` (default 8)")
	countVar(f, &question.Limit, "limit", "most proposals that wait (default 100)")
	f.StringVar(&file, "rubric", "", "a rubric `file` of one's own, over support, success, cohesion, savings and novelty")
	progressFlag(cmd, &style)
	return cmd
}

func (a *app) propose(ctx context.Context, c *client.Client, question any, bar progress) error {
	job, body, err := a.follow(ctx, c, "/v1/proposals", question, bar)
	switch {
	case err != nil:
		return err
	case job.State != live.JobDone || job.Mined == nil:
		return fmt.Errorf("%s: %s", job.ID, outcome(job))
	case a.json:
		return a.printBody(body)
	}
	m := job.Mined
	a.printf("%s, %s in common: %d to be decided, %d decided, %d too weak\n",
		plural.Of(m.Episodes, "task"), plural.Of(m.Patterns, "pattern"), m.Proposed, m.Decided, m.Weak)
	if m.Patterns == 0 {
		a.printf("looked at %s of %s, %d of them with %d calls or more\n", plural.Of(m.Episodes, "task"), plural.Of(m.Sessions, "session"), m.Long, m.Asked.Least)
		a.printf("a pattern is %d to %d calls (--min-tools, --max-tools) that at least %d tasks of at least %d sessions have in common (--support, --sessions)\n",
			m.Asked.Least, m.Asked.Most, m.Asked.Support, m.Asked.Sessions)
	}
	if m.Partial || m.More > 0 {
		a.printf("not everything was looked at: %s left out", plural.Of(m.More, "pattern"))
		if len(m.Cut) > 0 {
			a.printf(", and much of what has to do with %s", list(m.Cut))
		}
		a.printf("\n")
	}
	return a.listProposals(ctx, c, "proposed", shownProposals)
}

// shownProposals is how many proposals are printed where nobody says how many.
const shownProposals = 20

func (a *app) listProposals(ctx context.Context, c *client.Client, state string, limit int) error {
	body, err := c.Call(ctx, http.MethodGet, fmt.Sprintf("/v1/proposals?state=%s&limit=%d", url.QueryEscape(state), limit), nil)
	if err != nil {
		return err
	}
	return printer(a, (*app).showProposals)(body)
}

func (a *app) showProposals(l proposals) {
	if len(l.Proposals) == 0 {
		a.printf("no proposals\n")
		return
	}
	var rows [][]string
	for _, p := range l.Proposals {
		what := p.Verdict
		if p.State != mine.Proposed {
			what = string(p.State)
		}
		rows = append(rows, []string{p.ID, p.Composite.String(), what, fmt.Sprint(p.Evidence.Tasks), p.Capability.Name, short(p.Capability.Description)})
	}
	a.below([]string{"id", "score", "verdict", "tasks", "name", "what it does"}, rows)
	if more := l.Total - len(l.Proposals); more > 0 {
		a.printf("\nand %d more\n", more)
	}
}

func (a *app) capabilityList() *cobra.Command {
	var proposed bool
	var state, tag string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the capabilities, or what is proposed",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("state") {
				proposed = true
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				if proposed {
					return a.listProposals(cmd.Context(), c, state, limit)
				}
				return a.listCapabilities(cmd.Context(), c, tag)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&proposed, "proposed", false, "list what was mined from the history and waits for a decision")
	f.StringVar(&state, "state", "proposed", "list proposals in this `state`: proposed, approved, rejected or all")
	f.StringVar(&tag, "tag", "", "only capabilities with this `tag`")
	f.IntVar(&limit, "limit", shownProposals, "most proposals")
	return cmd
}

func (a *app) listCapabilities(ctx context.Context, c *client.Client, tag string) error {
	var all []catalog.Capability
	for cursor := ""; ; {
		var page struct {
			Capabilities []catalog.Capability `json:"capabilities"`
			Next         string               `json:"next_cursor"`
		}
		if err := read(ctx, c, "/v1/capabilities?limit=500&cursor="+url.QueryEscape(cursor), &page); err != nil {
			return err
		}
		all = append(all, page.Capabilities...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	all = slices.DeleteFunc(all, func(c catalog.Capability) bool { return tag != "" && !slices.Contains(c.Tags, tag) })
	if a.json {
		return a.printValue(map[string]any{"capabilities": all})
	}
	if len(all) == 0 {
		a.printf("no capabilities\n")
		return nil
	}
	var rows [][]string
	for _, c := range all {
		rows = append(rows, []string{c.ID, list(c.Tags), fmt.Sprint(len(c.Tools)), short(c.Description)})
	}
	columns(a.out, []string{"id", "tags", "tools", "what it does"}, rows)
	return nil
}

func (a *app) capabilityApprove() *cobra.Command {
	var as, name string
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Publish a proposal: put its capability into the catalog",
		Args:  exactly(1, "the id of a proposal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd.Context(), a, "/v1/proposals/"+url.PathEscape(args[0])+"/approve", map[string]string{"id": as, "name": name},
				func(a *app, p mine.Proposal) {
					a.printf("published %s: %s\n", p.Capability.ID, short(p.Capability.Description))
				})
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "`id` of the capability, if not the one proposed")
	cmd.Flags().StringVar(&name, "name", "", "its `name`, likewise")
	return cmd
}

func (a *app) capabilityReject() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "reject ID",
		Short: "Turn a proposal down: it does not come back",
		Args:  exactly(1, "the id of a proposal"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ask(cmd.Context(), a, "/v1/proposals/"+url.PathEscape(args[0])+"/reject", map[string]string{"reason": reason},
				func(a *app, p mine.Proposal) { a.printf("rejected %s\n", p.ID) })
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`why`, for whoever finds it later")
	return cmd
}
