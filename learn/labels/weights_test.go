package labels

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
)

// A sparse matrix that has room for every weight answers as a dense one, and comes back from its bytes.
func TestSparseWeights(t *testing.T) {
	const features, labels = 40, 7
	random := rand.New(rand.NewPCG(3, 4))
	dense := &weights{labels: labels, dense: make([]float32, features*labels)}
	sparse := &weights{labels: labels, column: make([][]entry, labels)}
	for l := range labels {
		column := make([]float32, features)
		for f := range column {
			if random.IntN(3) > 0 {
				column[f] = float32(random.NormFloat64())
			}
		}
		dense.set(l, column)
		sparse.set(l, column)
	}
	dense.finish(features)
	sparse.finish(features)

	for _, m := range []*weights{dense, sparse} {
		var w codec.Writer
		m.write(&w)
		r := codec.NewReader(w.Bytes)
		read := readWeights(r, features, labels)
		require.NoError(t, r.End())
		for f := range int32(features) {
			for l := range int32(labels) {
				assert.Equal(t, dense.at(f, l), read.at(f, l))
			}
			want, got := make([]float64, labels), make([]float64, labels)
			dense.add(want, f, .7)
			read.add(got, f, .7)
			assert.Equal(t, want, got)
		}
		r = codec.NewReader(w.Bytes)
		readWeights(r, features, labels-1)
		assert.Error(t, r.Err())
	}
}

// A fitted model scores as the one that is read, also where its weights are so many that they are kept in eight bits.
func TestRidgeIsReadAsFitted(t *testing.T) {
	const features, labels = 300, 300
	random := rand.New(rand.NewPCG(7, 8))
	rows, y := make([]Vector, 200), make([][]Label, 200)
	for i := range rows {
		for f := random.IntN(20); f < features; f += 1 + random.IntN(40) {
			rows[i].I, rows[i].V = append(rows[i].I, int32(f)), append(rows[i].V, random.Float64())
		}
		y[i] = []Label{{int32(random.IntN(labels)), 1}}
	}
	m := FitRidgeUntil(rows, features, y, labels, nil, 1, func() bool { return false })
	exact := m.Scores(nil, rows[3])
	m.Forget()
	var w codec.Writer
	m.Write(&w)
	require.Less(t, len(w.Bytes), 2*features*labels)
	r := codec.NewReader(w.Bytes)
	read := ReadRidge(r, features, labels)
	require.NoError(t, r.End())
	for _, x := range rows {
		require.Equal(t, m.Scores(nil, x), read.Scores(nil, x))
	}
	require.InDeltaSlice(t, exact, m.Scores(nil, rows[3]), .01)
}

// What does not fit is what has the smallest magnitude, whatever its sign; classes are kept or left out as a whole.
func TestLargestWeightsAreKept(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, 500)
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	for _, n := range []int{0, 1, 10, 100, 499, 500, 600} {
		least := leastOf(x, n)
		kept := 0
		sorted := slices.SortedFunc(slices.Values(x), func(a, b float32) int {
			return cmp.Compare(math.Abs(float64(b)), math.Abs(float64(a)))
		})
		for _, v := range sorted {
			if math.Float32bits(v)&^(1<<31)>>magnitudeShift >= least {
				kept++
			}
		}
		assert.LessOrEqual(t, kept, n)
		assert.GreaterOrEqual(t, kept, min(n, len(x))*8/10, "classes are 6 %% apart")
		for _, v := range sorted[:kept] {
			assert.GreaterOrEqual(t, math.Float32bits(v)&^(1<<31)>>magnitudeShift, least)
		}
	}
}

// Each of the conditions that stored weights must fulfil is checked by itself.
func TestDamagedWeightsAreRefused(t *testing.T) {
	good := func() *weights {
		return &weights{labels: 2, start: []int32{0, 1, 2}, label: []int32{0, 1}, value: []float32{1, 2}}
	}
	for name, damage := range map[string]func(w *weights){
		"a row too few":            func(w *weights) { w.start = []int32{0, 2} },
		"a first row elsewhere":    func(w *weights) { w.start[0] = 1 },
		"rows that overlap":        func(w *weights) { w.start = []int32{0, 3, 2} },
		"a last row that is cut":   func(w *weights) { w.start[2] = 1 },
		"a value too few":          func(w *weights) { w.value = w.value[:1] },
		"dense and sparse at once": func(w *weights) { w.dense = []float32{1} },
		"an unknown label":         func(w *weights) { w.label[1] = 2 },
		"a negative label":         func(w *weights) { w.label[0] = -1 },
	} {
		var b codec.Writer
		w := good()
		damage(w)
		w.write(&b)
		r := codec.NewReader(b.Bytes)
		readWeights(r, 2, 2)
		assert.Error(t, r.Err(), name)
	}
	var b codec.Writer
	good().write(&b)
	r := codec.NewReader(b.Bytes)
	readWeights(r, 2, 2)
	require.NoError(t, r.End())
}
