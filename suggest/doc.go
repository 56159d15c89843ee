// Package suggest turns a history into suggestions. Package history holds the first two of these values:
//
//	events ──▶ State ──Freeze──▶ Counts ──Measure──▶ Measures
//	           (mutable)         (light)             (heavy: ranks, clusters, text)
//	                                └───────┬─────────────┘
//	                                        ▼
//	                                      Model ──▶ Search · Next · Plan · Explain
//
// A [history.State] folds events in log order. Freezing it costs only what changed, because counts share
// the rest with earlier counts. Readers use a [Model]: it is immutable, a pure function of the counts at
// one moment and of the measures of one (possibly earlier) moment. Every score is a sum or product of
// named terms, which are returned with it and reproduce it exactly (formulas.go). Nodes are dense ids in
// order of first appearance. Several spellings of one tool are joined when a catalog shows that they are
// the same tool.
package suggest
