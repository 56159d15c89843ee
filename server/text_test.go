package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/suggest"
)

// A plan says which steps are of the host, and a request too long for a rule is not corrected by one.
func TestDAGText(t *testing.T) {
	plan := suggest.DAG{Tasks: []suggest.Task{{ID: "t1", Tool: "Read", Host: true, Confidence: .95},
		{ID: "t2", Tool: "ci:run", DependsOn: []string{"t1"}, Missing: []string{"branch"}, Confidence: .5}}}
	answer := suggest.DAGAnswer{DAG: plan, Confidence: .9, Rationale: "2 targets", Warnings: []string{suggest.WarnLowConfidence}}
	text := "Plan of 2 steps, confidence 0.90: 2 targets\nt1 0.95 Read (of the host)\nt2 0.50 ci:run after t1, missing: branch\nWarnings: low confidence."
	assert.Equal(t, text, DAGText(answer, nil, strings.Repeat("a long request ", 50)))
	assert.Equal(t, text+"\nWrong? waymark rule ban Read --intent 'run the tests'", DAGText(answer, nil, " run\nthe tests"))
}
