package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/internal/codec"
	"waymark/suggest"
)

// expectation is a line of the file of evaluate --expect. If it has neither tools nor patterns, the plan must be empty.
type expectation struct {
	Request string         `json:"request"`
	Tools   []alternatives `json:"tools"`
	Not     []string       `json:"not"` // patterns of ids
}

// alternatives are ids, at least one of which must be planned. A string in JSON is a list of one.
type alternatives []string

// UnmarshalJSON implements json.Unmarshaler.
func (ids *alternatives) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	if err := codec.Unmarshal(text, (*[]string)(ids)); err != nil || len(*ids) == 0 {
		return &codec.Error{Reason: "an element of tools is an id or a list of at least one id"}
	}
	return nil
}

type miss struct {
	Line    int            `json:"line"`
	Request string         `json:"request"`
	Missing []alternatives `json:"missing"` // lists without a planned id
	Unasked []string       `json:"unasked"`
}

// expect compares plans of the workspace's model with those that a file expects.
func (a *app) expect(ctx context.Context, path, profile string) error {
	text, err := a.readInput(path)
	if err != nil {
		return err
	}
	requests, misses := 0, []miss{}
	if err := a.with(ctx, func(c *client) error {
		for i, line := range bytes.Split(text, []byte("\n")) {
			if line = bytes.Trim(line, codec.Space); len(line) == 0 {
				continue
			}
			m, err := checkPlan(ctx, c, line, profile)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", named(path), i+1, err)
			}
			if requests++; len(m.Missing)+len(m.Unasked) > 0 {
				m.Line = i + 1
				misses = append(misses, m)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if requests == 0 {
		return usagef("%s holds no request", named(path)) // a check of nothing would pass
	}
	if a.json || len(misses) > 0 {
		err = a.show(map[string]any{"requests": requests, "as_expected": requests - len(misses), "misses": misses}, "misses", "")
	}
	if !a.json {
		a.printf("%d of %d requests as expected\n", requests-len(misses), requests)
	}
	if len(misses) > 0 {
		return cmp.Or(err, errNegative)
	}
	return err
}

// checkPlan plans the request of a line and compares the plan. An id that the workspace does not have could never be
// planned, so it is an error.
func checkPlan(ctx context.Context, c *client, line []byte, profile string) (m miss, err error) {
	x, err := codec.Decode[expectation](line)
	if err != nil {
		return m, usageError{err}
	}
	m = miss{Request: x.Request, Missing: []alternatives{}, Unasked: []string{}}
	var plan suggest.DAGAnswer
	if _, err := c.ask(ctx, "dag", map[string]any{"intent": x.Request, "profile": profile}, &plan); err != nil {
		return m, err
	}
	not := &suggest.ToolSet{Patterns: x.Not}
	for _, t := range plan.DAG.Tasks {
		if len(x.Tools)+len(x.Not) == 0 || not.Has(t.Tool) {
			m.Unasked = append(m.Unasked, t.Tool)
		}
	}
	for _, ids := range x.Tools {
		met := false
		for _, id := range ids {
			var known suggest.ExplainAnswer // its id is spelled as in plans
			if _, err := c.ask(ctx, "explain", map[string]any{"id": id}, &known); err != nil {
				return m, err
			}
			if known.Absent == suggest.AbsentUnknown {
				return m, usagef("%q is not an id of this workspace: %s", id, known.Reason)
			}
			met = met || slices.ContainsFunc(plan.DAG.Tasks, func(t suggest.Task) bool { return t.Tool == known.ID })
		}
		if !met {
			m.Missing = append(m.Missing, ids)
		}
	}
	return m, nil
}
