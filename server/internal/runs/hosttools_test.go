package runs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/run"
)

// A model is told which steps a run left to its host.
func TestTextsNameStepsOfTheHost(t *testing.T) {
	status := run.Status{State: run.Done, Done: 1, Skipped: 1, Nodes: []run.Node{{NodeInfo: run.NodeInfo{ID: "t1", Kind: run.KindHost}}, {NodeInfo: run.NodeInfo{ID: "t2", Kind: "tool"}}}}
	assert.Equal(t, "Done: 1 task done, 0 failed, 1 skipped. Tools of the host, to be called by you: t1.", runText(Answer{Status: status}))
	status.Nodes = status.Nodes[1:]
	assert.Equal(t, "Done: 1 task done, 0 failed, 1 skipped.", runText(Answer{Status: status}))
}
