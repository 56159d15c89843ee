package contribution

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Item is an object of an artifact or a payload, with whatever fields it brings. Numbers are float64.
type Item map[string]any

// text is a field of words, trimmed; empty if it is missing or something else.
func (it Item) text(name string) string {
	s, _ := it[name].(string)
	return strings.TrimSpace(s)
}

func (it Item) flag(name string) bool {
	b, _ := it[name].(bool)
	return b
}

// texts is a list of words. A single text counts as a list of one.
func (it Item) texts(name string) []string {
	switch v := it[name].(type) {
	case string:
		return nonblank([]any{v})
	case []any:
		return nonblank(v)
	}
	return nil
}

func nonblank(list []any) []string {
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok && strings.TrimSpace(s) != "" {
			out = append(out, strings.TrimSpace(s))
		}
	}
	return out
}

// perHypothesis is a field with words for each hypothesis.
func (it Item) perHypothesis(name string) map[string]string {
	m, _ := it[name].(map[string]any)
	out := make(map[string]string, len(m))
	for id, v := range m {
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			out[id] = strings.TrimSpace(s)
		}
	}
	return out
}

// rating is a test's own score: the sum, and whether all four parts are there and possible.
func (it Item) rating() (sum int, parts map[string]int, complete bool) {
	m, _ := it["score"].(map[string]any)
	parts = map[string]int{}
	for _, name := range ratingParts {
		n, ok := m[name].(float64)
		if ok && n >= 0 && n <= 3 && n == float64(int(n)) {
			parts[name] = int(n)
			sum += int(n)
		}
	}
	return sum, parts, len(parts) == len(ratingParts)
}

func (it Item) id() string   { return it.text("id") }
func (it Item) killed() bool { return it.flag("killed") }

// thirdAlternative reports whether the item is marked or named as the third alternative.
func (it Item) thirdAlternative() bool {
	return it.flag("third_alternative") || patterns()["third_alternative_words"].MatchString(it.text("name"))
}

// set copies the fields of a payload but those that a payload cannot set.
func (it Item) set(payload Item) {
	for name, v := range payload {
		if !slices.Contains(system, name) {
			it[name] = v
		}
	}
}

// words are all texts inside, in the order of their keys.
func (it Item) words() []string {
	var out []string
	collect(map[string]any(it), &out)
	return out
}

func collect(v any, out *[]string) {
	switch v := v.(type) {
	case string:
		*out = append(*out, v)
	case []any:
		for _, e := range v {
			collect(e, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			collect(v[k], out)
		}
	}
}

// cloned copies a value of JSON and everything inside.
func cloned[T any](v T) (out T) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("contribution: an item is no JSON: %v", err))
	}
	return out
}
