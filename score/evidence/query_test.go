package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func intents(queries []Query) []Intent {
	list := []Intent{}
	for _, q := range queries {
		list = append(list, q.Intent)
	}
	return list
}

// Seed 001 counts "total new queries per round: 5". Two for support, one each to discriminate and to
// falsify make 4; the fifth, for other sources, is only asked when one source dominates.
func TestQueriesOfARound(t *testing.T) {
	r := Request{Hypotheses: hypotheses("granite copper", "cedar maple", "slate marl")}
	res := triangulate(t, r)
	assert.Equal(t, []Intent{"hypothesis_support_1", "hypothesis_support_2", discriminateTop2, falsifyLead}, intents(res.NextQueries))

	r.Rounds = []Round{{Snippets: snippets("cedar")}}
	res = triangulate(t, r)
	assert.Empty(t, res.NextQueries, "they are in the round")
	next := res.Rounds[0].NextQueries
	assert.Equal(t, []Intent{falsifyLead, "hypothesis_support_1", "hypothesis_support_2", discriminateTop2}, intents(next), "round 2 puts falsification first")
	assert.Equal(t, []string{"h2", "h2", "h1", "h2"}, []string{next[0].Hypothesis, next[1].Hypothesis, next[2].Hypothesis, next[3].Hypothesis})
	assert.Equal(t, "h1", next[3].Against)

	r.Rounds = append(r.Rounds, Round{Snippets: snippets("maple", "cedar, maple and larch"), NewDocuments: new(5)})
	res = triangulate(t, r)
	assert.Equal(t, []Intent{"hypothesis_support_1", "hypothesis_support_2", discriminateTop2, falsifyLead}, intents(res.Rounds[1].NextQueries))
}

// A round that is forced by evidence that decides nothing asks for what nobody has looked for yet, once.
func TestForcedRoundsAskForTheRest(t *testing.T) {
	r := Request{Hypotheses: hypotheses("granite copper", "cedar maple", "slate marl", "loam clay"), Rounds: []Round{{Snippets: snippets("cedar")}, {}, {}}}
	res := triangulate(t, r)
	assert.Equal(t, []Intent{discriminateTop2, "hypothesis_support_1", "hypothesis_support_2", "hypothesis_support_3", "hypothesis_support_4", falsifyLead}, intents(res.Rounds[1].NextQueries))
	assert.Equal(t, "h4", res.Rounds[1].NextQueries[4].Hypothesis)
	assert.Equal(t, []Intent{discriminateTop2, "hypothesis_support_1", "hypothesis_support_2", falsifyLead}, intents(res.Rounds[2].NextQueries))
}

func TestSourceDiversity(t *testing.T) {
	support := func(sources ...string) Request {
		r := Request{Hypotheses: hypotheses("granite copper", "cedar maple"), Rounds: []Round{{}}}
		for i, s := range sources {
			r.Rounds[0].Snippets = append(r.Rounds[0].Snippets, Snippet{ID: string(rune('a' + i)), Text: "granite", Source: s})
		}
		return r
	}
	for _, tt := range []struct {
		name    string
		sources []string
		exclude string
	}{
		{"one source", []string{"https://www.stones.org/a", "https://stones.org/b", "http://STONES.org:80/c?d"}, "stones.org"},
		{"three of four", []string{"stones.org", "stones.org", "stones.org", "rocks.net"}, "stones.org"},
		{"seven of ten are not above .70", []string{"s.org", "s.org", "s.org", "s.org", "s.org", "s.org", "s.org", "a", "b", "c"}, ""},
		{"two of three", []string{"stones.org", "stones.org", "rocks.net"}, ""},
		{"two snippets are too few", []string{"stones.org", "stones.org"}, ""},
		{"unknown sources do not dominate", []string{"", "", ""}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			queries := triangulate(t, support(tt.sources...)).Rounds[0].NextQueries
			last := queries[len(queries)-1]
			if tt.exclude == "" {
				assert.NotContains(t, intents(queries), diversifySources)
				return
			}
			assert.Equal(t, Query{Intent: diversifySources, Text: "granite copper -site:" + tt.exclude, Hypothesis: "h1", Exclude: tt.exclude}, last)
		})
	}
	queries := triangulate(t, support("Field Notes", "field notes", "field notes")).Rounds[0].NextQueries
	assert.Equal(t, `granite copper -"field notes"`, queries[len(queries)-1].Text)
}
