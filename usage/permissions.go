package usage

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/evaluate"
	"waymark/run"
)

// PermissionLimits are the least evidence for a permission.
type PermissionLimits struct {
	Uses  int // calls that the user did not refuse
	Tasks int // distinct requests among them; a call without a request counts by its episode
	Reads int // calls of a tool that only reads its server's own data, in place of both; one more if it may read elsewhere
}

// reads is the number of calls after which a tool that only reads is allowed. What reads elsewhere can carry out what its
// arguments hold.
func (l PermissionLimits) reads(t catalog.Tool) int {
	if open := t.Annotations.OpenWorld; open == nil || *open {
		return max(l.Reads, 1) + 1
	}
	return max(l.Reads, 1)
}

// Permission is a tool that may be allowed, or one that may not and why.
type Permission struct {
	Tool   string `json:"tool"`
	Uses   int    `json:"uses"`
	Tasks  int    `json:"tasks"`
	Reason string `json:"reason,omitempty"` // why it is not allowed; empty: it is
}

// harmfulWords are words in a tool's name for which a call cannot be taken back, reaches production, or reaches people,
// whatever its server says of it.
var harmfulWords = words(`archive ban cancel charge clear close commit deactivate delete demote deploy destroy detach disable discard drop
	erase eval evict exec execute expire factory force format grant import invoke kill merge migrate move notify overwrite pay payout post
	prune publish purchase purge push rebase reboot refund release remove rename reply reset restart restore revert revoke rollback rotate
	run scale send set shell share shutdown stop submit suspend terminate transfer truncate trash unassign uninstall unpublish wipe withdraw`)

// harmlessBeside are harmful words that say nothing where the server annotates the tool as one that only reads:
// run_query, list_commits.
var harmlessBeside = words(`archive close commit format import move post push release reply restore run send share submit transfer`)

// irreversible is what a description says of an effect that cannot be taken back.
var irreversible = regexp.MustCompile(`(?i)\b(permanent(ly)?|irreversibl[ye]|irrevocabl[ye]|cannot be (undone|reverted|recovered|restored)|can't be undone|destructive|data loss)\b`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

var wordBreaks = regexp.MustCompile(`[^A-Za-z0-9]+|([a-z0-9])([A-Z])`)

// Harm says why a tool must not be called without asking, from its annotations, its name, its description and the reach
// of its effects; empty if nothing speaks against it. What is not known is held against it.
func Harm(t catalog.Tool) string {
	if why := run.Asks(t); why != "" {
		return why
	}
	if d := t.Annotations.Destructive; d != nil && *d {
		return "it is annotated as one that only reads and as destructive"
	}
	reads := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
	_, name, ok := catalog.Split(t.ID)
	if !ok {
		name = t.ID
	}
	for _, w := range strings.Fields(strings.ToLower(wordBreaks.ReplaceAllString(name, "$1 $2"))) {
		for _, form := range []string{w, strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es"), strings.TrimSuffix(w, "ing"), strings.TrimSuffix(w, "d"), strings.TrimSuffix(w, "ed")} {
			if harmfulWords[form] && !(reads && harmlessBeside[form]) {
				return "its name says " + form
			}
		}
	}
	if said := irreversible.FindString(t.Description); said != "" && !reads {
		return "its description says " + strings.ToLower(said)
	}
	if !reads && (t.Annotations.OpenWorld == nil || *t.Annotations.OpenWorld) {
		return "it changes something outside of its server's own data"
	}
	return ""
}

// Permissions judges every tool that the episodes use. The most used come first.
func Permissions(tools []catalog.Tool, episodes []episodic.Episode, limits PermissionLimits) []Permission {
	known := make(map[string]catalog.Tool, len(tools))
	for _, t := range tools {
		known[t.ID] = t
	}
	type use struct {
		calls, refused int
		tasks          map[string]bool
	}
	uses := map[string]*use{}
	for _, e := range episodes {
		task := "episode " + e.ID
		if request := strings.Join(strings.Fields(strings.ToLower(e.Intent)), " "); request != "" {
			task = "request " + request
		}
		for _, s := range e.Steps {
			u := uses[s.Tool]
			if u == nil {
				u = &use{tasks: map[string]bool{}}
				uses[s.Tool] = u
			}
			if s.ErrorKind == string(run.FailedPolicy) {
				u.refused++
				continue
			}
			u.calls++
			u.tasks[task] = true
		}
	}
	all := make([]Permission, 0, len(uses))
	for id, u := range uses {
		p := Permission{Tool: id, Uses: u.calls, Tasks: len(u.tasks)}
		t, ok := known[id]
		switch {
		case !ok:
			p.Reason = "its definition is not known"
		case u.refused > 0:
			p.Reason = "a call of it was refused"
		case Harm(t) != "":
			p.Reason = Harm(t)
		case *cmp.Or(t.Annotations.ReadOnly, new(bool)) && u.calls >= limits.reads(t): // annotated, or harm is said of it
		case u.calls < max(limits.Uses, 2) || len(u.tasks) < limits.Tasks:
			p.Reason = "it was seldom used"
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(b.Uses, a.Uses), strings.Compare(a.Tool, b.Tool))
	})
	return all
}

// PermissionReport is what permissions of earlier episodes would have done in later ones. Every call counts as one
// prompt, unless its tool is allowed.
type PermissionReport struct {
	Allowed     int     `json:"allowed"` // tools
	Episodes    int     `json:"episodes"`
	Prompts     int     `json:"prompts"`           // without permissions
	Saved       int     `json:"saved"`             // of them
	Share       float64 `json:"share"`             // saved of the prompts
	Destructive int     `json:"destructive"`       // calls allowed of tools annotated as destructive, or not annotated
	FirstSeen   int     `json:"first_seen"`        // calls allowed of tools that no earlier episode used
	Reached     float64 `json:"most_that_can_be"`  // share of prompts for tools against which nothing speaks
	Unknown     int     `json:"prompts_undefined"` // prompts for tools without a definition
}

// EvaluatePermissions derives permissions from the train episodes and replays the test episodes with them.
func EvaluatePermissions(d *evaluate.Data, limits PermissionLimits) PermissionReport {
	var history, later []episodic.Episode
	for _, x := range d.Examples {
		if x.Split == evaluate.Train {
			history = append(history, x.Episode)
		} else {
			later = append(later, x.Episode)
		}
	}
	known := map[string]catalog.Tool{}
	for _, t := range d.Tools {
		known[t.ID] = t
	}
	seen, allowed := map[string]bool{}, map[string]bool{}
	for _, e := range history {
		for _, s := range e.Steps {
			seen[s.Tool] = true
		}
	}
	r := PermissionReport{Episodes: len(later)}
	for _, p := range Permissions(d.Tools, history, limits) {
		if p.Reason == "" {
			allowed[p.Tool] = true
			r.Allowed++
		}
	}
	possible := 0
	for _, e := range later {
		for _, s := range e.Steps {
			r.Prompts++
			t, defined := known[s.Tool]
			if !defined {
				r.Unknown++
			} else if Harm(t) == "" {
				possible++
			}
			if !allowed[s.Tool] {
				continue
			}
			r.Saved++
			if a := t.Annotations; a == nil || a.Destructive == nil && a.ReadOnly == nil || a.Destructive != nil && *a.Destructive {
				r.Destructive++
			}
			if !seen[s.Tool] {
				r.FirstSeen++
			}
		}
	}
	r.Share, r.Reached = float64(r.Saved)/float64(max(1, r.Prompts)), float64(possible)/float64(max(1, r.Prompts))
	return r
}
