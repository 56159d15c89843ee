package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A request in other words has some of its words, in their order, and the same ones each time.
func TestReworded(t *testing.T) {
	tools, tasks := office(150)
	m := Fit(NewTexts(tools), nil, tasks)
	shorter := 0
	for _, task := range tasks {
		said := m.reworded(task.Text)
		require.Equal(t, said, m.reworded(task.Text))
		rest := strings.Fields(task.Text)
		for _, word := range strings.Fields(said) {
			require.Contains(t, rest, word, "%q of %q", said, task.Text)
			for rest[0] != word {
				rest = rest[1:]
			}
			rest = rest[1:]
		}
		if len(said) < len(task.Text) {
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
