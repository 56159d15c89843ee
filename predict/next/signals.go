package next

// A Signal is one reason to expect a tool. Its value is at least 0 where it speaks for the tool
// (Popularity and Again are logarithms of a share and below 0), 0 where it says nothing.
//
// Most are log ratios: with c the discounted count of the tool in a row of followers, e the mass the
// row leaves to others and Q what was expected without it, ln(1 + c/(e·Q)) is the logarithm of the
// interpolated probability over Q, up to a constant that is the same for all candidates. Votes v enter
// as ln(1 + v/(κ·P₀)), κ = 0.1, P₀ the popularity.
type Signal int

const (
	Popularity Signal = iota // ln P₀
	Order1                   // follower of the last tool, over P₀
	Chain                    // all orders joined, over P₀
	Order2                   // follower of the last k tools, over P₁
	Order3
	Order4
	Order6
	Order8
	context0 // the contexts of sequence.Prefix, over P₁ (SkipOne and SkipTwo over P₀)
)

const (
	Branches   = context0 + Signal(contexts) + iota // first steps that followed open branches in the graph
	Inner                                           // further steps that followed steps with one already
	Skips                                           // followers of the last 6 tools at their distance, 0.7 each step
	Bag                                             // tools that came next while a tool of the prefix was done
	BagProduct                                      // the same, multiplied instead of added
	Tail                                            // the four votes of sequence.Neighbours
	Rest
	Overlap
	Frontier
	Repeat           // 1 for the last tool
	RepeatSoon       // 1 for a tool used 1 to 3 steps before it
	RepeatLate       // 1 for a tool used longer ago
	Again            // ln of how often a used tool is the next step
	Server           // tools of servers that followed the last tool's server
	SameServer       // 1 for tools of the last tool's server
	Linked           // 1 for tools that require the last one, in the catalog's graph
	Enabled          // share of what a tool requires that is done
	Planned          // steps that can be done on the way to what the prefix looks like
	PlannedNext      // the step after the place in such a way
	Alike            // 4 times the text similarity to the last tool
	SharedNeighbours // ln(1 + Adamic-Adar with the last tool)
	Importance       // ln(1 + T·PageRank)
	SameCommunity    // 1 for tools of the last tool's community
	Spectral         // ln of how much oftener than by chance it follows, by the leading singular vectors
	Given            // share of its inputs that tools of the prefix give as outputs
	Known            // share of its inputs that tools of the prefix take or give
	Worked           // how it went after the last tool: 1 always well, -1 always badly
	Lately           // how lately it followed the last tool
	Whole            // follower of the last tool in the whole history, of which only the newest tasks count otherwise
	Residual         // learned weights of the situation's features (package maxent)
	Asked            // 4 times the text similarity of the request
	PastNext         // what followed the last tool in the tasks with the nearest requests
	PastRest         // what these tasks did that is not done yet
	Words            // tools used in tasks whose requests had the same words
	WordsUsed        // the same for tools that were used already
	ResidualAsk      // learned weights of the request's words
	Signals
)
