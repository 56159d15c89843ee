//go:build browser

package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// digits is a number as the page shows it.
func digits(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprint(v)
	}
	return strconv.FormatFloat(v, 'f', max(0, min(3, 2-int(math.Floor(math.Log10(math.Abs(v)))))), 64)
}

// visit follows the link of a screen.
func visit(t *testing.T, ctx context.Context, screen string) {
	t.Helper()
	waitFor(t, ctx, fmt.Sprintf(`(() => { const a = [...document.querySelectorAll("nav a")].find((a) => a.textContent === %q); a?.click(); return !!a; })()`, screen))
	waitFor(t, ctx, fmt.Sprintf(`[...document.querySelectorAll("main :is(h1, h2)")].some((h) => h.textContent === %q)`, screen))
}

// cells are the rows of the table whose caption begins so, once it is there and ready holds of it.
func cells(t *testing.T, ctx context.Context, caption string) (rows [][]string) {
	t.Helper()
	table := fmt.Sprintf(`[...document.querySelectorAll("table")].find((e) => e.caption.textContent.startsWith(%q))`, caption)
	waitFor(t, ctx, "!!"+table)
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`[...`+table+`.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))`, &rows)))
	return rows
}

// forge writes the tools of one server of the sample as that server would list them, and one that nobody calls.
func forge(t *testing.T, file string) {
	t.Helper()
	catalog, err := os.Open("../../../cmd/waymark/sampledata/tools.jsonl")
	require.NoError(t, err)
	defer catalog.Close()
	tools := []map[string]any{{"name": "archive_repository", "description": "Makes a repository read-only.", "inputSchema": map[string]any{"type": "object"}}}
	for in := bufio.NewScanner(catalog); in.Scan(); {
		var tool struct {
			Name, Description, Server string
			Input                     json.RawMessage `json:"input_schema"`
			Output                    json.RawMessage `json:"output_schema"`
		}
		require.NoError(t, json.Unmarshal(in.Bytes(), &tool))
		if tool.Server == "forge" {
			tools = append(tools, map[string]any{"name": tool.Name, "description": tool.Description, "inputSchema": tool.Input, "outputSchema": tool.Output})
		}
	}
	require.Greater(t, len(tools), 1)
	text, err := json.Marshal(tools)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))
}

