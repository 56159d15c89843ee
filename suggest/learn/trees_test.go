package learn

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// example draws rows of four features, of which the first two decide together and the last is noise.
func example(n, perQuestion int) *Rows {
	random := rand.New(rand.NewPCG(1, 2))
	r := &Rows{Features: 4}
	for i := range n {
		if perQuestion > 0 && i%perQuestion == 0 {
			r.Questions = append(r.Questions, int32(i))
		}
		row := []float32{random.Float32(), random.Float32(), float32(random.IntN(3)), random.Float32()}
		right := float32(0)
		if (row[0] > .5) != (row[1] > .5) && row[2] > 0 {
			right = 1
		}
		r.Values, r.Right = append(r.Values, row...), append(r.Right, right)
	}
	return r
}

func (r *Rows) row(i int) []float32 { return r.Values[i*r.Features : (i+1)*r.Features] }

func TestTreesLearnAnInteraction(t *testing.T) { learnInteraction(t, nil) }

// Weights choose the unit of the sums: none is too large for them.
func TestSumsOfAnyWeightFit(t *testing.T) {
	heavy := make([]float32, 4000)
	for i := range heavy {
		heavy[i] = 1e6
	}
	learnInteraction(t, heavy)
}

func learnInteraction(t *testing.T, weight []float32) {
	train, test := example(4000, 0), example(6000, 0)
	train.Weight = weight
	m := FitTrees(train, nil, TreeOptions{}, nil)
	wrong := 0
	for i := 4000; i < test.Len(); i++ {
		if (m.Score(test.row(i)) > 0) != (test.Right[i] > 0) {
			wrong++
		}
	}
	assert.Less(t, wrong, 100, "of 2000")
}

func TestQuestionsCompareTheirRows(t *testing.T) {
	train := example(4000, 8)
	m := FitTrees(train, nil, TreeOptions{}, nil)
	first, questions := 0, 0
	for _, from := range train.Questions {
		best, any := int(from), false
		for i := int(from); i < int(from)+8; i++ {
			any = any || train.Right[i] > 0
			if m.Score(train.row(i)) > m.Score(train.row(best)) {
				best = i
			}
		}
		if any {
			questions++
			if train.Right[best] > 0 {
				first++
			}
		}
	}
	assert.Greater(t, float64(first), .97*float64(questions))
}

func TestTreesOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := FitTrees(example(3000, 6), nil, TreeOptions{Trees: 20}, nil)
	runtime.GOMAXPROCS(4)
	assert.Equal(t, one, FitTrees(example(3000, 6), nil, TreeOptions{Trees: 20}, nil))
}

// Contributions are the Shapley values: the mean over all orders of features of what each adds.
func TestContributionsAreShapleyValues(t *testing.T) {
	train := example(3000, 0)
	m := FitTrees(train, nil, TreeOptions{Trees: 30}, nil)
	for i := range 20 {
		row := train.row(i)
		want := make([]float64, 4)
		permutations(4, func(order []int) {
			known := [4]bool{}
			before := m.known(row, known)
			for _, f := range order {
				known[f] = true
				after := m.known(row, known)
				want[f] += (after - before) / 24
				before = after
			}
		})
		got := make([]float64, 4)
		sum := m.Contributions(got, row)
		assert.InDeltaSlice(t, want, got, 1e-9)
		for _, c := range got {
			sum += c
		}
		require.InDelta(t, m.Score(row), sum, 1e-9)
	}
}

// known is the mean score of the rows of the fit that share the known features of a row.
func (m *Trees) known(row []float32, known [4]bool) (sum float64) {
	var walk func(t []node, i int32) float64
	walk = func(t []node, i int32) float64 {
		n := t[i]
		switch {
		case n.feature < 0:
			return float64(n.value)
		case known[n.feature] && row[n.feature] <= n.threshold:
			return walk(t, n.left)
		case known[n.feature]:
			return walk(t, n.left+1)
		}
		l, r := t[n.left], t[n.left+1]
		return (float64(l.cover)*walk(t, n.left) + float64(r.cover)*walk(t, n.left+1)) / float64(n.cover)
	}
	for _, t := range m.trees {
		sum += walk(t, 0)
	}
	return sum
}
