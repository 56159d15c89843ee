package rank

// Column is the number of a feature, a column of the [Table]: each candidate has one value of it. The row method of a table
// returns something else, all values of one candidate.
type Column int

// The features of the table, by group.
const (
	Blend Column = iota
	Order1
	Order2
	Order3
	Skip
	Later
	LaterMost
	Linked
	TailNext
	TailRest
	Last
	Before
	Used
	Recency
	Position
	Distinct
	Evidence1
	Evidence2

	Ridge
	Place
	Votes
	Copies
	Best
	NearSet
	NearNext
	Associated
	Strongest
	BesideMost
	BesideMean
	Found

	Text
	TextShare
	Vectors
	VectorsShare
	Match
	ClauseText
	ClauseVectors
	Name
	Alike

	Alpha
	Hybrid
	Graph
	Cooccurrence
	Community
	AdamicAdar
	PageRank
	HyperRank
	Cluster
	Reference

	SameServer
	ServerUsed
	ServerNeed
	Required
	RequiredText
	Direct
	OwnRequired

	Popularity
	Tasks
	Nearest
	Known
	Size
	Left
	Total
	BestText
	Length
	HasRequest
	featureCount
)

// Feature describes a feature. Meaning is its formula, in which shares and cosines lie in [0, 1]; the ln of a share is
// that of the share + 10⁻⁴, but for popularity: ln((uses + ½)/(steps + 1)).
type Feature struct{ Name, Group, Meaning string }

// Groups lists the groups of features.
var Groups = []string{"sequence", "request", "text", "graph", "catalog", "familiarity"}

// rising marks the features of which a higher value never lowers the score of a tool: they favour it in every history.
var rising = func() (is []bool) {
	is = make([]bool, featureCount)
	for _, k := range []Column{Text, TextShare, Vectors, VectorsShare, Match, ClauseText, ClauseVectors, Name, Hybrid, Reference, Found} {
		is[k] = true
	}
	return is
}()

