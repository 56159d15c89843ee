package next

// A Signal is one reason to expect a tool, a row of [Features]. Its value is at least 0 where it supports the tool
// (Popularity and Again are logarithms of a share and below 0), 0 where it has no information.
type Signal int

const (
	signalPopularity Signal = iota
	signalOrder1
	signalChain
	signalOrder2
	signalOrder3
	signalOrder4
	signalOrder6
	signalOrder8
	signalSameSource
	signalSameAncestry
	signalSameBranches
	signalOtherBranch
	signalSkipOne
	signalSkipTwo
	signalAfterRun
	signalPlaceOf
	signalSameSet
	signalFirstTool
	signalLastThree
	signalLastFour
	signalWidth
	signalLastPair
	signalRoots
	signalLayer
	signalBranches
	signalInner
	signalSkips
	signalBag
	signalBagProduct
	signalTail
	signalRest
	signalOverlap
	signalFrontier
	signalRepeat
	signalRepeatSoon
	signalRepeatLate
	signalAgain
	signalServer
	signalSameServer
	Linked
	signalEnabled
	signalPlanned
	signalPlannedNext
	signalAlike
	signalSharedNeighbours
	signalImportance
	signalSameCommunity
	signalSpectral
	signalGiven
	signalKnown
	signalWorked
	signalLately
	signalWhole
	signalResidual
	signalAsked
	signalPastNext
	signalPastRest
	signalWords
	signalWordsUsed
	signalResidualAsk
	signalCount
)

// A Feature describes a signal.
type feature struct {
	Name, Group string // Name is that of the term in answers
	Cost        Cost
	Meaning     string
	Formula     string
}

// Cost is what a signal reads for a question.
type Cost string

const (
	perTool Cost = "tool"   // one number of each tool
	Row     Cost = "row"    // one row of counts or similarities
	Prefix  Cost = "prefix" // a row for each step of the context
	Search  Cost = "search" // past tasks, vectors or weights of many features
)

// ofRequest is the group of the signals that need a request.
const ofRequest = "request"

