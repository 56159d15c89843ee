// Package suggest turns a history into suggestions. Package history holds the first two of these values:
//
//	events ──▶ State ──Freeze──▶ Counts ──Measure──▶ Measures
//	           (mutable)         (light)             (heavy: ranks, clusters, text)
//	                                └───────┬─────────────┘
//	                                        ▼
//	                                      Model ──▶ Search · Next · Plan · Explain
//
// A [history.State] folds events in log order, and freezes at the cost of what changed: counts share the rest
// with those before them. A [Model] is what readers see: immutable, a pure function of the counts at
// one moment and of the measures of one (possibly earlier) moment. Every score it gives is a sum or
// product of named terms that come back with it and reproduce it exactly (formulas.go). Nodes are
// dense ids in order of first appearance; ids of several spellings of one tool are joined when a
// catalog shows that they are one.
package suggest
