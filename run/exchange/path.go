package exchange

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"waymark/catalog"
)

// ref is a reference taken apart: to intent, to parameters, or to the result of a task.
type ref struct {
	intent bool
	task   string // empty: parameters
	path   []part
}

type part struct {
	name  string
	index int // -1: by name
}

// readRef takes a reference of ours apart, or says that it does not know how.
func readRef(text string, tasks []catalog.Task) (r ref, ok bool) {
	if text == "intent" {
		return ref{intent: true}, true
	}
	rest, params := strings.CutPrefix(text, "params")
	if !params || rest != "" && rest[0] != '.' && rest[0] != '[' {
		best := ""
		for _, t := range tasks {
			after, found := strings.CutPrefix(text, t.ID)
			if found && len(t.ID) > len(best) && (after == "" || after[0] == '.' || after[0] == '[') {
				best, rest = t.ID, after
			}
		}
		if best == "" {
			return r, false
		}
		r.task = best
		if after, found := strings.CutPrefix(rest, ".result"); found && (after == "" || after[0] == '.' || after[0] == '[') {
			rest = after
		}
	}
	for rest != "" {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			if end == 1 {
				return r, false
			}
			r.path, rest = append(r.path, part{rest[1:end], -1}), rest[end:]
		case strings.HasPrefix(rest, `["`):
			end := strings.Index(rest, `"]`)
			var name string
			if end < 0 || json.Unmarshal([]byte(rest[1:end+1]), &name) != nil {
				return r, false
			}
			r.path, rest = append(r.path, part{name, -1}), rest[end+2:]
		default:
			end := strings.IndexByte(rest, ']')
			if end < 2 {
				return r, false
			}
			i, err := strconv.Atoi(rest[1:end])
			if err != nil || i < 0 {
				return r, false
			}
			r.path, rest = append(r.path, part{"", i}), rest[end+1:]
		}
	}
	return r, true
}

// String writes a reference as ours.
func (r ref) String() string {
	if r.intent {
		return "intent"
	}
	s := "params"
	if r.task != "" {
		s = r.task + ".result"
	}
	return s + pathText(r.path)
}

func pathText(path []part) string {
	s := ""
	for _, p := range path {
		switch {
		case p.index >= 0:
			s += fmt.Sprintf("[%d]", p.index)
		case plainName(p.name):
			s += "." + p.name
		default:
			b, _ := json.Marshal(p.name) // a string: cannot fail
			s += "[" + string(b) + "]"
		}
	}
	return s
}

// expression writes a reference as part of an expression.
func (r ref) expression() string {
	if r.intent {
		return "intent"
	}
	s := "params"
	if r.task != "" {
		s = "tasks" + pathText([]part{{r.task, -1}}) + ".result"
	}
	return s + pathText(r.path)
}

// plainName reports whether a name can stand after a dot everywhere.
func plainName(s string) bool {
	for i, c := range s {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

func from(text string) json.RawMessage  { return raw(map[string]string{"$from": text}) }
func computed(x string) json.RawMessage { return raw(map[string]string{"$expr": x}) }