// Features describes every feature.
var Features = [featureCount]Feature{
	Blend:         {"blend", "sequence", "chance by what followed the last 4, 3, 2, 1 tools, mixed with how often each is used, ln"},
	Order1:        {"order1", "sequence", "share of what followed the last tool, ln"},
	Order2:        {"order2", "sequence", "share of what followed the last two tools, ln"},
	Order3:        {"order3", "sequence", "share of what followed the last three tools, ln"},
	Skip:          {"skip", "sequence", "share of what came two steps after the tool before the last, ln"},
	Later:         {"later", "sequence", "mean share of what came later in tasks with the tools used so far, ln"},
	LaterMost:     {"later_most", "sequence", "the largest of these shares, ln"},
	Linked:        {"linked", "sequence", "share of what outputs of the tools used so far went to, the last one first, ln"},
	TailNext:      {"tail_next", "sequence", "votes of past tasks with the same rare tools, for what came after the last tool, ln"},
	TailRest:      {"tail_rest", "sequence", "votes of these tasks, for all that they used, ln"},
	Last:          {"last", "sequence", "1 for the last tool itself"},
	Before:        {"before", "sequence", "1 for the tool before the last"},
	Used:          {"used", "sequence", "times used so far"},
	Recency:       {"recency", "sequence", "1/steps since it was used"},
	Position:      {"position", "sequence", "steps so far"},
	Distinct:      {"distinct", "sequence", "different tools so far"},
	Evidence1:     {"evidence1", "sequence", "ln(1 + times the last tool was followed by any)"},
	Evidence2:     {"evidence2", "sequence", "ln(1 + times the last two were)"},
	Ridge:         {"ridge", "request", "ridge regression of tools on the words of past requests"},
	Place:         {"place", "request", "ln(1 + place by that regression)"},
	Votes:         {"votes", "request", "Σ similarity of those of the 10 nearest past requests that used it, by the Σ of all + .5"},
	Copies:        {"copies", "request", "the same of the 30 nearest with similarity⁴ and .005, so that near copies decide"},
	Best:          {"best", "request", "similarity of the nearest request that used it"},
	NearSet:       {"near_set", "request", "1 if the nearest request used it"},
	NearNext:      {"near_next", "request", "share of what came after the last tool in near requests, ln"},
	Associated:    {"associated", "request", "Σ over words of ln(how much more often than by chance a word goes with it), by √words"},
	Strongest:     {"strongest", "request", "the largest of these"},
	BesideMost:    {"beside_most", "request", "largest share of tasks with it, among tasks of a tool that the request needs, times that need"},
	BesideMean:    {"beside_mean", "request", "mean of these, weighted by need"},
	Found:         {"found", "request", "ln of the share that the ranker for requests gives it; only for plans"},
	Text:          {"text", "text", "match of the request with its text: words, thesaurus, word vectors, spelling"},
	TextShare:     {"text_share", "text", "the same by the best match"},
	Vectors:       {"vectors", "text", "cosine of the word vectors of request and text"},
	VectorsShare:  {"vectors_share", "text", "the same by the best"},
	Match:         {"match", "text", "1 - (1 - text)·(1 - .3·vectors)·(1 - .3·endpoint)·(1 - .2·need): the text term of the reference"},
	ClauseText:    {"clause_text", "text", "best match of a clause of the request"},
	ClauseVectors: {"clause_vectors", "text", "best cosine of a clause"},
	Name:          {"name", "text", "share of the words of its name that the request has"},
	Alike:         {"alike", "text", "cosine of the word vectors of its text and that of the last tool"},
	Alpha:         {"alpha", "graph", "weight of text against structure, max(.5, 1 - 2·density); 1 without a context"},
	Hybrid:        {"hybrid", "graph", "alpha·match + (1 - alpha)·graph"},
	Graph:         {"graph", "graph", "1 if an edge joins it with a tool used so far, else min(AA/2, 1)"},
	Cooccurrence:  {"cooccurrence", "graph", "confidence of the edge from the last tool"},
	Community:     {"community", "graph", "confidence that a member of the community of the last tool comes next"},
	AdamicAdar:    {"adamic_adar", "graph", "min(AA/2, 1) with the last tool"},
	PageRank:      {"pagerank", "graph", "PageRank of the graph of transitions, by the largest"},
	HyperRank:     {"hyper_pagerank", "graph", "PageRank of the hypergraph of tools and capabilities, by the largest"},
	Cluster:       {"cluster", "graph", "share of the tools used so far that are in its spectral cluster"},
	Reference:     {"reference", "graph", "score of the reference: tool score, or rank score with a request"},
	SameServer:    {"same_server", "catalog", "1 on the server of the last tool"},
	ServerUsed:    {"server_used", "catalog", "1 on the server of a tool used so far"},
	ServerNeed:    {"server_need", "catalog", "sum of needs on its server"},
	Required:      {"required", "catalog", "largest need of a tool that requires it at any depth"},
	RequiredText:  {"required_text", "catalog", "largest match of the request with a tool that requires it, by the best match"},
	Direct:        {"direct", "catalog", "largest need of a tool that requires it itself"},
	OwnRequired:   {"own_required", "catalog", "mean need of what it requires"},
	Popularity:    {"popularity", "familiarity", "share of all steps, ln"},
	Tasks:         {"tasks", "familiarity", "ln(1 + tasks that use it)"},
	Nearest:       {"nearest", "familiarity", "similarity of the nearest past request"},
	Known:         {"known", "familiarity", "share of the words of the request that past requests have"},
	Size:          {"size", "familiarity", "mean number of tools of the 10 nearest requests, weighted by similarity"},
	Left:          {"left", "familiarity", "the same, less the tools used so far"},
	Total:         {"total", "familiarity", "sum of needs of all tools"},
	BestText:      {"best_text", "familiarity", "best match of any text"},
	Length:        {"length", "familiarity", "ln(1 + words of the request)"},
	HasRequest:    {"has_request", "familiarity", "1 with a request"},
}
