package main

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	sample "waymark/cmd/waymark/sampledata"
)

// TestCommitted compares what the generator writes with the files in the repository, byte for byte.
func TestCommitted(t *testing.T) {
	files, err := generate()
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, f := range files {
		committed, err := fs.ReadFile(sample.Files(), f.name)
		require.NoError(t, err)
		if string(committed) != string(f.data) {
			t.Errorf("%s differs from the committed file; run go generate ./sample", f.name)
		}
	}
}

func TestTasks(t *testing.T) {
	areas, err := parseTasks()
	require.NoError(t, err)
	kinds := map[string]bool{}
	wordings := map[string]bool{}
	for _, a := range areas {
		for _, w := range a.tasks {
			k := w.thing
			assert.False(t, kinds[k.kind], "%s occurs twice", k.kind)
			kinds[k.kind] = true
			assert.Positive(t, k.weight, k.kind)
			assert.GreaterOrEqual(t, len(k.say), 2, "wordings of %s", k.kind)
			assert.GreaterOrEqual(t, len(k.do), 2, "paths of %s", k.kind)
			for _, s := range k.say {
				assert.False(t, wordings[s.text], "%q occurs twice", s.text)
				wordings[s.text] = true
			}
		}
	}
	assert.GreaterOrEqual(t, len(kinds), 45)
	t.Logf("%d task kinds, %d wordings", len(kinds), len(wordings))
}

// Each row is drawn by hand: the path, and the tool and dependencies of each call.
func TestPlan(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"x:a", "x:a[]"},
		{"x:a x:b", "x:a[] x:b[0]"},
		{"x:a x:b+x:c x:d", "x:a[] x:b[0] x:c[0] x:d[1 2]"},
		{"x:a x:b>x:c+x:d x:e", "x:a[] x:b[0] x:c[1] x:d[0] x:e[2 3]"},
		{"x:a*2-2 x:b", "x:a[] x:a[0] x:b[1]"},
		{"x:a x:b^3-3 x:c", "x:a[] x:b[0] x:b[0] x:b[0] x:c[1 2 3]"},
		{"x:a+x:b x:c+x:d", "x:a[] x:b[] x:c[0 1] x:d[0 1]"},
	} {
		p, err := parsePath(strings.Fields(c.path))
		require.NoError(t, err)
		assert.Equal(t, c.want, drawn(p.plan(nil)), c.path)
	}
}

// A call that is left out leaves no gap: the next one waits for the call before it.
func TestPlanWithoutOptionalCall(t *testing.T) {
	p, err := parsePath([]string{"x:a", "x:b?0", "x:c", "x:d?0+x:e", "x:f"})
	require.NoError(t, err)
	h := newHistory(nil, nil, nil)
	assert.Equal(t, "x:a[] x:c[0] x:e[1] x:f[2]", drawn(p.plan(h.dice)))
}

func drawn(calls []call) string {
	var words []string
	for _, c := range calls {
		var after []string
		for _, a := range c.after {
			after = append(after, string(rune('0'+a)))
		}
		words = append(words, c.tool+"["+strings.Join(after, " ")+"]")
	}
	return strings.Join(words, " ")
}

func TestParsePathRefuses(t *testing.T) {
	for _, s := range []string{"a", ":a", "x:", "x:a*", "x:a*3-2", "x:a^0-2", "x:a?often", "x:a++x:b"} {
		_, err := parsePath([]string{s})
		assert.Error(t, err, s)
	}
}

func TestTaskRefuses(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"do 1 x:a", "no task yet"},
		{"task k 1|do 1 x:a|say [2] do it", "no path 2"},
		{"task k 1|do 1 x:a|do 1 x:b|say [1] do it", "no wording asks for path 2"},
		{"task k 1|say [one] do it", "paths of"},
		{"task k often", "weight of task k"},
		{"task k 1|sing it", "want say or do"},
	} {
		var a area
		var err error
		for s := range strings.SplitSeq(c.lines, "|") {
			if err == nil {
				err = a.add(line{place: "x", indented: !strings.HasPrefix(s, "task"), words: strings.Fields(s), text: s})
			}
		}
		if err == nil {
			err = a.tasks[0].thing.check()
		}
		assert.ErrorContains(t, err, c.want, c.lines)
	}
}

func TestSchema(t *testing.T) {
	fs := fields{
		"repo":     {"string", "", "Repository."},
		"forge:n":  {"integer", "20", "Number."},
		"list":     {"object", "", "All of them."},
		"day":      {"date", "", "A day."},
		"priority": {"string", "", "How urgent."},
	}
	in, err := fs.schema("forge", "repo! n priority=low|high! list[]{repo! day}", false)
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"object","properties":{
		"repo":{"type":"string","description":"Repository."},
		"n":{"type":"integer","description":"Number.","default":20},
		"priority":{"type":"string","enum":["low","high"],"description":"How urgent."},
		"list":{"type":"array","description":"All of them.","items":{"type":"object","required":["repo"],
			"properties":{"repo":{"type":"string"},"day":{"type":"string","format":"date"}}}}},
		"required":["repo","priority"]}`, string(in))

	out, err := fs.schema("forge", "repo n day?", true)
	require.NoError(t, err)
	assert.JSONEq(t, `{"type":"object","properties":{
		"repo":{"type":"string","description":"Repository."},
		"n":{"type":"integer","description":"Number."},
		"day":{"type":"string","format":"date","description":"A day."}},"required":["repo","n"]}`, string(out))

	_, err = fs.schema("chat", "n", false)
	assert.ErrorContains(t, err, `field "n" of server chat`)
	_, err = fs.schema("forge", "list[]{repo", false)
	assert.ErrorContains(t, err, "braces")
}
