package episodic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNormalise(t *testing.T) {
	e := Episode{
		ID: " e1 ", Intent: "cafe\u0301\u200b", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600)),
		Steps: []Step{{Tool: "a", Error: strings.Repeat("x", MaxError+1)}, {Tool: "b", DependsOn: []string{"1", "1"}, Outcome: Success}, {Tool: "c", DependsOn: []string{}}},
	}
	require.NoError(t, e.Normalise())
	assert.Equal(t, "e1", e.ID)
	assert.Equal(t, "café", e.Intent)
	assert.Equal(t, "2026-03-01T11:00:00Z", e.Time.Format(time.RFC3339))
	assert.Equal(t, Unknown, e.Outcome)
	assert.Equal(t, []string{"1", "2", "3"}, []string{e.Steps[0].ID, e.Steps[1].ID, e.Steps[2].ID})
	assert.Equal(t, MaxError, len(e.Steps[0].Error))
	assert.Equal(t, Unknown, e.Steps[0].Outcome)
	assert.Equal(t, []string{"1"}, e.Steps[1].DependsOn)
	assert.Nil(t, e.Steps[0].DependsOn, "order only")
	assert.NotNil(t, e.Steps[2].DependsOn, "a root")
	assert.Equal(t, `{"id":"e1","intent":"café","time":"2026-03-01T11:00:00Z","steps":[`+
		`{"id":"1","tool":"a","outcome":"unknown","error":"`+strings.Repeat("x", MaxError-3)+`…"},`+
		`{"id":"2","tool":"b","depends_on":["1"],"outcome":"success"},{"id":"3","tool":"c","depends_on":[],"outcome":"unknown"}],"outcome":"unknown"}`,
		string(Canonical(e)))
}

// The refusals of reliability 6 and of the record call (a step that depends on itself, on an unknown
// step, or in a cycle is named).
func TestNormaliseRefuses(t *testing.T) {
	step := func(id string, deps ...string) Step { return Step{ID: id, Tool: "t", DependsOn: deps} }
	one := []Step{step("1")}
	for _, tt := range []struct {
		in   Episode
		says string
	}{
		{Episode{Steps: one}, "episode has no id"},
		{Episode{ID: strings.Repeat("x", 257), Steps: one}, "limit is 256"},
		{Episode{ID: "e\x00", Steps: one}, "U+0000"},
		{Episode{ID: "e"}, `episode "e": no steps`},
		{Episode{ID: "e", Steps: make([]Step, MaxSteps+1)}, "2001 steps"},
		{Episode{ID: "e", Steps: []Step{{}}}, "step 1: no tool"},
		{Episode{ID: "e", Steps: []Step{{Tool: "<b>x"}}}, `step 1: tool holds the character '<'`},
		{Episode{ID: "e", Steps: []Step{{Tool: "s:" + strings.Repeat("x", 129)}}}, "step 1: tool is 129 characters"},
		{Episode{ID: "e", Steps: one, Intent: strings.Repeat("x", MaxIntent+1)}, "intent is 8193 bytes"},
		{Episode{ID: "e", Steps: one, Session: strings.Repeat("x", 257)}, "session"},
		{Episode{ID: "e", Steps: one, Outcome: "ok"}, `outcome "ok"`},
		{Episode{ID: "e", Steps: []Step{{Tool: "t", Outcome: "failed"}}}, `step 1: unknown outcome "failed"`},
		{Episode{ID: "e", Steps: []Step{{Tool: "t", DurationMS: -1}}}, "duration_ms -1"},
		{Episode{ID: "e", Steps: []Step{step("a", "a")}}, `step "a" depends on itself`},
		{Episode{ID: "e", Steps: []Step{step("a", "b")}}, `step "a" depends on the unknown step "b"`},
		{Episode{ID: "e", Steps: []Step{step("a", "c"), step("b", "a"), step("c", "b")}}, `steps form a cycle: "a" needs "c" needs "b" needs "a"`},
		{Episode{ID: "e", Steps: []Step{step("a"), step("a")}}, `step "a" occurs twice`},
		{Episode{ID: "e", Steps: []Step{step("2"), step("")}}, `step "2" occurs twice`},
		{Episode{ID: "e", Steps: one, Time: time.Unix(0, 0)}, "before 1990"},
		{Episode{ID: "e", Steps: one, Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "9999"},
		{Episode{ID: "e", Steps: []Step{{Tool: "t", Shape: strings.Repeat("x", maxShape+1)}}}, "shape"},
		{Episode{ID: "e", Steps: wide(MaxSteps)}, "bytes as JSON"},
	} {
		assert.ErrorContains(t, tt.in.Normalise(), tt.says)
	}
}

// wide steps are each within limits and together too large to store.
func wide(n int) []Step {
	steps := make([]Step, n)
	for i := range steps {
		steps[i] = Step{ID: fmt.Sprint(i), Tool: strings.Repeat("s", 100) + ":" + strings.Repeat("t", 99)}
	}
	return steps
}

func TestValidate(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		at    time.Time
		valid bool
	}{
		{time.Time{}, true},
		{now.Add(-time.Hour), true},
		{now.Add(24 * time.Hour), true},
		{now.Add(24*time.Hour + time.Second), false},
		{now.AddDate(10, 0, 0), false},
	} {
		err := Episode{ID: "e", Time: tt.at}.Validate(now)
		assert.Equal(t, tt.valid, err == nil, "%v: %v", tt.at, err)
	}
}

// Law: normalising twice is normalising once, and the order in which dependencies are listed does not
// reach the stored bytes.
func TestNormaliseIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		var a, b Episode
		a.ID, b.ID = "e", "e"
		for i := range n {
			var deps []string
			for j := range i {
				if rapid.Bool().Draw(t, "edge") {
					deps = append(deps, fmt.Sprint(j+1))
				}
			}
			tool := rapid.StringMatching(`[a-c]:[a-c]`).Draw(t, "tool")
			a.Steps = append(a.Steps, Step{Tool: tool, DependsOn: deps})
			b.Steps = append(b.Steps, Step{ID: fmt.Sprint(i + 1), Tool: tool, Outcome: Unknown, DependsOn: rapid.Permutation(append(deps[:len(deps):len(deps)], deps...)).Draw(t, "order")})
		}
		if err := a.Normalise(); err != nil {
			t.Fatal(err)
		}
		first := string(Canonical(a))
		if err := a.Normalise(); err != nil || string(Canonical(a)) != first {
			t.Fatalf("%s becomes %s, %v", first, Canonical(a), err)
		}
		for i := range b.Steps {
			if a.Steps[i].DependsOn == nil {
				b.Steps[i].DependsOn = nil
			}
		}
		if err := b.Normalise(); err != nil || string(Canonical(b)) != first {
			t.Fatalf("%s, the other way %s, %v", first, Canonical(b), err)
		}
	})
}

func FuzzEpisode(f *testing.F) {
	f.Add(`{"id":"e","time":"2026-01-01T00:00:00Z","steps":[{"tool":"a","depends_on":["1"]}]}`)
	f.Add(`{"id":"e","steps":[{"tool":"a","depends_on":[]},{"tool":"b","error":"\u200b"}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		var e Episode
		if json.Unmarshal([]byte(s), &e) != nil || e.Normalise() != nil {
			return
		}
		once := string(Canonical(e))
		var back Episode
		if err := json.Unmarshal([]byte(once), &back); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if err := back.Normalise(); err != nil || string(Canonical(back)) != once {
			t.Fatalf("%s comes back as %s, %v", once, Canonical(back), err)
		}
	})
}