// Nine questions about the sample, asked one after the other by one client that only clicks and types. The
// answer is read from the page, and is that of the API.
func TestBrowserAnswersQuestions(t *testing.T) {
	browser(t)
	data := withSample(t)
	connect(t, data, "forge", forge)
	base, _ := startAt(t, data, "127.0.0.1", "--connect")
	require.Eventually(t, func() bool {
		var known struct{ Tools []struct{ ID string } }
		ask(t, "GET", base+"/v1/tools?limit=500", "", &known)
		return slices.ContainsFunc(known.Tools, func(tool struct{ ID string }) bool { return tool.ID == "forge:archive_repository" })
	}, minute, tick)
	changed(t, base)
	ctx, problems := tab(t)
	open(t, ctx, base, "", "svg.map")

	type stats struct {
		ID                         string
		Known                      bool
		Calls, Successes, Failures int
		P95                        int64 `json:"p95_ms"`
	}
	toolStats := func(query string) (a struct {
		Used, Unused int
		Tools        []stats
	}) {
		ask(t, "GET", base+"/v1/tool-stats?"+query, "", &a)
		return a
	}
	type suggestion struct {
		ID         string
		Confidence float64
		Terms      []struct {
			Name         string
			Contribution float64
		}
		Evidence struct{ Count, Of float64 }
	}
	var next struct{ Suggestions []suggestion }
	ask(t, "POST", base+"/v1/next", `{"context":["forge:create_branch"],"limit":5}`, &next)
	addContext := func() {
		visit(t, ctx, "Next")
		fill(t, ctx, "Tool that was used", "forge:create_branch")
		clickButton(t, ctx, "Add to context")
		waitFor(t, ctx, `location.hash.includes("create_branch") && !!document.querySelector("article svg")`)
	}
	first := func(rows [][]string, columns ...int) (row []string) {
		require.NotEmpty(t, rows)
		for _, i := range columns {
			row = append(row, rows[0][i])
		}
		return row
	}

	for _, q := range []struct {
		question string
		answers  func() (page, api []string)
	}{
		{"Which tool fails most after forge:create_branch?", func() ([]string, []string) {
			addContext()
			waitFor(t, ctx, `(() => { const a = [...document.querySelectorAll("main a")].find((a) => a.textContent === "All calls right after forge:create_branch"); a?.click(); return !!a; })()`)
			most := toolStats("after=forge:create_branch&order=failures").Tools[0]
			return first(cells(t, ctx, "Tools by failures right after forge:create_branch"), 0, 1, 2, 3), []string{most.ID, fmt.Sprint(most.Calls), fmt.Sprint(most.Successes), fmt.Sprint(most.Failures)}
		}},
		{"Why is one tool suggested before another?", func() (page, api []string) {
			addContext()
			for i, s := range next.Suggestions[:2] {
				row := cells(t, ctx, "Candidates")[i]
				term := first(cells(t, ctx, "Terms of "+s.ID), 0, 3)
				page = append(page, row[1], row[2], row[3], term[0], term[1])
				api = append(api, s.ID, digits(s.Confidence), fmt.Sprint(s.Evidence.Count), s.Terms[0].Name, digits(s.Terms[0].Contribution))
			}
			return page, api
		}},
		{"Why is a tool not suggested?", func() ([]string, []string) {
			addContext()
			var a struct {
				Rank, Of  int
				Suggested bool
				Absent    string `json:"absent_reason"`
				Reason    string
				Filters   []struct {
					Name   string
					Passed bool
				}
			}
			ask(t, "POST", base+"/v1/explain", `{"id":"billing:refund_payment","context":["forge:create_branch"],"limit":5}`, &a)
			require.False(t, a.Suggested)
			fill(t, ctx, "Tool or capability", "billing:refund_payment")
			clickButton(t, ctx, "Explain")
			rules := cells(t, ctx, "Rules")
			var page, api []string
			for i, f := range a.Filters {
				page, api = append(page, rules[i][0], rules[i][1]), append(api, f.Name, map[bool]string{true: "yes", false: "no"}[f.Passed])
			}
			return append(page, sentence(t, ctx, "billing:refund_payment:")), append(api, fmt.Sprintf("billing:refund_payment: not suggested. %s (%s)", a.Reason, a.Absent))
		}},
		{"What changed since yesterday?", func() ([]string, []string) {
			visit(t, ctx, "Changes")
			yesterday := time.Now().UTC().Add(-24 * time.Hour).Format(time.DateOnly)
			fill(t, ctx, "From", yesterday)
			clickButton(t, ctx, "Compare")
			shows(t, ctx, fmt.Sprintf("no such model: %q; there are sha256:", yesterday)) // and the times of those that there are
			fill(t, ctx, "From", "previous")
			clickButton(t, ctx, "Compare")
			summary := cells(t, ctx, "Summary")
			var diff struct {
				Added   []string `json:"added"`
				Edges   []any    `json:"edges_added"`
				Answers []any    `json:"answers_changed"`
			}
			ask(t, "GET", base+"/v1/graph/diff", "", &diff)
			return []string{summary[0][1], summary[2][1], summary[len(summary)-1][1]}, []string{fmt.Sprint(len(diff.Added)), fmt.Sprint(len(diff.Edges)), fmt.Sprint(len(diff.Answers))}
		}},
		{"Which tool fails most of all?", func() ([]string, []string) {
			visit(t, ctx, "Operations")
			visit(t, ctx, "Tools")
			fill(t, ctx, "Order", "failures")
			most := toolStats("order=failures").Tools[0]
			return first(cells(t, ctx, "Tools by failures, "), 0, 1, 3), []string{most.ID, fmt.Sprint(most.Calls), fmt.Sprint(most.Failures)}
		}},
		{"Which tool is slowest?", func() ([]string, []string) {
			fill(t, ctx, "Order", "p95")
			most := toolStats("order=p95").Tools[0]
			return first(cells(t, ctx, "Tools by p95, "), 0, 5), []string{most.ID, fmt.Sprint(most.P95)}
		}},
		{"Which tools does nobody use?", func() (page, api []string) {
			fill(t, ctx, "Order", "calls")
			for _, row := range cells(t, ctx, "Tools by calls, ") {
				if id, unknown := strings.CutSuffix(row[0], " (not in the catalog)"); unknown {
					page = append(page, id)
				}
			}
			all := toolStats("order=calls")
			for _, tool := range all.Tools {
				if tool.Calls > 0 && !tool.Known {
					api = append(api, tool.ID)
				}
			}
			waitFor(t, ctx, `(() => { const s = [...document.querySelectorAll("summary")].find((s) => s.textContent.startsWith("Tools that were never called")); s?.click(); return !!s; })()`)
			for _, row := range cells(t, ctx, "Tools that were never called") {
				page = append(page, row[0])
			}
			for _, tool := range toolStats("order=unused").Tools {
				api = append(api, tool.ID)
			}
			require.Len(t, toolStats("order=unused").Tools, all.Unused)
			return page, api
		}},
		{"Can the confidence be trusted?", func() (page, api []string) {
			visit(t, ctx, "Proof")
			shows(t, ctx, "waymark evaluate")
			out, err := exec.Command(os.Getenv("WAYMARK"), "evaluate", "--profile", "seed", "--data", data).CombinedOutput()
			require.NotContains(t, string(out), "error:", "%v", err) // it exits with 1 where a baseline is better
			visit(t, ctx, "Map")
			visit(t, ctx, "Proof")
			var kept struct {
				Report struct {
					Confidence struct {
						Next struct {
							ECE         float64
							Calibrated  *bool
							Claims      int
							Reliability []struct{ Confidence, Right float64 }
						}
					}
				}
			}
			ask(t, "GET", base+"/v1/evaluation", "", &kept)
			n := kept.Report.Confidence.Next
			for _, row := range cells(t, ctx, "Reliability, next tool") {
				page = append(page, row[0], row[1])
			}
			for _, b := range n.Reliability {
				api = append(api, digits(b.Confidence), digits(b.Right))
			}
			require.NotNil(t, n.Calibrated)
			said, _, _ := strings.Cut(sentence(t, ctx, "The confidence is off by"), ". On the dashed line")
			return append(page, said), append(api, fmt.Sprintf("The confidence is off by %s on average, over %d suggestions: %s", digits(n.ECE), n.Claims, map[bool]string{true: "calibrated", false: "not calibrated"}[*n.Calibrated]))
		}},
		{"How is “open a pull request” planned, and run?", func() (page, api []string) {
			var plan struct {
				DAG struct{ Tasks []struct{ ID, Tool string } }
			}
			ask(t, "POST", base+"/v1/dag", `{"intent":"open a pull request"}`, &plan)
			visit(t, ctx, "Plan and runs")
			fill(t, ctx, "Intent", "open a pull request")
			clickButton(t, ctx, "Plan")
			for _, row := range cells(t, ctx, "Tasks") {
				page = append(page, row[0], row[1])
			}
			for _, task := range plan.DAG.Tasks {
				api = append(api, task.ID, task.Tool)
			}
			clickButton(t, ctx, "Run")
			shows(t, ctx, "Some arguments have no value yet")
			asked := fillAll(t, ctx)
			require.NotEmpty(t, asked)
			clickButton(t, ctx, "Show what a run would do")
			require.Len(t, cells(t, ctx, "A run would"), len(plan.DAG.Tasks))
			clickButton(t, ctx, "Run")
			// Each task may change things, for the server says nothing of it.
			waitFor(t, ctx, `(() => { const b = [...document.querySelectorAll("button")].find((b) => b.textContent.startsWith("Approve ") && !b.disabled); b?.click(); return ["done", "failed"].includes(document.querySelector("main strong")?.textContent); })()`)
			waitFor(t, ctx, `document.querySelector("main strong").textContent === "done"`)
			visit(t, ctx, "Plan and runs")
			var runs struct{ Runs []struct{ ID, State string } }
			ask(t, "GET", base+"/v1/runs", "", &runs)
			for _, r := range runs.Runs {
				api = append(api, r.ID, r.State)
			}
			for _, row := range cells(t, ctx, "Runs, ") {
				page = append(page, row[0], row[1])
			}
			t.Log("values asked for: ", asked)
			return page, api
		}},
	} {
		page, api := q.answers()
		require.NotEmpty(t, api, q.question)
		require.Equal(t, api, page, q.question)
		t.Logf("%s %s", q.question, strings.Join(page, " | "))
	}
	require.Empty(t, *problems)
}

// sentence is the paragraph that begins so.
func sentence(t *testing.T, ctx context.Context, begin string) (text string) {
	t.Helper()
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll("main p")].map((p) => p.textContent).find((s) => s.startsWith(%q)) ?? ""`, begin), &text)))
	return text
}

// fillAll gives each field of the form of a run a value of its type, and returns their labels.
func fillAll(t *testing.T, ctx context.Context) (labels []string) {
	t.Helper()
	require.NoError(t, chromedp.Run(ctx, chromedp.Evaluate(`[...document.querySelectorAll("form.start label")].map((l) => { const f = l.querySelector("input, select, textarea");
		f.value = f.localName === "select" ? f.options[1].value : f.localName === "textarea" ? (f.placeholder.startsWith("[") ? "[]" : "{}") : f.type === "number" ? "1" : "text";
		f.dispatchEvent(new Event("input", { bubbles: true })); return l.firstChild.textContent; })`, &labels)))
	return labels
}
