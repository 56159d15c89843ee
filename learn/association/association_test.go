package association

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func scores(m *Model, words ...string) map[int32]float64 {
	all := map[int32]float64{}
	m.Score(words, func(tool int32, adds float64) { all[tool] += adds })
	return all
}

// Words go with the tool that explains them, not with every tool that was there, and words that every request has go
// with none.
func TestLearn(t *testing.T) {
	var tasks []Task
	for i := range 40 {
		tasks = append(tasks,
			Task{[]string{"team", "money", "back", fmt.Sprint("name", i)}, []int32{1, 7}},
			Task{[]string{"team", "alarm", "night"}, []int32{2, 7}},
		)
	}
	m := Learn(tasks)
	s := scores(m, "money")
	require.Greater(t, s[1], 0.3)
	require.Less(t, s[7], s[1]/2)
	require.NotContains(t, s, int32(2))
	for tool, says := range scores(m, "team") {
		require.Less(t, says, s[1], "tool %d", tool)
	}
	for tool, says := range scores(m, "money", "alarm", "never said") {
		require.LessOrEqual(t, says, 1.0, "tool %d", tool)
	}
	require.Empty(t, scores(m, "never said"))
	require.Empty(t, scores(Learn(nil), "money"))
	require.Empty(t, scores(Learn([]Task{{nil, []int32{1}}, {[]string{"money"}, nil}}), "money"))
}

// The order of words and tools within a task changes no bit.
func TestLearnDoesNotDependOnOrder(t *testing.T) {
	a := Learn([]Task{{[]string{"x", "y", "z"}, []int32{3, 1}}, {[]string{"y", "y"}, []int32{1}}})
	b := Learn([]Task{{[]string{"z", "x", "y"}, []int32{1, 3}}, {[]string{"y"}, []int32{1}}})
	require.Equal(t, a, b)
}

// Of a task with very many tools the same ones count in whatever order they are given.
func TestTheOrderOfToolsDoesNotMatter(t *testing.T) {
	learned := func(reversed bool) (tools []int32) {
		var tasks []Task
		for i := range 30 {
			row := make([]int32, 40)
			for k := range row {
				row[k] = int32(k)
			}
			if reversed {
				slices.Reverse(row)
			}
			tasks = append(tasks, Task{Words: []string{"x", fmt.Sprint("w", i)}, Tools: row}, Task{Words: []string{"y"}, Tools: []int32{99}})
		}
		Learn(tasks).Score([]string{"x"}, func(tool int32, _ float64) { tools = append(tools, tool) })
		return tools
	}
	assert.Equal(t, learned(false), learned(true))
}
