// Package history holds what the log adds up to, before anything is measured or learned.
//
//	events ──▶ State ──Freeze──▶ Counts ──▶ package suggest
//	             └──Image──▶ snapshot ──ReadState──▶ State
//
// A [State] has one owner and folds events in log order: calls, transitions, outcomes, the catalog. [Counts] are a State
// at one moment, immutable and read by any number of readers; [State.Freeze] costs what changed since the last one.
//
// Every id is a node: a dense number in order of first appearance. Where the catalog shows that several ids are
// spellings of one tool, [Counts.Canonical] maps them to one node, and all counts are those of that node.
package history
