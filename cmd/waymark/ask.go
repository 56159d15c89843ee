package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"waymark/catalog"
	"waymark/cmd/waymark/internal/client"
	"waymark/live"
	"waymark/suggest"
)

// ask posts one question and prints the answer: as it came with --json, else with show.
func ask[Answer any](ctx context.Context, a *app, path string, question any, show func(*app, Answer)) error {
	return call(ctx, a, http.MethodPost, path, question, show)
}

// get asks for what is at a path and prints it like ask.
func get[Answer any](ctx context.Context, a *app, path string, show func(*app, Answer)) error {
	return call(ctx, a, http.MethodGet, path, nil, show)
}

func call[Answer any](ctx context.Context, a *app, method, path string, question any, show func(*app, Answer)) error {
	return a.with(ctx, func(c *client.Client) error { return callOver(ctx, a, c, method, path, question, show) })
}

func callOver[Answer any](ctx context.Context, a *app, c *client.Client, method, path string, question any, show func(*app, Answer)) error {
	namesOf(c, question)
	body, err := c.Call(ctx, method, path, question)
	if err != nil {
		return err
	}
	return printer(a, show)(body)
}

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

// namesOf leaves the names of fields as they are where a request is the caller's own JSON.
func namesOf(c *client.Client, request any) {
	if _, raw := request.(json.RawMessage); raw {
		c.Named = nil
	}
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

// explaining is the flag --explain: text shows terms where it is set, JSON unless it is set to false.
type explaining struct {
	on    bool
	given func() bool
}

func (e *explaining) flag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&e.on, "explain", false, "also print the ten largest terms of each score, and what else explains it (--json: all, unless --explain=false)")
	e.given = func() bool { return cmd.Flags().Changed("explain") }
}

// asked is the field of the request. The reasons that text shows come with the terms.
func (e *explaining) asked(a *app) *bool {
	if a.json && e.given() {
		return &e.on
	}
	return nil
}

// shown is a function that shows an answer with or without details.
func shown[Answer any](show func(*app, Answer, bool), details *bool) func(*app, Answer) {
	return func(a *app, answer Answer) { show(a, answer, *details) }
}

// corrected shows an answer and the command that keeps what is first out of the answers to this question.
func corrected[Answer interface{ Foremost() string }](show func(*app, Answer), context []string, intent string) func(*app, Answer) {
	return func(a *app, answer Answer) {
		if show(a, answer); answer.Foremost() == "" || len(intent) > live.MaxRuleIntent {
			return
		}
		last := strings.Join(context[max(0, len(context)-1):], "")
		command := live.Correction(shellWord, answer.Foremost(), last, strings.Join(strings.Fields(intent), " "))
		where := a.elsewhere()
		if a.data == os.Getenv("WAYMARK_DATA") { // the next command meets it, too
			where = strings.Replace(where, " --data "+shellWord(a.data), "", 1)
		}
		a.printf("wrong? %s%s\n", clean(command), where)
	}
}

func (a *app) searchCommand() *cobra.Command {
	var r suggest.SearchRequest
	var explain explaining
	var kinds []string
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find tools and capabilities by words",
		Example: `  waymark search "open issues of a repository"
  waymark search parse json --context fs:read_file --limit 3`,
		Args: atLeast(1, "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Query = strings.Join(args, " ")
			for _, k := range kinds {
				r.Kinds = append(r.Kinds, catalog.Kind(k))
			}
			r.Explain = explain.asked(a)
			return ask(cmd.Context(), a, "/v1/search", r, corrected(shown((*app).showSearch, &explain.on), nil, r.Query))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.Context, "context", nil, "`ids` already used, in order")
	countVar(f, &r.Limit, "limit", "how many results (default 10)")
	f.StringSliceVar(&kinds, "kinds", nil, "only these `kinds`: tool, capability")
	f.StringVar(&r.Profile, "profile", "", "scoring `profile`: learned (default) or seed")
	explain.flag(cmd)
	f.StringSliceVar(&r.Allow, "allow", nil, "only ids that match one of these `patterns`, as in github:*")
	return cmd
}

