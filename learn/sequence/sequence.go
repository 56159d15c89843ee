// Package sequence counts what follows what, and predicts from it.
//
// A task is a row of tools t₁ t₂ … tₙ in topological order; tools are numbers 0 … T-1. What stands
// before a step is seen through several contexts at once: the last tool, the last two tools, …, the
// last tool with the step it came from, the set of all tools so far. Each context has a row of counts
// of the tools that came next:
//
//	context          followers
//	(read)           parse 12, write 3
//	(list, read)     parse 9
//	{list, read}     parse 10, write 1
//
// [Table] keeps such rows for any context, [Chain] joins those of the last 1, 2, … tools to one
// distribution, and [Prefix] names the contexts of a task that is a graph and not a row.
//
// Counts are whole numbers: they do not depend on the order of the tasks, and what was observed can be
// forgotten exactly.
package sequence
