package episodic

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every view is the list of its moment, whatever is set afterwards and whoever reads meanwhile.
func TestViewsStayAsTheyAre(t *testing.T) {
	var l List[int]
	r := rand.New(rand.NewPCG(1, 1))
	now := map[int32]int{}
	var readers sync.WaitGroup
	for round := range 50 {
		for range r.IntN(40) {
			i := int32(r.IntN(5 * pageSize))
			l.Set(i, round)
			now[i] = round
		}
		v, then := l.Freeze(), map[int32]int{}
		for i, x := range now {
			then[i] = x
		}
		readers.Go(func() {
			for i := range int32(6 * pageSize) {
				if v.At(i) != then[i] {
					t.Errorf("element %d of round %d is %d, was %d", i, round, v.At(i), then[i])
				}
			}
		})
	}
	for i := range int32(6 * pageSize) {
		require.Equal(t, now[i], l.At(i))
	}
	readers.Wait()
}

// What was not set is shared: a view after one change copies one page.
func TestAChangeCostsOnePage(t *testing.T) {
	var l List[int64]
	for i := range int32(100 * pageSize) {
		l.Set(i, int64(i))
	}
	before := l.Freeze()
	l.Set(300, -1)
	after := l.Freeze()
	copied := 0
	for p := range after.pages {
		if after.pages[p] != before.pages[p] {
			copied++
		}
	}
	require.Equal(t, 1, copied)
	require.Equal(t, int64(300), before.At(300))
}
