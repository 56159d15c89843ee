package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// drifting are requests that name a tool. From the n-th on they mean the one after it.
func drifting(tasks, n int) ([]Tool, []Task) {
	names := []string{"anvil", "bucket", "candle", "drum", "easel", "fiddle", "globe", "hammer"}
	var tools []Tool
	for _, name := range names {
		tools = append(tools, Tool{Name: name})
	}
	random := rand.New(rand.NewPCG(5, 6))
	var list []Task
	for i := range tasks {
		tool := random.IntN(len(names))
		t := Task{Text: fmt.Sprintf("give me the %s %d", names[tool], i), After: [][]int32{nil}}
		if i >= n {
			tool = (tool + 1) % len(names)
		}
		t.Steps = []int32{int32(tool)}
		list = append(list, t)
	}
	return tools, list
}

// opened is a fit before its weights.
func opened(tools []Tool, tasks []Task) *fit {
	f := &fit{Model: &Model{texts: NewTexts(tools)}, stop: func() bool { return false }}
	f.group(tasks)
	f.count()
	f.countSets()
	f.fitRidge()
	f.open()
	return f
}

// Where most requests still mean what they did, or will again, newer ones must not count more.
func TestNewerRequestsMustNotSpoilTheOthers(t *testing.T) {
	assert.Greater(t, opened(drifting(300, 120)).returns(60), better)
	assert.Less(t, opened(drifting(300, 230)).returns(60), 0.0)
}

func TestNewerRequestsCountMoreWhereRequestsDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	for _, tt := range []struct {
		from int
		want bool
	}{{300, false}, {160, true}, {190, false}} {
		f := opened(drifting(300, tt.from))
		f.fitRecency()
		assert.Equal(t, tt.want, f.half > 0, "drift from %d on", tt.from)
		if tt.want {
			assert.InDelta(t, 1, f.mass(f.sample[len(f.sample)-1], both), 1e-12, "the newest")
			assert.InDelta(t, .5, f.mass(f.sample[len(f.sample)-1-int(f.half)], both), .01, "a half-life before")
		}
	}
}
