package inquiry

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/score/evidence"
)

func TestPassages(t *testing.T) {
	assert.Equal(t, []evidence.Snippet{{ID: "d", Text: "One. Two.", Source: "d"}}, Passages(evidence.Snippet{ID: "d", Text: "One.\n\n Two.\n"}))
	assert.Empty(t, Passages(evidence.Snippet{ID: "d", Text: " \n\n "}))
	long := strings.Repeat("Rain fell on the hill. ", 100)
	cut := Passages(evidence.Snippet{ID: "d", Text: long, Source: "a.example"})
	require.Len(t, cut, 2)
	assert.Equal(t, "d#1", cut[0].ID)
	assert.Equal(t, "a.example", cut[1].Source)
	assert.True(t, strings.HasSuffix(cut[0].Text, "hill."), "%q", cut[0].Text)
}

// No word is lost, no passage is too long, whatever the text.
func TestPassagesHoldTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé.]{1,30}`), 0, 400).Draw(t, "words")
		var b strings.Builder
		for _, w := range words {
			b.WriteString(w + rapid.SampledFrom([]string{" ", "\n", "\n\n", ". "}).Draw(t, "gap"))
		}
		var all []string
		for _, p := range Passages(evidence.Snippet{ID: "d", Text: b.String()}) {
			assert.NotEmpty(t, p.Text)
			assert.LessOrEqual(t, len(p.Text), longestPassage)
			all = append(all, p.Text)
		}
		assert.Equal(t, strings.Join(strings.Fields(b.String()), ""), strings.Join(strings.Fields(strings.Join(all, " ")), ""))
	})
}
