package mcpserver

import "waymark/suggest"

// NextAnswer is the answer of suggest_next: that of POST /v1/next and a sentence.
type NextAnswer struct {
	Said
	suggest.NextAnswer
}

// DAGAnswer is the answer of suggest_dag: that of POST /v1/dag and a sentence.
type DAGAnswer struct {
	Said
	suggest.DAGAnswer
}
