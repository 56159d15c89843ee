package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
