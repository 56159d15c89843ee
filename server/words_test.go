package server

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/suggest"
)

// A model is told which steps of a plan are of its host.
func TestTextsNameStepsOfTheHost(t *testing.T) {
	plan := suggest.DAG{Tasks: []suggest.Task{{ID: "t1", Tool: "Read", Host: true}, {ID: "t2", Tool: "ci:run", DependsOn: []string{"t1"}}}}
	assert.Equal(t, "Plan of 2 steps, confidence 0.90:\n1. t1 Read (of the host)\n2. t2 ci:run after t1\n", dagText(suggest.DAGAnswer{DAG: plan, Confidence: .9}))
}
