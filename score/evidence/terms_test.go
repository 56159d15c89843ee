package evidence

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"waymark/semantic"
)

// Word by word, whatever was met before, gives the stems of the text at once.
func TestSetIsTheTokensOfTheText(t *testing.T) {
	l := newLexicon()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("aestTHE no,.'’-_5 \n搜索é"))).Draw(t, "text")
		want := l.number(semantic.Tokens(text))
		slices.Sort(want)
		if got := l.set(text); !slices.Equal(got, slices.Compact(want)) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}

func TestRememberedStemsAreBounded(t *testing.T) {
	m := memo{max: 100, stems: map[string][]string{}}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				assert.Len(t, m.of(fmt.Sprintf("w%d-%d", g, i)), 3)
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, len(m.stems), 100)
	assert.Equal(t, []string{"run"}, m.of("Running,"))
	assert.Empty(t, m.of("the"))
}

func TestOverlapAndCosine(t *testing.T) {
	l := newLexicon()
	assert.InDelta(t, 2./3, overlap(l.set("the roof vent was found open"), l.set("A vent stays open.")), 1e-15)
	assert.InDelta(t, 1, overlap(l.set("copper"), l.set("copper copper")), 1e-15)
	assert.InDelta(t, .5, cosine(l.set("warm rain"), l.set("rains are cold")), 1e-15)
	assert.Zero(t, overlap(l.set(""), l.set("copper")))
	assert.Zero(t, cosine(l.set("…"), l.set("copper")))
}
