// Package mine finds the sub-DAGs of calls that task after task has in common.
//
// A task is a DAG of calls. Failed calls are left out, and what came before one is then right before
// what came after it:
//
//	alert ─▶ metrics(failed) ─▶ logs ─▶ issue        becomes   alert ─▶ logs ─▶ issue
//
// Two calls are close where one comes after the other with at most one other between. A set of calls,
// each close to another of the set, is an occurrence of the set of its tools. Sets are grown call by
// call from their rarest tool, all sets of one size before the next, as long as enough tasks of enough
// sessions have them: pattern growth over connected sets, as gSpan does (Yan and Han, "gSpan:
// Graph-based substructure pattern mining", ICDM 2002), with the sorted tools as canonical code in
// place of a DFS code. That is possible because the order is not part of the set: it is read from the
// occurrences afterwards, as in the mining of partial orders from strings (Pei et al., "Discovering
// frequent closed partial orders from strings", IEEE TKDE 18, 2006) and of embedded DAGs (Termier et
// al., "DIGDAG", KDD workshop on mining and learning with graphs, 2007):
//
//	a, b, c, d   a, c, b, d   a, [b, c], d    ⟹    a ─▶ b ─▶ d
//	                                                a ─▶ c ─▶ d
//
// One call comes after another where nine tenths of the occurrences say so. What is left must be one
// piece, no part of it may be there by chance, and it must be closed: no larger pattern has
// (nearly) the same tasks.
//
// The package is a pure kernel: tools are numbers, and the result depends on the tasks alone, in
// whatever order they come, and on the options.
package mine
