package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/learn/logit"
	"waymark/semantic"
	"waymark/semantic/thesaurus"
)

// A request in other words has some of its words or related ones, mostly fewer, and the same ones each time.
func TestReworded(t *testing.T) {
	tools, tasks := office(150)
	m := Fit(NewTexts(tools), nil, tasks)
	shorter := 0
	for _, task := range tasks {
		said := m.reworded(task.Text)
		require.Equal(t, said, m.reworded(task.Text))
		near := thesaurus.Default()
		allowed := strings.Fields(task.Text)
		for _, word := range strings.Fields(task.Text) {
			for _, r := range near.Related(nil, semantic.Tokens(word)) {
				allowed = append(allowed, near.Entries()[r.Entry]...)
			}
		}
		for _, word := range strings.Fields(said) {
			require.Contains(t, allowed, word, "%q of %q", said, task.Text)
		}
		if said != task.Text {
			shorter++
		}
	}
	assert.Greater(t, shorter, len(tasks)*9/10)
}

// The fewer words a request has in common with past ones, the more foreign it is, and what is claimed for it falls.
func TestForeignRequests(t *testing.T) {
	tools, tasks := office(150)
	m := Fit(NewTexts(tools), nil, tasks)
	said := m.Plan(tasks[0].Text, nil)
	foreign := m.Plan("three nights of milk for the aunt of a stranger", nil)
	assert.Less(t, said.q.foreign, .5)
	assert.Greater(t, foreign.q.foreign, .5)
	assert.Less(t, foreign.Tools[0].P, said.Tools[0].P)
}

// Nine of twenty requests need a second tool, and no word says which. A plan for a request like past ones is exactly right
// more often without the tool; for a foreign request it has the link that the tool brings.
func TestForeignPlansKeepLinks(t *testing.T) {
	tools := []Tool{{Name: "alpha"}, {Name: "beta"}}
	var tasks []Task
	for i := range 100 {
		task := Task{Text: fmt.Sprintf("settle bill %d", i), Steps: []int32{0}, After: [][]int32{nil}}
		if i%20 < 9 {
			task.Steps, task.After = []int32{0, 1}, [][]int32{nil, {0}}
		}
		tasks = append(tasks, task)
	}
	m := Fit(NewTexts(tools), nil, tasks)
	none := make([]float64, len(setNames))
	m.kinds[foreign].chooser = &logit.Model{Slope: none, Mean: none} // sets are as likely as for a request like past ones
	q := m.open("settle bill 7000", nil)
	q.run()
	for share, want := range []int{1, 2} {
		q.foreign = float64(share)
		assert.Len(t, q.choose(), want, "foreign to %d", share)
	}
}
