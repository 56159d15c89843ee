// Package history aggregates the events of the log into counts, before anything is measured or learned.
//
//	events ──▶ State ──Freeze──▶ Counts ──▶ package suggest
//	             └──Image──▶ snapshot ──ReadState──▶ State
//
// A [State] has one owner and folds events in log order: calls, transitions, outcomes and catalog changes. [Counts] are
// an immutable snapshot of a State for any number of readers. [State.Freeze] costs what changed since the last Freeze.
//
// Each id is a node: a dense number, assigned in order of first appearance. If the catalog shows that several ids are
// spellings of one tool, [Counts.Canonical] maps them to one node, which carries all their counts.
package history
