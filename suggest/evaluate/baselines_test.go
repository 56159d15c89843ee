package evaluate

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	sample "waymark/cmd/waymark/sampledata"
	"waymark/suggest"
)

func tasks(examples ...Example) (list []*task) {
	for i := range examples {
		list = append(list, newTask(&examples[i]))
	}
	return list
}

// next asks a baseline.
func next(t testing.TB, all []Predictor, name, intent string, context ...string) string {
	i := slices.IndexFunc(all, func(p Predictor) bool { return p.Name == name })
	found, err := all[i].Next(Question{context, intent})
	require.NoError(t, err)
	ids := make([]string, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	return strings.Join(ids, " ")
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
	popularity := r.Baselines["popularity"]["mrr"]
	assert.Greater(t, r.Baselines["markov1"]["mrr"], popularity+0.2)
	assert.Greater(t, value(t, r, QuestionNext, "hit@5"), 0.7)
	assert.Greater(t, value(t, r, QuestionNext, "mrr"), popularity)
	for _, row := range r.Rows {
		assert.Less(t, row.CI[0], row.CI[1], "%s %s", row.Question, row.Metric)
		assert.LessOrEqual(t, row.CI[0], row.Value)
		assert.GreaterOrEqual(t, row.CI[1], row.Value)
	}
}

// Parse follows fetch twice, mail once, nothing follows mail: then popularity, and of mail and store the
// one that the nearest past intents vote for.
func TestAChainMixedWithVotes(t *testing.T) {
	all := baselines(tasks(small().Examples[:3]...), newToolIndex(nil))
	rank := func(intent string, context ...string) string { return next(t, all, "markov2_knn", intent, context...) }
	assert.Equal(t, "parse mail fetch store", rank("", "fetch"))
	assert.Equal(t, "store", strings.Fields(rank("", "fetch", "parse"))[0])
	assert.Equal(t, "fetch parse mail store", rank("", "mail"))
	assert.Equal(t, "fetch parse store mail", rank("store the page", "mail"))
}
