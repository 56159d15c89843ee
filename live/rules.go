package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/suggest"
)

// The kinds of rule.
const (
	RuleBan = "ban" // the tool is never suggested
	RulePin = "pin" // the tool is the first suggestion after another one, or at the start of a task
)

// Rule is a decision of the operator that answers follow, whatever the history says.
type Rule struct {
	ID    string `json:"id,omitempty" doc:"Given by the server: kind and tools."`
	Kind  string `json:"kind" enum:"ban,pin" doc:"ban: the tool is never suggested. pin: it is suggested first."`
	Tool  string `json:"tool" minLength:"1" doc:"A tool or capability."`
	After string `json:"after,omitempty" doc:"pin: the tool that was used last; without one the rule holds where none was used yet."`
}

// ruled is the event of a rule that was added or undone. No model counts it: undoing a rule restores the former answers.
type ruled struct {
	Rule
	Undone bool `json:"undone,omitempty"`
}

// rule applies an event. Rules are replaced, never changed, so that readers and snapshots may keep them.
func (h *foldedLog) rule(r *ruled) {
	rules := slices.DeleteFunc(slices.Clone(h.rules), func(old Rule) bool { return old.ID == r.ID })
	if !r.Undone {
		rules = append(rules, r.Rule)
		slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	}
	h.rules = rules
}

// applyRules makes answers follow the rules of the log.
func (w *writer) applyRules() {
	if old := w.ruling.Load(); old != nil && slices.Equal(*old, w.rules) {
		return
	}
	rules, banned := w.rules, map[string]suggest.Exclusion{}
	for _, r := range rules {
		if r.Kind == RuleBan {
			banned[r.Tool] = suggest.Exclusion{Absent: suggest.AbsentBanned, Detail: "banned by the operator (rule " + r.ID + ")"}
		}
	}
	w.ruling.Store(&rules)
	w.quarantine.ban(banned)
}

// Rules lists the rules in effect, by id.
func (e *Engine) Rules() []Rule { return append([]Rule{}, *e.ruling.Load()...) }

// pinned are the rules that put tools first after a context.
func (e *Engine) pinned(m *suggest.Model, context []string) (pins []suggest.Pin) {
	after := ""
	if len(context) > 0 {
		after = resolved(m, context[len(context)-1])
	}
	for _, r := range *e.ruling.Load() {
		if r.Kind == RulePin && r.After == after {
			pins = append(pins, suggest.Pin{ID: r.Tool, Rule: r.ID})
		}
	}
	return pins
}

// AddRule stores a rule and returns it with its id. Adding it again changes nothing.
func (e *Engine) AddRule(ctx context.Context, r Rule) (Rule, error) {
	invalid := func(field, detail string) error {
		return &suggest.RequestError{Kind: suggest.Invalid, Field: field, Detail: detail}
	}
	if r.Kind != RuleBan && r.Kind != RulePin {
		return r, invalid("kind", fmt.Sprintf("unknown kind %q: want %s or %s", r.Kind, RuleBan, RulePin))
	}
	if r.Kind == RuleBan && r.After != "" {
		return r, invalid("after", "a ban holds in every context")
	}
	_, err := e.appendOne(ctx, func(w *writer) (entry, bool, error) {
		for i, id := range []*string{&r.Tool, &r.After} {
			field := []string{"tool", "after"}[i]
			if field == "after" && *id == "" {
				continue
			}
			known, err := w.state.Resolve(*id)
			if err == nil {
				known, err = catalog.Identifier("id", known, catalog.MaxID)
			}
			if err != nil {
				return entry{}, false, invalid(field, err.Error())
			}
			if !w.state.Knows(known) {
				return entry{}, false, &suggest.RequestError{Kind: suggest.NotFound, Field: field, Detail: fmt.Sprintf("%q is in no catalog and no episode", known)}
			}
			*id = known
		}
		if r.ID = r.Kind + ":" + r.Tool; r.After != "" {
			r.ID = r.Kind + ":" + r.After + ">" + r.Tool
		}
		if slices.Contains(w.rules, r) {
			return entry{}, false, nil
		}
		return ruleEntry(ruled{Rule: r})
	})
	return r, err
}

// UndoRule removes a rule; false if there is none with this id.
func (e *Engine) UndoRule(ctx context.Context, id string) (bool, error) {
	return e.appendOne(ctx, func(w *writer) (entry, bool, error) {
		i := slices.IndexFunc(w.rules, func(r Rule) bool { return r.ID == id })
		if i < 0 {
			return entry{}, false, nil
		}
		return ruleEntry(ruled{w.rules[i], true})
	})
}

func ruleEntry(r ruled) (entry, bool, error) {
	payload, err := encode(kindRule, r)
	return entry{kindRule, "", payload, &r}, true, err
}
