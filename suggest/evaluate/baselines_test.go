package evaluate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/cmd/waymark/sample"
	"waymark/episodic"
	"waymark/suggest"
)

func tasks(examples ...Example) (list []*task) {
	for i := range examples {
		list = append(list, newTask(&examples[i]))
	}
	return list
}

// History a b a and a c. Episodes with a, b, c: 2, 1, 1; calls: 3, 1, 1.
//
//	cooc after a:      b, c 1/√2 (together once, 2·1 episodes), a 1/√4 (twice in one episode)
//	edges after b a:   a .6·P(a|b) = .6, b and c P(·|a) = .5
//	session after b:   only the first episode has b: its tools, the popular first
func TestNextBaselinesByHand(t *testing.T) {
	c := newCounts(tasks(chain("1", Train, "", "a", "b", "a"), chain("2", Train, "", "a", "c")))
	for _, tt := range []struct{ name, context, want string }{
		{"popularity", "", "a b c"},
		{"popularity", "c", "a b c"},
		{"markov1", "b", "a b c"},
		{"markov1", "a", "b c a"},
		{"markov1", "x", "a b c"},
		{"markov2", "a b", "a b c"},
		{"markov2", "x a", "b c a"},
		{"markov2", "a", "b c a"},
		{"cooc", "a", "b c a"},
		{"cooc", "a a", "b c a"},
		{"cooc", "x", ""},
		{"edges", "b a", "a b c"},
		{"edges", "a x", "b c a"},
		{"session", "b", "a b"},
		{"session", "b c", "a c b"}, // the second is nearer: c was called last
		{"session", "x", ""},
		{"session", "", ""},
	} {
		for _, b := range nextBaselines {
			if b.name != tt.name {
				continue
			}
			for range 2 { // the working memory leaves nothing behind
				cs, err := baseline{c, b.rank}.Rank(Question{Context: strings.Fields(tt.context)}, 0)
				require.NoError(t, err)
				ids := []string{}
				for _, x := range cs {
					ids = append(ids, x.ID)
				}
				assert.Equal(t, tt.want, strings.Join(ids, " "), "%s after %q", tt.name, tt.context)
				cs, err = baseline{c, b.rank}.Rank(Question{Context: strings.Fields(tt.context)}, 1)
				require.NoError(t, err)
				assert.Len(t, cs, min(1, len(ids)))
			}
		}
	}
}

func TestTextBaselines(t *testing.T) {
	x := newBM25([]catalog.Tool{
		{ID: "mail", Name: "sendMail", Description: "Sends a message."},
		{ID: "chat", Name: "post", Description: "Posts a message in a channel, a long and tedious text about nothing."},
		{ID: "also", Name: "sendMail", Description: "Sends a message."},
		{ID: "none"},
	})
	assert.Equal(t, []string{"also", "mail", "chat"}, x.find(words("send the messages")), "equal scores: by id")
	assert.Empty(t, x.find(words("please")))

	past := newIntentIndex(tasks(chain("1", Train, "mail the report", "a"), chain("2", Train, "post the report", "b", "c"),
		chain("3", Train, "", "d"), chain("4", Train, "water the plants", "e")))
	near := past.nearest("mail a report", "new")
	require.Len(t, near, 2)
	assert.Equal(t, "1", near[0].Episode.ID)
	assert.InDelta(t, 1, near[0].likeness, 1e-12, "a and the are stop words")
	assert.Equal(t, []string{"a", "b", "c"}, vote(near))
	assert.Len(t, past.nearest("mail a report", "1"), 1, "its own group is no neighbour")
	assert.Equal(t, []string{"b", "a", "x"}, fuse([]string{"a", "b"}, []string{"b", "x"}))
	assert.Equal(t, []string{"a", "b", "c", "d"}, walk([]string{"a", "d"}, map[string][]string{"a": {"b", "d"}, "b": {"c", "a"}}))
}

