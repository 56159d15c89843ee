package run

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"waymark/catalog"
)

// A reference says where a value comes from:
//
//	intent                    the intent of the run
//	params                    all parameters; params.repo, params.filter.labels[0]
//	t1.result                 the whole result of task t1
//	t1.result.items[0].id     a part of it; t1.items[0].id says the same
//	t1.result["odd name"]     a name that a dot cannot say
//
// A field of a result that is itself called result is t1.result.result. Where ids of tasks hold dots,
// the longest id that fits is meant.
type reference struct {
	text string
	from source
	task int // where from is fromTask: its place in the scope
	path []step
}

type source uint8

const (
	fromIntent source = iota
	fromParams
	fromTask
)

// step goes into a value: by name, or by place in a list.
type step struct {
	name  string
	index int // -1: by name
}

const maxPath = 64 // steps

// parseReference reads a reference. task finds the place of a task by its id.
func parseReference(text string, task func(id string) (int, bool)) (reference, error) {
	r := reference{text: text}
	rest, after := "", 0
	switch {
	case text == "intent":
		return r, nil
	case head(text, "params"):
		r.from, rest = fromParams, text[len("params"):]
	default:
		for end := range len(text) + 1 { // the longest id wins
			if end == len(text) || text[end] == '.' || text[end] == '[' {
				if at, ok := task(text[:end]); ok {
					r.from, r.task, after = fromTask, at, end
				}
			}
		}
		if r.from != fromTask {
			id := text
			if i := strings.IndexAny(text, ".["); i >= 0 {
				id = text[:i]
			}
			return r, &unknownTaskError{text, id}
		}
		rest = text[after:]
		if head(rest, ".result") {
			rest = rest[len(".result"):]
		}
	}
	for rest != "" {
		var s step
		var err error
		if s, rest, err = parseStep(rest); err != nil {
			return r, fmt.Errorf("%q: %w", text, err)
		}
		if r.path = append(r.path, s); len(r.path) > maxPath {
			return r, fmt.Errorf("%.80q: more than %d steps", text, maxPath)
		}
	}
	return r, nil
}

// unknownTaskError is a reference to nothing in the DAG.
type unknownTaskError struct{ text, id string }

func (e *unknownTaskError) Error() string {
	return fmt.Sprintf("%q: there is no task %q; a value comes from intent, from params or from a task, as in t1.result.id", e.text, e.id)
}

// head reports whether text begins with a word that ends there.
func head(text, word string) bool {
	rest, ok := strings.CutPrefix(text, word)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// stepForm is one step: .name, [0] or ["a name in JSON"].
var stepForm = regexp.MustCompile(`^(?:\.([^.\[]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\])`)

func parseStep(text string) (s step, rest string, err error) {
	m := stepForm.FindStringSubmatch(text)
	s = step{"", -1}
	switch {
	case m == nil:
		return s, "", fmt.Errorf("%.20q is no step into a value: .name, [0] or [\"name\"]", text)
	case m[1] != "":
		s.name = m[1]
	case m[2] != "":
		s.index, err = strconv.Atoi(m[2])
	default:
		err = json.Unmarshal([]byte(m[3]), &s.name)
	}
	return s, text[len(m[0]):], err
}

func (s step) String() string {
	if s.index >= 0 {
		return fmt.Sprintf("[%d]", s.index)
	}
	return "." + s.name
}

// follow goes a path into a value. ok is false where there is nothing.
func follow(v json.RawMessage, path []step) (_ json.RawMessage, ok bool) {
	for _, s := range path {
		if s.index >= 0 {
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil || s.index >= len(list) {
				return nil, false
			}
			v = list[s.index]
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(v, &object) != nil {
			return nil, false
		}
		if v, ok = object[s.name]; !ok {
			return nil, false
		}
	}
	return v, len(v) > 0
}

// followSchema goes a path into a schema. A problem is a part that cannot be there; doubt one that is not
// listed, but not forbidden.
func followSchema(s catalog.Schema, path []step) (at catalog.Schema, problem, doubt string) {
	where := ""
	for _, p := range path {
		t := s.Types()
		if p.index >= 0 {
			if t&catalog.ListType == 0 {
				return catalog.Schema{}, fmt.Sprintf("%s is %s, no list", orWhole(where), t), doubt
			}
			s = s.Element(p.index)
		} else {
			if t&catalog.ObjectType == 0 {
				return catalog.Schema{}, fmt.Sprintf("%s is %s and has no %q", orWhole(where), t, p.name), doubt
			}
			next, f := s.Member(p.name)
			switch {
			case f == catalog.Absent:
				return catalog.Schema{}, fmt.Sprintf("%s has no %q; it has %s", orWhole(where), p.name, list(s.Names())), doubt
			case f == catalog.Unlisted && doubt == "":
				doubt = fmt.Sprintf("%s lists no %q; it lists %s", orWhole(where), p.name, list(s.Names()))
			}
			s = next
		}
		where += p.String()
	}
	return s, "", doubt
}

func orWhole(where string) string {
	if where == "" {
		return "it"
	}
	return strings.TrimPrefix(where, ".")
}

// list is names in a sentence, the first few.
func list(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
