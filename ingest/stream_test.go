package ingest

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// generated is a history of n episodes of about a kilobyte each, made as it is read.
type generated struct {
	n, i int
	rest bytes.Buffer
}

func (g *generated) Read(p []byte) (int, error) {
	for g.rest.Len() < len(p) && g.i < g.n {
		g.i++
		fmt.Fprintf(&g.rest, `{"id":"e%d","intent":"%s","steps":[`, g.i, strings.Repeat("word ", 120))
		for s := range 8 {
			fmt.Fprintf(&g.rest, `{"id":"%d","tool":"server%d:tool%d"},`, s+1, s, g.i%50)
		}
		g.rest.WriteString(`{"tool":"end"}]}` + "\n")
	}
	if g.rest.Len() == 0 {
		return 0, io.EOF
	}
	return g.rest.Read(p)
}

// A stream of 20 MB leaves behind only what tells duplicates apart, some 100 bytes an episode.
func TestReadHoldsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	const n = 20_000
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, seen, grown := heap(), 0, int64(0)
	for it, err := range ReadFrom(t.Context(), &generated{n: n}, Options{}) {
		require.NoError(t, err)
		require.NotNil(t, it.Episode, it.Dropped)
		if seen++; seen == n {
			grown = heap() - before
		}
	}
	assert.Equal(t, n, seen)
	assert.Less(t, grown, int64(6<<20))
}
