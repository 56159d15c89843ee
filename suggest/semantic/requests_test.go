package semantic

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func additionDocuments(n int) []Document {
	nouns, verbs := []string{"invoice", "ticket", "branch", "deployment", "calendar"}, []string{"create", "delete", "list", "merge"}
	docs := make([]Document, n)
	for i := range docs {
		verb, noun := verbs[i%len(verbs)], nouns[i/2%len(nouns)]
		docs[i] = Document{Name: fmt.Sprintf("s%d:%s_%s", i%7, verb, noun), Text: fmt.Sprintf("Does %s for one %s of customer %d.", verb, noun, i%11), Properties: noun + "_id"}
	}
	return docs
}

// Oracle: cosines by hand, weights (1 + ln tf)·ln(1 + (N - n + ½)/(n + ½)) with N = 4. A request that is added is as near as
// one that was there.
func TestNearestByHand(t *testing.T) {
	texts := []string{"merge the branch", "delete the invoice of a customer", "list the open tickets", "send the invoice again"}
	r := NewRequests(texts)
	// invoice: n = 2, ln 2 = .6931; a word of one request: ln(1 + 3.5/1.5) = 1.2040.
	near := r.Nearest("invoice", 4, 0)
	require.Len(t, near, 2)
	assert.Equal(t, []int32{1, 3}, []int32{near[0].Doc, near[1].Doc})
	assert.InDelta(t, .6931/1.8385, near[0].Score, 1e-3) // (.6931² + 2·1.2040²)^½
	assert.InDelta(t, near[0].Score, near[1].Score, 1e-6)
	assert.InDelta(t, 1, r.Nearest("the open ticket lists", 1, 0)[0].Score, 1e-6)
	assert.Empty(t, r.Nearest("zebra", 4, 0))
	assert.Empty(t, r.Nearest("", 4, 0))

	more := r.With([]string{"open tickets of zebras"}).With(texts[:1])
	assert.Equal(t, []int32{2, 4}, docsOf(more.Nearest("open tickets", 4, 0)))
	assert.Equal(t, []int32{4}, docsOf(more.Nearest("open tickets", 4, 4)), "of the later ones")
	assert.Equal(t, []int32{0, 5}, docsOf(more.Nearest("merge the branch", 4, 0)), "equal ones by number")
	assert.Equal(t, 4, r.Len())
	assert.Equal(t, 6, more.Len())
}

func docsOf(hits []Hit) (docs []int32) {
	for _, h := range hits {
		docs = append(docs, h.Doc)
	}
	return docs
}
