package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
)

// Counts holds numbers of items by kind. Lines counts the items of unknown kind.
type Counts struct {
	Tools        int `json:"tools"`
	Capabilities int `json:"capabilities"`
	Episodes     int `json:"episodes"`
	Servers      int `json:"servers,omitempty"`
	Lines        int `json:"lines,omitempty"`
}

func (c *Counts) of(k Kind) *int {
	switch k {
	case KindTool:
		return &c.Tools
	case KindCapability:
		return &c.Capabilities
	case KindEpisode:
		return &c.Episodes
	case kindServer:
		return &c.Servers
	}
	return &c.Lines
}

// Total is the sum over all kinds.
func (c Counts) Total() int { return c.Tools + c.Capabilities + c.Episodes + c.Servers + c.Lines }

func (c Counts) String() string {
	var parts []string
	for _, kind := range []Kind{KindTool, KindCapability, KindEpisode, kindServer, "line"} {
		if n := *c.of(kind); n > 0 {
			parts = append(parts, catalog.Plural(n, string(kind)))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

// Reason records why one item was dropped.
type Reason struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// Place returns the file and, if it is known, the line.
func (r Reason) Place() string {
	if r.Line == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// maxReasons bounds the reasons, and the ids that had to be changed, that a report keeps.
const maxReasons = 100

// Report summarises an import. Pass every item to [Report.Add], and every item that the store rejects
// to [Report.Refuse].
type Report struct {
	Taken      Counts   `json:"taken"`
	Duplicates Counts   `json:"duplicates"`
	Dropped    Counts   `json:"dropped"`
	LeftOut    Counts   `json:"left_out"`            // items of other splits
	Lines      int      `json:"lines,omitempty"`     // lines of traces
	Skipped    int      `json:"skipped,omitempty"`   // lines among these of an unknown kind
	Shortened  int      `json:"shortened,omitempty"` // episodes whose intent is cut at the limit
	Servers    []Server `json:"servers,omitempty"`
	Reasons    []Reason `json:"reasons"`

	Respelled map[string]string `json:"respelled,omitempty"` // tool ids that had to be changed, and what they are now
}

// Add counts an item as [Read] yields it.
func (r *Report) Add(it Item) {
	switch {
	case it.Tally != nil:
		r.Lines += it.Tally.Lines
		r.Skipped += it.Tally.Skipped
	case it.Dropped != "":
		*r.Dropped.of(it.Kind)++
		r.reason(it, it.Dropped)
	case it.LeftOut != "":
		*r.LeftOut.of(it.Kind)++
	case it.Duplicate:
		*r.Duplicates.of(it.Kind)++
	default:
		*r.Taken.of(it.Kind)++
		if it.Shortened {
			r.Shortened++
		}
		for id, is := range it.Respelled {
			if r.Respelled == nil {
				r.Respelled = map[string]string{}
			}
			if len(r.Respelled) < maxReasons {
				r.Respelled[id] = is
			}
		}
		if it.Server != nil {
			r.Servers = append(r.Servers, *it.Server)
		}
	}
}

// Refuse moves an item from the taken to the dropped ones, because the store rejected it.
func (r *Report) Refuse(it Item, reason string) {
	*r.Taken.of(it.Kind)--
	*r.Dropped.of(it.Kind)++
	r.reason(it, reason)
}

func (r *Report) reason(it Item, reason string) {
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, Reason{it.File, it.Line, it.ID, reason})
	}
}

// String formats the report for a terminal.
func (r Report) String() string {
	var b strings.Builder
	row := func(show bool, name, format string, args ...any) {
		if show {
			fmt.Fprintf(&b, "%-11s "+format+"\n", append([]any{name}, args...)...)
		}
	}
	row(true, "taken", "%s", r.Taken)
	row(r.Duplicates.Total() > 0, "known", "%s", r.Duplicates)
	row(r.LeftOut.Total() > 0, "left out", "%s", r.LeftOut)
	row(r.Dropped.Total() > 0, "dropped", "%s", r.Dropped)
	row(r.Skipped > 0, "skipped", "%d of %d lines (%.1f %%) of a kind that is not known", r.Skipped, r.Lines, 100*float64(r.Skipped)/float64(r.Lines))
	row(r.Shortened > 0, "shortened", "%s longer than %d bytes", catalog.Plural(r.Shortened, "intent"), catalog.MaxIntent)
	row(len(r.Respelled) > 0, "respelled", "%s of tools", catalog.Plural(len(r.Respelled), "id"))
	for _, id := range slices.Sorted(maps.Keys(r.Respelled)) {
		fmt.Fprintf(&b, "  %q is %q\n", catalog.Cut(id, catalog.MaxPart), r.Respelled[id])
	}
	for _, s := range r.Servers {
		row(true, "  server", "%s (%s) %s%s", s.Name, s.Transport, s.Command, s.URL)
	}
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "  %s  %s\n", reason.Place(), reason.Reason)
	}
	if more := r.Dropped.Total() - len(r.Reasons); more > 0 {
		fmt.Fprintf(&b, "  … and %d more\n", more)
	}
	return b.String()
}
