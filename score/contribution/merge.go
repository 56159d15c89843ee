package contribution

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"waymark/score/rubric"
)

// An Update is a delta with its author and time.
type Update struct {
	Delta
	Agent string
	Time  time.Time // zero sorts before all others
}

// An Outcome is the result of one update.
type Outcome struct {
	Status string `json:"status"` // applied, skipped or rejected
	ID     string `json:"id"`     // of the item; for ADD the new id
	Reason string `json:"reason"` // for skipped and rejected updates
}

// Statuses of an update.
const (
	applied  = "applied"
	skipped  = "skipped"  // no effect, such as a second KILL
	Rejected = "rejected" // not applicable
)

// Merged is an artifact after its updates.
type Merged struct {
	Artifact Artifact  `json:"artifact"`
	Outcomes []Outcome `json:"outcomes"` // in the order of the updates
	Warnings []string  `json:"warnings"`
}

// Merge applies updates in the order of time, agent and position. An inapplicable delta is rejected alone. The base is
// not modified.
func Merge(base Artifact, updates []Update) (Merged, error) {
	if err := cmp.Or(rubric.AtMost("updates", len(updates), maxSessionDeltas), base.check()); err != nil {
		return Merged{}, err
	}
	order := make([]int, len(updates))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(updates[i].Time.Compare(updates[j].Time), cmp.Compare(updates[i].Agent, updates[j].Agent))
	})
	m := merger{artifact: base.clone(), set: map[string]setting{}, warnings: []string{}}
	outcomes := make([]Outcome, len(updates))
	for _, i := range order {
		outcomes[i] = m.apply(updates[i])
	}
	m.finish()
	return Merged{m.artifact, outcomes, m.warnings}, nil
}

// A merger is an artifact during a merge.
type merger struct {
	artifact Artifact
	set      map[string]setting // by item and field: the last edit
	changed  bool
	latest   time.Time
	warnings []string
}

// A setting is the last edit of a field.
type setting struct {
	time  time.Time
	agent string
	value any
}

func (m *merger) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Sprintf(format, args...))
}

// apply applies one update.
func (m *merger) apply(u Update) Outcome {
	if !u.Valid() {
		return Outcome{Rejected, u.TargetID, strings.Join(u.Errors, "; ")}
	}
	id, err := u.TargetID, error(nil)
	switch {
	case u.Section == researchThread:
		id, err = "RT", m.thread(u)
	case u.Operation == Add:
		id, err = m.add(u)
	default:
		err = m.change(u)
	}
	var s skip
	switch {
	case errors.As(err, &s):
		return Outcome{skipped, id, s.Error()}
	case err != nil:
		return Outcome{Rejected, id, err.Error()}
	}
	m.changed = true
	if u.Time.After(m.latest) {
		m.latest = u.Time
	}
	m.contributor(u)
	return Outcome{applied, id, ""}
}

// skip is the reason for an update without effect.
type skip string

func (s skip) Error() string { return string(s) }

func (m *merger) add(u Update) (string, error) {
	a := &m.artifact
	if u.Section == hypothesisSlate && len(a.active(hypothesisSlate)) >= maxHypotheses {
		return "", fmt.Errorf("there are %d active hypotheses already; KILL one first", maxHypotheses)
	}
	it := Item{"id": a.nextID(u.Section)}
	for _, name := range sortedKeys(u.Payload) {
		if m.takes(name) {
			it[name] = cloned(u.Payload[name])
		}
	}
	*a.list(u.Section) = append(*a.list(u.Section), it)
	return it.id(), nil
}

// change edits or kills an item.
func (m *merger) change(u Update) error {
	it := m.artifact.find(u.Section, u.TargetID)
	switch {
	case it == nil:
		return fmt.Errorf("%s has no item %s", u.Section, u.TargetID)
	case it.killed() && u.Operation == Kill:
		return skip(u.TargetID + " was killed before")
	case it.killed():
		return skip(u.TargetID + " was killed; to bring it back, ADD it anew")
	case u.Operation == Edit:
		m.edit(it, u)
		return nil
	}
	third, scale := m.artifact.hasThirdAlternative(), m.artifact.hasScaleCheck()
	it["killed"], it["kill_reason"] = true, u.Payload.text("reason")
	if u.Agent != "" {
		it["killed_by"] = u.Agent
	}
	if !u.Time.IsZero() {
		it["killed_at"] = stamp(u.Time)
	}
	if third && !m.artifact.hasThirdAlternative() {
		m.warn("no_third_alternative: %s was the last one", u.TargetID)
	}
	if scale && !m.artifact.hasScaleCheck() {
		m.warn("no_scale_check: %s was the last one", u.TargetID)
	}
	return nil
}

