package evaluate

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
