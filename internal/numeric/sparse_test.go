package numeric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewMatrix(t *testing.T) {
	entries := []Entry{{2, 0, 1}, {0, 2, .5}, {0, 0, 2}, {0, 2, .25}, {2, 1, 3}}
	m, err := NewMatrix(3, 4, entries)
	require.NoError(t, err)
	require.Equal(t, Matrix{3, 4, []int32{0, 2, 2, 4}, []int32{0, 2, 0, 1}, []float64{2, .75, 1, 3}}, m)
	byCol := m.Transposed()
	require.Equal(t, Matrix{4, 3, []int32{0, 2, 3, 4, 4}, []int32{0, 2, 2, 0}, []float64{2, 1, 3, .75}}, byCol)
	require.Equal(t, m, byCol.Transposed())
}

func TestNewMatrixRefuses(t *testing.T) {
	for want, e := range map[string]Entry{
		"row 1 is not one of the 1 rows":       {Row: 1},
		"column -1 is not one of the 1":        {Col: -1},
		"the weight is not a finite number":    {Weight: math.NaN()},
		"entry 0 (row 0, column 0, weight -1)": {Weight: -1},
	} {
		_, err := NewMatrix(1, 1, []Entry{e})
		require.ErrorContains(t, err, want)
	}
	_, err := NewMatrix(1, math.MaxInt32, nil)
	require.ErrorContains(t, err, "number out of range")
}
