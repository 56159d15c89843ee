package history

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Of the sources a, b and c, with 30 episodes each, and what comes later.
func TestFindNewSource(t *testing.T) {
	by := func(source string, n int) []string { return slices.Repeat([]string{source}, n) }
	for _, c := range []struct {
		name   string
		before []string
		since  map[string]int
		want   *NewSource
	}{
		{"most of what is new", []string{"key:a", "key:b", "cli"}, map[string]int{"key:d": 40, "key:a": 10}, &NewSource{"key:d", 40, 50, 140}},
		{"through a collector", []string{"key:a", "key:b", "cli"}, map[string]int{"otel (key:d)": 40}, &NewSource{"otel (key:d)", 40, 40, 130}},
		{"no more than half", []string{"key:a", "key:b", "cli"}, map[string]int{"key:d": 25, "key:a": 25}, nil},
		{"little of the history", []string{"key:a", "key:b", "cli"}, map[string]int{"key:d": 8}, nil},
		{"the operator's own", []string{"key:a", "key:b", "cli"}, map[string]int{"import": 400}, nil},
		{"a known key", []string{"key:a", "key:b", "cli"}, map[string]int{"key:a": 400}, nil},
		{"the third of a team", []string{"key:a", "key:b"}, map[string]int{"key:d": 400}, nil},
		{"nothing new", []string{"key:a", "key:b", "cli"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []string
			for _, source := range c.before {
				all = append(all, by(source, 30)...)
			}
			judged := len(all)
			for source, n := range c.since {
				all = append(all, by(source, n)...)
			}
			assert.Equal(t, c.want, FindNewSource(all, judged))
		})
	}
	all := append(append(append(by("key:a", 30), by("key:b", 30)...), by("cli", 30)...), by("key:d", newSourceKnown)...)
	assert.Nil(t, FindNewSource(append(all, by("key:d", 40)...), len(all)), "it was there when a rebuild was last judged")
	assert.NotNil(t, FindNewSource(append(all, by("key:d", 40)...), len(all)-1), "it was hardly there")
}