// A link of a plan was there in at least half of the episodes with both tools; a held-out episode does
// not count.
func TestLinksOfBaselinePlans(t *testing.T) {
	history := tasks(chain("1", Train, "", "a", "b"), chain("2", Train, "", "a", "b"), chain("3", Train, "", "b", "x", "a"))
	c := newLinkCounts(history)
	assert.Equal(t, []Link{{"a", "b"}}, c.links([]string{"a", "b", "c"}, nil))
	assert.Equal(t, []Link{{"a", "b"}}, c.links([]string{"a", "b"}, history[0]), "one of two is left")
	c = newLinkCounts(history[1:2])
	assert.Empty(t, c.links([]string{"a", "b"}, history[1]), "only it had the link")
}

// bundled is the history that comes with the program, the latest share held out.
func bundled(t testing.TB, share float64) *Data {
	d := &Data{Name: "sample"}
	var err error
	d.Tools, err = sample.Tools()
	require.NoError(t, err)
	d.Capabilities, err = sample.Capabilities()
	require.NoError(t, err)
	for i := range d.Tools {
		require.NoError(t, d.Tools[i].Normalise())
	}
	for i := range d.Capabilities {
		require.NoError(t, d.Capabilities[i].Normalise())
	}
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	for i := range episodes {
		require.NoError(t, episodes[i].Normalise())
	}
	d.Examples, err = HoldOut(episodes, share)
	require.NoError(t, err)
	return d
}

// On the bundled history, whose tasks follow fixed ways, knowing the step before is worth far more
// than popularity, and the engine finds most of what comes next.
func TestOwnHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	r, err := Evaluate(t.Context(), bundled(t, 0.03), Suggester(suggest.ProfileSeed, suggest.MeasureOptions{}), Options{Profile: "seed"})
	require.NoError(t, err)
	markov := r.Baselines["markov1"]
	assert.Greater(t, markov.MRR, r.Baselines["popularity"].MRR+0.2)
	assert.Greater(t, r.Next.Hit5, 0.7)
	assert.Greater(t, r.Next.MRR, r.Baselines["popularity"].MRR)
	for name, ci := range r.Next.CI {
		assert.Less(t, ci[0], ci[1], name)
	}
	assert.LessOrEqual(t, r.Next.CI["mrr"][0], r.Next.MRR)
	assert.GreaterOrEqual(t, r.Next.CI["mrr"][1], r.Next.MRR)
}

// Parse follows fetch twice, mail once, nothing follows mail: then popularity, and of mail and store the
// one that the nearest past intents vote for.
func TestAChainMixedWithVotes(t *testing.T) {
	r, err := Evaluate(t.Context(), small(), nil, Options{})
	require.NoError(t, err)
	b := r.Baselines[byMixture]
	require.NotNil(t, b.NextIntent)
	assert.Nil(t, b.NextScores, "without the intent it is not asked")
	assert.Equal(t, 4, b.NextIntent.Positions)

	d := small()
	var history []*task
	for i := range d.Examples[:3] {
		history = append(history, newTask(&d.Examples[i]))
	}
	c, past := newCounts(history), newIntentIndex(history)
	rank := func(intent string, context ...string) (ids []string) {
		x := Example{Episode: episodic.Episode{ID: "new", Intent: intent}}
		found, err := newMixture(c, past, newTask(&x)).Rank(Question{Context: context, Intent: intent}, 0)
		require.NoError(t, err)
		for _, f := range found {
			ids = append(ids, f.ID)
		}
		return ids
	}
	assert.Equal(t, []string{"parse", "mail", "fetch", "store"}, rank("", "fetch"))
	assert.Equal(t, "store", rank("", "fetch", "parse")[0])
	assert.Equal(t, []string{"fetch", "parse", "mail", "store"}, rank("", "mail"))
	assert.Equal(t, []string{"fetch", "parse", "store", "mail"}, rank("store the page", "mail"))
}