func (m *merger) thread(u Update) error {
	if m.artifact.Sections.ResearchThread == nil {
		m.artifact.Sections.ResearchThread = Item{"id": "RT"}
	}
	m.edit(m.artifact.Sections.ResearchThread, u)
	return nil
}

// unions are the list fields that an edit extends unless it sets a replace switch.
var unions = []string{"anchors", "conflicts_with", "labels"}

// edit sets the fields of a payload. The specification names the switch for replacing a list in several
// ways; all of them count: replace for all lists, anchors_replace and replace_anchors for one.
func (m *merger) edit(it Item, u Update) {
	for _, name := range sortedKeys(u.Payload) {
		value := u.Payload[name]
		_, isSwitch := value.(bool)
		field := strings.TrimPrefix(strings.TrimSuffix(name, "_replace"), "replace_")
		switch {
		case name == "replace" || isSwitch && field != name && slices.Contains(unions, field):
			continue
		case !m.takes(name):
			continue
		}
		list, isList := value.([]any)
		if isList && slices.Contains(unions, name) && !u.Payload.flag("replace") && !u.Payload.flag(name+"_replace") && !u.Payload.flag("replace_"+name) {
			it[name] = union(it[name], list)
			continue
		}
		key := string(u.Section) + "." + it.id() + "." + name
		last, before := m.set[key]
		if before && !u.Time.IsZero() && last.time.Equal(u.Time) && last.agent != u.Agent && !reflect.DeepEqual(last.value, value) {
			m.warn("conflict: %s.%s was set by %s and %s at the same time; that of %s holds", it.id(), name, last.agent, u.Agent, u.Agent)
		}
		m.set[key] = setting{u.Time, u.Agent, value}
		it[name] = cloned(value)
	}
}

// takes reports whether a payload may set a field. Three names are refused because they have a meaning in JavaScript.
func (m *merger) takes(name string) bool {
	if slices.Contains([]string{"__proto__", "constructor", "prototype"}, name) {
		m.warn("forbidden_field: %s was not used", name)
		return false
	}
	return !slices.Contains(system, name)
}

// union appends the elements that are not in the list yet.
func union(old any, more []any) []any {
	var list []any
	if o, ok := old.([]any); ok {
		list = o
	} else if s, ok := old.(string); ok {
		list = []any{s}
	}
	list = slices.Clone(list)
	for _, e := range more {
		if !slices.ContainsFunc(list, func(o any) bool { return reflect.DeepEqual(o, e) }) {
			list = append(list, cloned(e))
		}
	}
	return list
}

// sortTests puts the test with the largest score of its own first.
func (a *Artifact) sortTests() {
	slices.SortStableFunc(a.Sections.DiscriminativeTests, func(s, t Item) int {
		x, _, _ := s.rating()
		y, _, _ := t.rating()
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(idNumber(s.id()), idNumber(t.id())), cmp.Compare(s.id(), t.id()))
	})
}

func (m *merger) contributor(u Update) {
	if u.Agent == "" {
		return
	}
	meta := m.metadata()
	list, _ := meta["contributors"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["agent"] == u.Agent {
			if !u.Time.IsZero() {
				c["contributed_at"] = stamp(u.Time)
			}
			return
		}
	}
	c := map[string]any{"agent": u.Agent}
	if !u.Time.IsZero() {
		c["contributed_at"] = stamp(u.Time)
	}
	meta["contributors"] = append(list, c)
}

func (m *merger) metadata() Item {
	if m.artifact.Metadata == nil {
		m.artifact.Metadata = Item{}
	}
	return m.artifact.Metadata
}

// finish puts the best test first, counts the version and moves the time of change.
func (m *merger) finish() {
	if !m.changed {
		return
	}
	m.artifact.sortTests()
	meta := m.metadata()
	version, _ := meta["version"].(float64)
	meta["version"] = version + 1
	if before, ok := instant(meta["updated_at"]); !m.latest.IsZero() && (!ok || m.latest.After(before)) {
		meta["updated_at"] = stamp(m.latest)
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// instant reads an ISO 8601 time with a date; without a zone it is UTC.
func instant(v any) (time.Time, bool) {
	s, _ := v.(string)
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(form, strings.TrimSpace(s)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
