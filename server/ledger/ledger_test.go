package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestBalance(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Conversation
		want Balance
	}{
		{"nothing", Conversation{}, Balance{}},
		// 400 tools of 100 tokens, 2000 tokens of our own; 38000 avoided; two turns of 10 + 450 + 40.
		{"a large catalog", Conversation{Baseline: 160_000, Listed: 8000, Asked: 80, Answered: 3600, Turns: 2}, Balance{Turns: 2, Gross: 38_000, Spent: 1000, Net: 37_000, BreakEven: 76}},
		{"a handful of tools", Conversation{Baseline: 800, Listed: 8000, Asked: 40, Answered: 1800, Turns: 1}, Balance{Turns: 1, Gross: -1800, Spent: 500, Net: -2300}},
		{"just even", Conversation{Baseline: 4000, Listed: 2000, Asked: 40, Answered: 1800, Turns: 1}, Balance{Turns: 1, Gross: 500, Spent: 500, BreakEven: 1}},
	} {
		assert.Equal(t, tt.want, tt.c.Balance(), tt.name)
	}
	assert.Equal(t, []int{0, 1, 1, 2}, []int{Tokens(0), Tokens(1), Tokens(4), Tokens(5)})
}

// The totals are the sum of the accounts of all conversations, however many are forgotten in between.
func TestBookAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Book
		now := time.Unix(0, 0)
		conversations := map[string]*Conversation{}
		open := map[string]string{}
		last := map[string]time.Time{}
		for i := range rapid.IntRange(0, 60).Draw(t, "turns") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			name := fmt.Sprint("c", rapid.IntRange(0, 3).Draw(t, "conversation"))
			if open[name] == "" || now.Sub(last[name]) > idle {
				open[name] = fmt.Sprint(name, "/", i)
				conversations[open[name]] = &Conversation{}
			}
			last[name] = now
			c := conversations[open[name]]
			c.Baseline, c.Listed = rapid.IntRange(0, 1e6).Draw(t, "baseline"), 5000
			asked, answered := rapid.IntRange(0, 500).Draw(t, "asked"), rapid.IntRange(0, 5000).Draw(t, "answered")
			c.Ask(asked, answered)
			assert.Equal(t, c.Balance(), b.Ask(name, now, c.Baseline, c.Listed, asked, answered))
		}
		var want Balance
		for _, c := range conversations {
			want = want.Plus(c.Balance())
		}
		if len(conversations) > 0 {
			want.BreakEven /= len(conversations)
		}
		assert.Equal(t, Totals{len(conversations), want, true}, b.Totals())
	})
}

func TestBookIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	var b Book
	now := time.Unix(0, 0)
	for i := range 2 * maxAlive {
		b.Ask(fmt.Sprint(i), now.Add(time.Duration(i)*time.Millisecond), 4000, 400, 40, 400)
	}
	assert.LessOrEqual(t, len(b.alive), maxAlive)
	assert.Equal(t, 2*maxAlive, b.Totals().Conversations)
	assert.Equal(t, 2*maxAlive*900, b.Totals().Gross)
}
