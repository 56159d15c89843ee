package history

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The index finds every id that its reader knows and no other, whatever came later.
func TestIndexOfTheMoment(t *testing.T) {
	x, ids := newIndex(), []string(nil)
	type moment struct {
		x   *index
		ids []string
	}
	var moments []moment
	for i := range 1000 {
		ids = append(ids, fmt.Sprint("tool", i))
		x = x.with(ids)
		moments = append(moments, moment{x, ids})
	}
	for i := 0; i < len(moments); i += 37 {
		m := moments[i]
		for j, id := range ids {
			n, ok := m.x.find(m.ids, id)
			require.Equal(t, j <= i, ok)
			if ok {
				require.Equal(t, int32(j), n)
			}
		}
	}
}