func (a *app) nextCommand() *cobra.Command {
	var r suggest.NextRequest
	var explain explaining
	cmd := &cobra.Command{
		Use:   "next [ID...]",
		Short: "Suggest what comes next",
		Long: `Suggests what comes next: after the ids given here or with --after (what was done, the last thing last),
for --intent, for both, or, with neither, where to begin exploring.`,
		Example: `  waymark next fs:read_file
  waymark next --intent "report open issues" --limit 3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if strings.ContainsFunc(arg, unicode.IsSpace) {
					return usagef("%q is no id; what is wanted is given with --intent", arg)
				}
				r.Context = append(r.Context, strings.Split(arg, ",")...)
			}
			if !(r.MinConfidence >= 0 && r.MinConfidence <= 1) { // not a number is neither, and no JSON
				return usagef("--min-confidence must be a number from 0 to 1, got %v", r.MinConfidence)
			}
			r.Explain = explain.asked(a)
			return ask(cmd.Context(), a, "/v1/next", r, corrected(shown((*app).showNext, &explain.on), r.Context, r.Intent))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.Context, "after", nil, "`ids` already used, in order")
	f.StringVar(&r.Intent, "intent", "", "what is wanted, as `text`")
	countVar(f, &r.Limit, "limit", "how many suggestions (default 5)")
	f.Float64Var(&r.MinConfidence, "min-confidence", 0, "leave out suggestions with less `confidence`, from 0 to 1")
	f.StringSliceVar(&r.Allow, "allow", nil, "only ids that match one of these `patterns`, as in github:*")
	f.StringVar(&r.Profile, "profile", "", "scoring `profile`: learned (default) or seed")
	explain.flag(cmd)
	return cmd
}

func (a *app) dagCommand() *cobra.Command {
	var r suggest.DAGRequest
	var explain explaining
	cmd := &cobra.Command{
		Use:     "dag INTENT...",
		Short:   "Suggest a DAG of tools for an intent",
		Example: `  waymark dag "collect open issues and mail a summary"`,
		Args:    atLeast(1, "an intent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.Intent = strings.Join(args, " "); strings.TrimSpace(r.Intent) == "" {
				return usagef("dag needs an intent, and this one is empty")
			}
			r.Explain = explain.asked(a)
			return ask(cmd.Context(), a, "/v1/dag", r, corrected(shown((*app).showDAG, &explain.on), nil, r.Intent))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.Context, "context", nil, "`ids` already used, in order")
	f.BoolVar(&r.CallableOnly, "callable-only", false, "plan only with what a run can call, without the host's tools")
	countVar(f, &r.MaxSteps, "max-steps", "at most this many tasks (default the length the history teaches)")
	f.StringSliceVar(&r.Allow, "allow", nil, "only ids that match one of these `patterns`, as in github:*")
	f.StringVar(&r.Profile, "profile", "", "scoring `profile`: learned (default) or seed")
	explain.flag(cmd)
	return cmd
}

func (a *app) explainCommand() *cobra.Command {
	var r suggest.ExplainRequest
	var all bool
	cmd := &cobra.Command{
		Use:     "explain ID",
		Short:   "Explain why an id is, or is not, suggested",
		Example: `  waymark explain json:parse --after fs:read_file`,
		Args:    exactly(1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ID = args[0]
			if r.Formula {
				r.Profile = suggest.ProfileSeed
			}
			return ask(cmd.Context(), a, "/v1/explain", r, shown((*app).showExplain, &all))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&r.Context, "after", nil, "`ids` already used, in order")
	f.StringVar(&r.Intent, "intent", "", "what is wanted, as `text`")
	countVar(f, &r.Limit, "limit", "the cut it is compared with (default 5)")
	f.StringSliceVar(&r.Allow, "allow", nil, "only ids that match one of these `patterns`, as in github:*")
	f.StringVar(&r.Profile, "profile", "", "scoring `profile`: learned (default) or seed")
	f.BoolVar(&all, "all", false, "print every term of the score, not only the ten largest")
	f.BoolVar(&r.Formula, "formula", false, "print instead how profile seed computes the score, formula by formula")
	apart(cmd, "formula", "profile")
	return cmd
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
