package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnknown(t *testing.T) {
	w := newWorld(t).tool("metrics:query_metrics", "Query metrics.", "", "").tool("metrics:silence", "Silence an alert.", "", "")
	m := w.episode("", "Read", "Read", "Bash").episode("", "a:post", "b:post", "b:post").model()
	read := UnknownID{"read", []string{"Read"}, `unknown tool "read"; did you mean Read?`}
	for _, tt := range []struct {
		why     string
		context []string
		held    *Exclusions
		want    []UnknownID
	}{
		{"known ids, in any spelling", []string{"Read", "metrics__query_metrics", "metrics.silence"}, nil, nil},
		{"seen in episodes only, in another case", []string{"read"}, nil, []UnknownID{read}},
		{"each once, in order", []string{"read", "nobody:knows", "read"}, nil, []UnknownID{read, {"nobody:knows", []string{}, `unknown tool "nobody:knows"`}}},
		{"the more used first", []string{"post"}, nil, []UnknownID{{"post", []string{"b:post", "a:post"}, `unknown tool "post"; did you mean b:post or a:post?`}}},
		{"nothing withheld", []string{"read"}, NewExclusions(map[string]Exclusion{"Read": {AbsentQuarantined, ""}}), []UnknownID{{"read", []string{}, `unknown tool "read"`}}},
		{"similar ids for the first three", []string{"u1", "u2", "u3", "read"}, nil, []UnknownID{
			{"u1", []string{}, `unknown tool "u1"`}, {"u2", []string{}, `unknown tool "u2"`}, {"u3", []string{}, `unknown tool "u3"`}, {"read", []string{}, `unknown tool "read"`}}},
	} {
		assert.Equal(t, tt.want, m.Unknown(tt.context, tt.held), tt.why)
	}
}

// What the catalog alone is asked for is answered from the catalog alone, by kind.
func TestUnknownOfTheCatalog(t *testing.T) {
	m := newWorld(t).tool("metrics:query_metrics", "Query metrics.", "", "").capability("cap:query_metrics", "Metrics.", "metrics:query_metrics").
		episode("", "other:query_metrics", "Ponder").model()
	assert.Equal(t, []string{"metrics:query_metrics"}, m.UnknownID("query_metrics", "tool", true).DidYouMean)
	assert.Equal(t, []string{"cap:query_metrics"}, m.UnknownID("query_metrics", "capability", true).DidYouMean)
	assert.Equal(t, UnknownID{"ponder", []string{}, `unknown tool "ponder"`}, m.UnknownID("ponder", "tool", true))
	assert.Empty(t, m.UnknownID("query_metrics", "tool", false).DidYouMean)
}
