package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"waymark/internal/plural"
)

// WriteText writes the report for a terminal.
func (r *Report) WriteText(out io.Writer) error {
	w := &sheet{Writer: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if r.Calls == 0 {
		w.line("No tool calls were found.")
	} else {
		w.line("%s in %s of %s%s", plural.Of(r.Calls, "call"), plural.Of(r.Tasks, "task"), plural.Of(r.Sessions, "session"), r.span())
		r.writeUse(w)
		r.writeAdvice(w)
	}
	w.table("Searched", "host\tpath\tfiles\tsize\tstatus")
	for _, p := range r.Searched {
		w.line("%s\t%s\t%d\t%s\t%s", p.Host, plain(p.Shown), p.Files, size(p.Bytes), p.Status)
	}
	for _, u := range r.Unknown {
		w.line("Not read: %s", plain(u))
	}
	if r.Skipped > 0 || r.Dropped > 0 {
		w.table("Not understood", "")
		w.line("%d of %d lines are of a kind that is not known; lines or tasks that could not be used: %d.", r.Skipped, r.Lines, r.Dropped)
		for _, d := range r.Damaged[:min(len(r.Damaged), 5)] {
			w.line("%s: %s", plain(d.Place()), plain(d.Reason))
		}
		if more := r.Dropped - 5; more > 0 {
			w.line("… and %d more", more)
		}
	}
	if w.err != nil {
		return w.err
	}
	return w.Flush()
}

func (r *Report) writeUse(w *sheet) {
	if n := r.Named; n != nil {
		w.table("Next calls", "")
		w.line("Waymark would have named %s of your next calls first, %s among three (%s of the newest %s, from those before).", percent(n.First), percent(n.Three), plural.Of(n.Calls, "call"), plural.Of(n.Tasks, "task"))
		w.line("The tool that most often followed the last one names %s first.", percent(n.MarkovOne))
	} else {
		w.table("Next calls", "")
		w.line("How many Waymark would have named: %s.", r.NamedWhy)
	}
	for _, list := range []struct {
		title string
		rows  []Row
	}{{"Servers", r.Servers}, {"Tools", r.Tools}} {
		w.table(list.title, "name\tcalls\tfailed\tp50\tp95")
		for _, row := range list.rows {
			w.line("%s\t%d\t%s\t%s\t%s", plain(hostName(row.Name)), row.Calls, percent(row.FailureRate), millis(row.P50), millis(row.P95))
		}
	}
	if len(r.Weeks) > 0 {
		w.table("By week", "from\ttasks\tcalls\tfailed\trepeated")
		for i := range r.Weeks {
			k := &r.Weeks[i]
			w.line("%s\t%d\t%d\t%s\t%s", day(k.Monday), k.Tasks, k.Calls, k.Share(k.Failed), k.Share(k.Repeated))
		}
	}
	if len(r.Failures) > 0 {
		w.table("Failures", "class\tcalls\tof all\tmost often")
		for _, f := range r.Failures {
			var tools []string
			for _, t := range f.Tools {
				tools = append(tools, fmt.Sprintf("%s (%d of %d)", plain(t.Name), t.Failures, t.Calls))
			}
			w.line("%s\t%d\t%s\t%s", f.Class, f.Calls, percent(f.Rate), strings.Join(tools, ", "))
		}
	}
}

func (r *Report) writeAdvice(w *sheet) {
	if len(r.Loops) > 0 {
		w.table("Loops: three or more calls in a row with arguments of one shape", "tool\tloops\tcalls\tlongest\tfailed")
		for _, l := range r.Loops {
			w.line("%s\t%d\t%d\t%d\t%d", plain(l.Tool), l.Times, l.Calls, l.Longest, l.Failed)
		}
	}
	if len(r.Workflows) > 0 {
		w.table("Repeated workflows", "tasks\tsessions\ttools")
		for _, f := range r.Workflows {
			w.line("%d\t%d\t%s", f.Tasks, f.Sessions, joined(f.Tools))
		}
	}
	w.table("Configured servers that no session used", "")
	if r.Judged == 0 {
		w.line("Not judged: no configuration of servers was in place for %d sessions.", LeastSessions)
	} else if len(r.Unused) == 0 {
		w.line("None of %d.", r.Judged)
	}
	for _, u := range r.Unused {
		w.line("%s (%s): not called in %s that had it.", plain(u.Server), u.Host, plural.Of(u.Sessions, "session"))
	}
	w.table("Tokens spent on tool definitions (estimate)", "")
	if r.Schemas == nil {
		w.line("Not known: the workspace has no definitions of the tools that were called (waymark gateway add, waymark import).")
		return
	}
	w.line("server\ttools\ttokens a session\tsessions\ttokens")
	for _, s := range r.Schemas.Servers {
		w.line("%s\t%d\t%d\t%d\t%d", plain(s.Server), s.Tools, s.Each, s.Sessions, s.Tokens)
	}
	if r.Schemas.Unknown > 0 {
		w.line("Not counted: %d servers whose definitions are not known.", r.Schemas.Unknown)
	}
}

// sheet writes sections, and remembers the first error.
type sheet struct {
	*tabwriter.Writer
	err error
}

func (s *sheet) line(format string, args ...any) {
	if _, err := fmt.Fprintf(s.Writer, format+"\n", args...); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *sheet) table(title, head string) {
	if err := s.Flush(); err != nil && s.err == nil {
		s.err = err
	}
	s.line("\n%s", title)
	if head != "" {
		s.line("%s", head)
	}
}

func (r *Report) span() string {
	if r.From.IsZero() {
		return ""
	}
	return fmt.Sprintf(", %s to %s", day(r.From), day(r.To))
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func millis(ms *int64) string {
	switch {
	case ms == nil:
		return "-"
	case *ms >= 10_000:
		return fmt.Sprintf("%d s", *ms/1000)
	}
	return fmt.Sprintf("%d ms", *ms)
}

func hostName(server string) string {
	if server == "" {
		return "(tools of the hosts)"
	}
	return server
}

func joined(tools []string) string { return plain(strings.Join(tools, ", ")) }

func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// plain leaves out characters that steer a terminal or reorder what is read.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}
