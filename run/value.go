package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A value is an argument or an output as it stands in a DAG. An object with the one key $from is what the
// reference says, with the one key $expr what the expression gives, with the one key $value that value as
// it stands. They may stand anywhere in an object or list.
type value struct {
	literal json.RawMessage // as it stands
	from    *reference
	expr    *expression
	members map[string]*value
	list    []*value
}

// maxNesting bounds how deep a value is looked into.
const maxNesting = 32

// compiler knows the tasks of a scope by id.
type compiler struct{ task func(id string) (int, bool) }

func (c compiler) value(raw json.RawMessage, depth int) (*value, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case depth > maxNesting:
		return nil, fmt.Errorf("nested more than %d deep", maxNesting)
	case !json.Valid(raw):
		return nil, errors.New("is no JSON")
	case !bytes.ContainsRune(raw, '$') && !bytes.Contains(raw, []byte(`\u0024`)), raw[0] != '{' && raw[0] != '[':
		return &value{literal: raw}, nil
	case raw[0] == '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			return nil, err
		}
		v := &value{list: make([]*value, len(elements))}
		for i, e := range elements {
			var err error
			if v.list[i], err = c.value(e, depth+1); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	for _, key := range []string{"$from", "$expr", "$value"} {
		if body, ok := members[key]; ok {
			if len(members) > 1 {
				return nil, fmt.Errorf("%s stands alone in its object", key)
			}
			return c.special(key, body)
		}
	}
	v := &value{members: make(map[string]*value, len(members))}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m, err := c.value(members[name], depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v.members[name] = m
	}
	return v, nil
}

func (c compiler) special(key string, body json.RawMessage) (*value, error) {
	if key == "$value" {
		return &value{literal: body}, nil
	}
	var text string
	if err := json.Unmarshal(body, &text); err != nil {
		return nil, fmt.Errorf("%s is no string", key)
	}
	if key == "$from" {
		r, err := parseReference(text, c.task)
		return &value{from: &r}, err
	}
	x, err := compileExpression(text, false)
	return &value{expr: x}, err
}

// each calls f for every reference and expression in the value.
func (v *value) each(f func(*value)) {
	switch {
	case v.from != nil, v.expr != nil:
		f(v)
	case v.members != nil:
		for _, name := range slices.Sorted(maps.Keys(v.members)) {
			v.members[name].each(f)
		}
	}
	for _, e := range v.list {
		e.each(f)
	}
}

// isLiteral reports whether the value is known before anything runs.
func (v *value) isLiteral() bool {
	known := true
	v.each(func(*value) { known = false })
	return known
}

// plain is a literal value as JSON.
func (v *value) plain() json.RawMessage {
	b, _, _ := v.eval(nil) // nothing in it can fail
	return b
}

// missingError is a reference to a part that a value does not have.
type missingError struct {
	text    string
	skipped bool // the task was skipped, or went wrong and that was to be borne
	task    int
}

func (e *missingError) Error() string { return fmt.Sprintf("there is no %s", e.text) }

// scopeValues is what a value can refer to.
type scopeValues interface {
	resolve(r *reference) (json.RawMessage, *missingError)
	environment(x *expression) map[string]any
}

// eval computes the value. missing is set if what it refers to is not there; of a value within an object
// or a list, null stands for it.
func (v *value) eval(in scopeValues) (out json.RawMessage, missing *missingError, err error) {
	switch {
	case v.from != nil:
		out, missing = in.resolve(v.from)
		return out, missing, nil
	case v.expr != nil:
		out, err = v.expr.value(in.environment(v.expr))
		return out, nil, err
	case v.members != nil:
		all := make(map[string]json.RawMessage, len(v.members))
		for _, name := range slices.Sorted(maps.Keys(v.members)) {
			if all[name], err = v.members[name].evalInner(in); err != nil {
				return nil, nil, err
			}
		}
		out, err = json.Marshal(all)
		return out, nil, err
	case v.list != nil:
		all := make([]json.RawMessage, len(v.list))
		for i, e := range v.list {
			if all[i], err = e.evalInner(in); err != nil {
				return nil, nil, err
			}
		}
		out, err = json.Marshal(all)
		return out, nil, err
	}
	return v.literal, nil, nil
}

func (v *value) evalInner(in scopeValues) (json.RawMessage, error) {
	out, missing, err := v.eval(in)
	if missing != nil {
		out = json.RawMessage("null")
	}
	return out, err
}
