package mcpserver

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/run"
	"waymark/server/internal/runs"
	"waymark/suggest"
)

// A model is told which steps are of its host, in the plan and after the run that stepped over them.
func TestMessagesNameStepsOfTheHost(t *testing.T) {
	plan := suggest.DAG{Tasks: []suggest.Task{{ID: "t1", Tool: "Read", Host: true}, {ID: "t2", Tool: "ci:run", DependsOn: []string{"t1"}}}}
	assert.Equal(t, "Plan of 2 steps, confidence 0.90: t1 Read (of the host); t2 ci:run after t1.", dagMessage(suggest.DAGAnswer{DAG: plan, Confidence: .9}))
	status := run.Status{State: run.Done, Done: 1, Skipped: 1, Nodes: []run.Node{{ID: "t1", Kind: run.KindHost}, {ID: "t2", Kind: "tool"}}}
	assert.Equal(t, "Done: 1 task done, 0 failed, 1 skipped. Tools of the host, to be called by you: t1.", runMessage(runs.Answer{Status: status}))
	status.Nodes = status.Nodes[1:]
	assert.Equal(t, "Done: 1 task done, 0 failed, 1 skipped.", runMessage(runs.Answer{Status: status}))
}