// Features are the signals. In the formulas c is the discounted count of the tool in a row of followers, e the mass the
// row leaves to other tools, P₀ the popularity, P₁ the probability after the last tool, T the number of tools, v votes
// and κ = 0.1. ln(1 + c/(e·Q)) is the logarithm of the interpolated probability over Q, up to a constant that is the same
// for all candidates.
var Features = [signalCount]feature{
	signalPopularity: {Name: "popularity", Group: "popularity", Cost: perTool,
		Meaning: "how often the tool is used",
		Formula: "ln P₀"},
	signalOrder1: {Name: "after_last", Group: "chain", Cost: Row,
		Meaning: "follower of the last tool",
		Formula: "ln(1 + c/(e·P₀))"},
	signalChain: {Name: "chain", Group: "chain", Cost: Row,
		Meaning: "follower of the longest known end of the context, all orders interpolated",
		Formula: "ln(P/(r·P₀)), r the mass left to P₀"},
	signalOrder2: {Name: "after_last_2", Group: "long chains", Cost: Row,
		Meaning: "follower of the last 2 tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalOrder3: {Name: "after_last_3", Group: "long chains", Cost: Row,
		Meaning: "follower of the last 3 tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalOrder4: {Name: "after_last_4", Group: "long chains", Cost: Row,
		Meaning: "follower of the last 4 tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalOrder6: {Name: "after_last_6", Group: "long chains", Cost: Row,
		Meaning: "follower of the last 6 tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalOrder8: {Name: "after_last_8", Group: "long chains", Cost: Row,
		Meaning: "follower of the last 8 tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalSameSource: {Name: "same_source", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the last tool, the step it depends on and the number of its dependencies (up to 3)",
		Formula: "ln(1 + c/(e·P₁))"},
	signalSameAncestry: {Name: "same_ancestry", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the last tool, the step it depends on and the step before that one",
		Formula: "ln(1 + c/(e·P₁))"},
	signalSameBranches: {Name: "same_branches", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the multiset of tools of the open branches",
		Formula: "ln(1 + c/(e·P₁))"},
	signalOtherBranch: {Name: "other_branch", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the last tool and that of the latest other open branch",
		Formula: "ln(1 + c/(e·P₁))"},
	signalSkipOne: {Name: "skip_one", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the second last tool, whatever came last",
		Formula: "ln(1 + c/(e·P₀))"},
	signalSkipTwo: {Name: "skip_two", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the third last tool",
		Formula: "ln(1 + c/(e·P₀))"},
	signalAfterRun: {Name: "after_run", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of a run of the last tool by its length (up to 6) and the tool before it",
		Formula: "ln(1 + c/(e·P₁))"},
	signalPlaceOf: {Name: "place", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the last tool at about this place in the task",
		Formula: "ln(1 + c/(e·P₁))"},
	signalSameSet: {Name: "same_set", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the last tool and the set of all tools used",
		Formula: "ln(1 + c/(e·P₁))"},
	signalFirstTool: {Name: "first_tool", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the first and the last tool",
		Formula: "ln(1 + c/(e·P₁))"},
	signalLastThree: {Name: "last_3_tools", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the last 3 different tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalLastFour: {Name: "last_4_tools", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the last 4 different tools",
		Formula: "ln(1 + c/(e·P₁))"},
	signalWidth: {Name: "width", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the last tool, the number of open branches (up to 5) and the step it depends on",
		Formula: "ln(1 + c/(e·P₁))"},
	signalLastPair: {Name: "last_2_tools", Group: "contexts of the list", Cost: Row,
		Meaning: "follower of the last 2 different tools in either order",
		Formula: "ln(1 + c/(e·P₁))"},
	signalRoots: {Name: "roots", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the last tool, the number of roots (up to 5) and of open branches (up to 3)",
		Formula: "ln(1 + c/(e·P₁))"},
	signalLayer: {Name: "layer", Group: "contexts of the graph", Cost: Row,
		Meaning: "follower of the last tool, the number of steps with the same dependencies just before (up to 5) and the tool before these",
		Formula: "ln(1 + c/(e·P₁))"},
	signalBranches: {Name: "open_branches", Group: "branches", Cost: Prefix,
		Meaning: "first dependent step of steps of the open branches",
		Formula: "ln(1 + v/(κ·P₀)), v the shares of the branches' followers, 0.8 for each branch back"},
	signalInner: {Name: "inner_branches", Group: "branches", Cost: Prefix,
		Meaning: "further dependent step of steps that have one",
		Formula: "ln(1 + v/(κ·P₀)), v the shares of the branches' followers, 0.8 for each branch back, times more/(more + first + 1), the share of steps after such a tool that are further ones"},
	signalSkips: {Name: "recent_tools", Group: "bags", Cost: Prefix,
		Meaning: "tool at its distance from each of the last 6 steps",
		Formula: "ln(1 + v/(κ·P₀)), v the shares of their followers, 0.7 for each step back"},
	signalBag: {Name: "tools_done", Group: "bags", Cost: Prefix,
		Meaning: "next step while a tool of the context was done",
		Formula: "ln(1 + v/(κ·P₀)), v the mean share over the last 12 different tools"},
	signalBagProduct: {Name: "tools_done_product", Group: "bags", Cost: Prefix,
		Meaning: "next step while tools of the context were done, their probabilities multiplied",
		Formula: "Σ ln(1 + c/(m·P₀ + 2))/√n over the last n ≤ 12 different tools, m twice the number of followers"},
	signalTail: {Name: "nearest_tail", Group: "nearest tasks", Cost: Search,
		Meaning: "tool after the longest shared end in the past tasks most like the context",
		Formula: "ln(1 + v/(κ·P₀)), v the share of votes"},
	signalRest: {Name: "nearest_rest", Group: "nearest tasks", Cost: Search,
		Meaning: "tool of these tasks that is not done yet",
		Formula: "ln(1 + v/(κ·P₀)), v the share of votes"},
	signalOverlap: {Name: "nearest_overlap", Group: "nearest tasks", Cost: Search,
		Meaning: "tool after the place in these tasks that agrees with the context",
		Formula: "ln(1 + v/(κ·P₀)), v the share of votes"},
	signalFrontier: {Name: "nearest_frontier", Group: "nearest tasks", Cost: Search,
		Meaning: "step of these tasks whose dependencies are done",
		Formula: "ln(1 + v/(κ·P₀)), v the share of votes"},
	signalRepeat: {Name: "repeat", Group: "repeats", Cost: Prefix,
		Meaning: "the last tool",
		Formula: "1"},
	signalRepeatSoon: {Name: "repeat_soon", Group: "repeats", Cost: Prefix,
		Meaning: "a tool used 1 to 3 steps before the last",
		Formula: "1"},
	signalRepeatLate: {Name: "repeat_late", Group: "repeats", Cost: Prefix,
		Meaning: "a tool used longer ago",
		Formula: "1"},
	signalAgain: {Name: "again", Group: "repeats", Cost: Prefix,
		Meaning: "how often the tool, once used, is the next step",
		Formula: "ln((again + ½)/(done + 2))"},
	signalServer: {Name: "server_after_server", Group: "servers", Cost: Row,
		Meaning: "tool of a server that followed the last tool's server",
		Formula: "ln(1 + n/(2·share of the server))"},
	signalSameServer: {Name: "same_server", Group: "servers", Cost: Row,
		Meaning: "tool of the last tool's server",
		Formula: "1"},
	Linked: {Name: "requires_last", Group: "requirements", Cost: Row,
		Meaning: "tool that requires the last one in the catalog",
		Formula: "1"},
	signalEnabled: {Name: "requirements_done", Group: "requirements", Cost: Prefix,
		Meaning: "share of the tool's requirements that is done",
		Formula: "done/all"},
	signalPlanned: {Name: "on_planned_way", Group: "planned way", Cost: Search,
		Meaning: "step that can be done on the way of requirements most like the context",
		Formula: "ln(1 + v/(κ·P₀)), v the share of votes"},
	signalPlannedNext: {Name: "next_on_planned_way", Group: "planned way", Cost: Search,
		Meaning: "step after the place in such a way",
		Formula: "ln(1 + v/(κ·P₀)), v the share of votes"},
	signalAlike: {Name: "alike", Group: "texts", Cost: Row,
		Meaning: "text similarity to the last tool",
		Formula: "4·similarity"},
	signalSharedNeighbours: {Name: "shared_neighbours", Group: "graph of transitions", Cost: Row,
		Meaning: "neighbours shared with the last tool",
		Formula: "ln(1 + Adamic-Adar)"},
	signalImportance: {Name: "pagerank", Group: "graph of transitions", Cost: perTool,
		Meaning: "importance in the graph of transitions",
		Formula: "ln(1 + T·PageRank)"},
	signalSameCommunity: {Name: "same_community", Group: "graph of transitions", Cost: Row,
		Meaning: "tool of the last tool's community",
		Formula: "1"},
	signalSpectral: {Name: "spectral", Group: "graph of transitions", Cost: Search,
		Meaning: "how much more often than by chance the tool follows, by the leading singular vectors",
		Formula: "ln of the estimate of n(a→b) over the expectation from degrees, mean of the last 6 steps, 0.7 for each step back"},
	signalGiven: {Name: "inputs_given", Group: "schemas", Cost: Prefix,
		Meaning: "inputs that tools of the context gave as outputs",
		Formula: "Σ ln(1 + T/n(takers)) of these over that of all inputs"},
	signalKnown: {Name: "inputs_known", Group: "schemas", Cost: Prefix,
		Meaning: "inputs that tools of the context gave or took",
		Formula: "Σ ln(1 + T/n(takers)) of these over that of all inputs"},
	signalWorked: {Name: "outcomes", Group: "outcomes", Cost: Row,
		Meaning: "how the tool's steps went after the last tool, from 5 known outcomes on, else after any",
		Formula: "(successes - failures)/(known + 2)"},
	signalLately: {Name: "lately", Group: "dates", Cost: Row,
		Meaning: "how recently the tool followed the last one",
		Formula: "1 - ln(tasks since)/ln(tasks + 1)"},
	signalWhole: {Name: "after_last_ever", Group: "dates", Cost: Row,
		Meaning: "follower of the last tool in the whole history, where older tasks are left out of the other counts",
		Formula: "ln(1 + c/(e·P₀))"},
	signalResidual: {Name: "residual", Group: "residual", Cost: Search,
		Meaning: "correction by a maximum-entropy model of the context",
		Formula: "score of package maxent"},
	signalAsked: {Name: "matches_intent", Group: ofRequest, Cost: Row,
		Meaning: "text similarity to the request",
		Formula: "4·similarity"},
	signalPastNext: {Name: "past_requests_next", Group: ofRequest, Cost: Search,
		Meaning: "follower of the last tool in tasks with the nearest requests",
		Formula: "ln(1 + v/(κ·P₀)), v the squared similarities, normalised"},
	signalPastRest: {Name: "past_requests_rest", Group: ofRequest, Cost: Search,
		Meaning: "tool of these tasks that is not done yet",
		Formula: "ln(1 + v/(κ·P₀)), v the squared similarities over √steps, normalised"},
	signalWords: {Name: "words", Group: ofRequest, Cost: Row,
		Meaning: "tool of tasks whose requests had the same words",
		Formula: "Σ ln(lift of word and tool)/√(words + 1), lifts above 1"},
	signalWordsUsed: {Name: "words_used", Group: ofRequest, Cost: Row,
		Meaning: "what the same words say of a tool used already",
		Formula: "Σ ln(lift of word and tool)/√(words + 1), lifts above 1"},
	signalResidualAsk: {Name: "residual_words", Group: ofRequest, Cost: Search,
		Meaning: "correction by a maximum-entropy model of the request's words",
		Formula: "score of package maxent"},
}

// OfRequest tells whether a signal needs a request.
func (k Signal) OfRequest() bool { return Features[k].Group == ofRequest }
