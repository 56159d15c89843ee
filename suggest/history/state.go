package history

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"waymark/catalog"
	"waymark/episodic"
)

// State holds all counts so far. It has one owner and no lock. Its methods fold events in the order of
// the log; the same events in the same order produce the same state. [State.Freeze] returns a snapshot
// for readers at the cost of what changed.
type State struct {
	ids   []string       // every id seen so far, in order of first appearance
	index *sync.Map      // id → position, an int32; models share it and ignore positions added after their snapshot
	out   [][]transition // by source node, sorted by target node; self-loops included
	own   []bool         // by source node: no image shares the row of out, so it may be changed in place
	uses  []Usage        // by node
	gone  map[int32]bool // nodes removed from the catalog and not added again

	tools   map[string]*Schemas
	caps    map[string]catalog.Capability
	view    *Catalog // view of tools and caps; nil after a change
	aliases catalog.Aliases

	memory  *episodic.Memory
	past    episodic.List[Episode] // totals.episodes entries
	sources sourceTable
	totals  Totals
	growing *lru.Cache[string, *grown]
	wires   *Wiring

	shown shown
}

// A sourceTable assigns numbers to the sources of episodes and counts their evidence.
type sourceTable struct {
	source   map[string]int32
	names    []string              // sources, in order of first appearance
	bySource episodic.List[uint64] // number of episodes, by source
	evidence []evidence            // by source

	treatments Treatments
}

// transition holds the counts of one ordered pair of nodes. Snapshots store its exported fields.
type transition struct {
	To     int32
	Only   int32   // 1 + the source with a key if only it reports the pair; 0: several sources do, or the operator's own
	Halves uint64  // Σ weight, in halves so that the sum is exact
	Count  uint64  // observations that count
	Within uint64  // observations within the limits of their sources
	By     []claim // claims of sources with a key, by source; copied before each change, because images share it
}

// Usage counts how a node was used.
type Usage struct {
	Steps uint64 // times called
	Ends  uint64 // times it ended an episode
	Roots uint64 // times it had no preceding step
	Only  int32  // 1 + the source with a key if no other source has used it; else 0
}

// Episodes is a snapshot of the N past episodes, in order.
type Episodes struct {
	episodic.View[Episode]
	N int
}

// Episode returns the i-th episode.
func (p Episodes) Episode(i int) *Episode { return p.Ref(int32(i)) }

// Episode holds the part of an episode that recall and learning need.
type Episode struct {
	Intent       string
	Nodes        []int32   // of the steps, in topological order
	Before       [][]int32 // of each step, its direct predecessors, ascending; nil: each step follows the one before
	Time         int64     // Unix milliseconds, 0 if unknown
	StepOutcomes []uint8   // outcome of each step, encoded as Outcome; nil: none is known
	Source       int32
	Outcome      uint8 // index into outcomes
	Limited      bool  // some of its transitions are not counted, because its source reports them too often
}

// Failed reports whether the episode failed as a whole.
func (p *Episode) Failed() bool { return outcomes[p.Outcome] == episodic.Failure }

// StepOutcome returns the outcome of step i.
func (p *Episode) StepOutcome(i int) episodic.Outcome {
	if p.StepOutcomes == nil {
		return episodic.Unknown
	}
	return outcomes[p.StepOutcomes[i]]
}

// Parents returns the direct predecessors of each step.
func (p *Episode) Parents() [][]int32 {
	if p.Before != nil {
		return p.Before
	}
	parents, chain := make([][]int32, len(p.Nodes)), make([]int32, len(p.Nodes))
	for i := 1; i < len(p.Nodes); i++ {
		chain[i-1] = int32(i - 1)
		parents[i] = chain[i-1 : i : i]
	}
	return parents
}

// comesAfter returns [Episode.Before] for steps in the given order. before is as in [episodic.Episode.Before].
func comesAfter(order []int, before [][]int) [][]int32 {
	place, after, chain := make([]int32, len(order)), make([][]int32, len(order)), true
	for at, i := range order {
		place[i] = int32(at)
	}
	for at, i := range order {
		for _, b := range before[i] {
			after[at] = append(after[at], place[b])
		}
		slices.Sort(after[at])
		after[at] = slices.Compact(after[at])
		chain = chain && len(after[at]) == min(at, 1) && (at == 0 || after[at][0] == int32(at-1))
	}
	if chain {
		return nil
	}
	return after
}

// Totals are sums over all episodes. Outcomes counts outcomes of whole episodes, StepOutcomes those of their steps.
type Totals struct {
	Episodes, Steps        uint64
	Outcomes, StepOutcomes [3]uint64 // unknown, success, failure
}

// NewState returns an empty state.
func NewState() *State {
	return &State{
		index: new(sync.Map), gone: map[int32]bool{},
		tools: map[string]*Schemas{}, caps: map[string]catalog.Capability{},
		memory: episodic.NewMemory(), sources: sourceTable{source: map[string]int32{}}, growing: newGrowing(),
		wires: &Wiring{}, shown: shown{scratch: new(sync.Pool), touched: map[int32]bool{}},
	}
}

// WithCatalog returns a new state to which the tools and then the capabilities are added in their order.
func WithCatalog(tools []catalog.Tool, capabilities []catalog.Capability) *State {
	s := NewState()
	for _, t := range tools {
		s.PutTool(t)
	}
	for _, c := range capabilities {
		s.PutCapability(c)
	}
	return s
}

// node returns the number of an id and numbers a new id. A number is never reused, even if the catalog drops the id.
func (s *State) node(id string) int32 {
	if i, ok := find(s.index, s.ids, id); ok {
		return i
	}
	i := int32(len(s.ids))
	s.ids = append(s.ids, id)
	s.index.Store(id, i)
	s.out, s.own = append(s.out, nil), append(s.own, true)
	s.uses = append(s.uses, Usage{})
	if hostTools()[id] != nil {
		s.view = nil
	}
	return i
}

// find returns the position of an id in ids. The index may hold later positions, for which find reports false.
func find(index *sync.Map, ids []string, id string) (int32, bool) {
	at, ok := index.Load(id)
	if !ok {
		return 0, false
	}
	i := at.(int32)
	return i, int(i) < len(ids)
}

// PutTool adds a tool or replaces it.
func (s *State) PutTool(t catalog.Tool) {
	delete(s.gone, s.node(t.ID))
	s.tools[t.ID] = &Schemas{Tool: t}
	s.view = nil
}

// PutCapability adds a capability or replaces it.
func (s *State) PutCapability(c catalog.Capability) {
	delete(s.gone, s.node(c.ID))
	s.numberTools(c)
	s.caps[c.ID] = c
	s.view = nil
}

// Remove deletes a tool or capability from the catalog. Its history is kept, but it is not suggested.
func (s *State) Remove(id string) {
	delete(s.tools, id)
	delete(s.caps, id)
	s.gone[s.node(id)] = true
	s.view = nil
}

// Seen returns the number of ids seen so far, in the catalog or in episodes.
func (s *State) Seen() int { return len(s.ids) }

// Tool returns the current catalog entry of a tool.
func (s *State) Tool(id string) (catalog.Tool, bool) {
	if t, ok := s.tools[id]; ok {
		return t.Tool, true
	}
	return catalog.Tool{}, false
}

// Tools returns the tools that were added to the catalog, sorted by id; the caller must not change them.
func (s *State) Tools() []catalog.Tool { return s.catalog().Own }

// Capabilities returns the capabilities of the catalog, sorted by id; the caller must not change them.
func (s *State) Capabilities() []catalog.Capability { return s.catalog().Capabilities }

// Capability returns the current catalog entry of a capability.
func (s *State) Capability(id string) (catalog.Capability, bool) { c, ok := s.caps[id]; return c, ok }

// Resolve returns the canonical id of a spelling according to the catalog.
func (s *State) Resolve(spelling string) (string, error) {
	return s.catalog().Resolver.Resolve(spelling)
}

// Record folds one whole episode.
func (s *State) Record(e *episodic.Episode) {
	r := recording{e, s.sourceOf(e), s.nodesOf(e), map[pair]bool{}}
	order, before, at := e.Order(), e.Before(), s.begin(e, r.source)
	values, limited := make([]Values, len(e.Steps)), false
	for _, x := range order {
		limited = s.observe(&r, x, before[x]) || limited
		values[x] = ValuesOf(e.Steps[x].Inputs, e.Steps[x].Outputs)
		s.observeCall(at, x, r.nodes, values, before)
	}
	if len(order) > 0 {
		s.uses[r.nodes[order[len(order)-1]]].Ends++
	}
	past := pastOf(e, r.nodes, r.source, order, before)
	past.Limited = limited
	s.past.Set(at, past)
}

// nodesOf returns the nodes of the steps of an episode.
func (s *State) nodesOf(e *episodic.Episode) []int32 {
	nodes := make([]int32, len(e.Steps))
	for i := range e.Steps {
		nodes[i] = s.node(e.Steps[i].Tool)
	}
	return nodes
}

// begin counts an episode without its steps and returns its index among the past episodes.
func (s *State) begin(e *episodic.Episode, source int32) int32 {
	s.sources.bySource.Set(source, s.sources.bySource.At(source)+1)
	s.totals.Episodes++
	s.totals.Outcomes[outcomeIndex(e.Outcome)]++
	return int32(s.totals.Episodes) - 1
}

// A recording is an episode whose steps are being counted.
type recording struct {
	*episodic.Episode
	source int32
	nodes  []int32       // of the steps
	seen   map[pair]bool // transitions of the episode so far
}

// observe counts step x of an episode; before lists its direct predecessors. It reports whether the source reports one
// of the transitions to the step too often.
func (s *State) observe(r *recording, x int, before []int) (limited bool) {
	step, node := &r.Steps[x], r.nodes[x]
	s.totals.Steps++
	s.totals.StepOutcomes[outcomeIndex(step.Outcome)]++
	s.usedBy(node, r.source)
	s.shown.touched[node] = true
	s.uses[node].Steps++
	prior := make([]int32, len(before))
	for i, b := range before {
		prior[i] = r.nodes[b]
		limited = s.follow(r, b, x) || limited
	}
	s.memory.Observe(node, prior, step.Outcome, r.Time, r.source)
	if len(before) == 0 {
		s.uses[node].Roots++
	}
	return limited
}

// follow counts the transition between two steps of an episode, unless one of them failed. It reports whether the
// source reports the transition too often.
func (s *State) follow(r *recording, from, to int) (limited bool) {
	if r.Steps[from].Outcome == episodic.Failure || r.Steps[to].Outcome == episodic.Failure {
		return false
	}
	p, halves := pair{r.nodes[from], r.nodes[to]}, uint64(1) // as [episodic.Transition] counts them
	if r.Steps[to].DependsOn != nil {
		halves = 2
	}
	limited = !s.count(p, halves, r.source, r.seen[p])
	r.seen[p] = true
	return limited
}

// pastOf returns the part of an episode that recall and learning need. nodes are the nodes of its steps.
func pastOf(e *episodic.Episode, nodes []int32, source int32, order []int, before [][]int) Episode {
	past := Episode{
		Intent: e.Intent, Nodes: make([]int32, len(order)), Before: comesAfter(order, before),
		Source: source, Outcome: uint8(outcomeIndex(e.Outcome)),
	}
	if !e.Time.IsZero() {
		past.Time = e.Time.UnixMilli()
	}
	for at, i := range order {
		past.Nodes[at] = nodes[i]
		if o := outcomeIndex(e.Steps[i].Outcome); o > 0 {
			if past.StepOutcomes == nil {
				past.StepOutcomes = make([]uint8, len(order))
			}
			past.StepOutcomes[at] = uint8(o)
		}
	}
	return past
}

// episodes returns a snapshot of the past episodes.
func (s *State) episodes() Episodes { return Episodes{s.past.Freeze(), int(s.totals.Episodes)} }

// Knows reports whether an id was ever seen.
func (s *State) Knows(id string) bool { _, ok := find(s.index, s.ids, id); return ok }

// KnowsServer reports whether a tool of a server was ever seen.
func (s *State) KnowsServer(name string) bool {
	return slices.ContainsFunc(s.ids, func(id string) bool { return strings.HasPrefix(id, name+":") })
}

// Feedback folds the result of a suggestion. A known outcome counts as an observation of the id directly
// after the last element of the context.
func (s *State) Feedback(context []string, id string, o episodic.Outcome, at time.Time, source string) {
	before := []int32{}
	if len(context) > 0 {
		before = append(before, s.node(context[len(context)-1]))
	}
	s.memory.Observe(s.node(id), before, o, at, s.sourceOf(&episodic.Episode{Source: source}))
}

// count counts one transition and reports whether the rest of its episode counts as well. again is true if the episode
// contained the transition before.
func (s *State) count(p pair, halves uint64, source int32, again bool) bool {
	from, to := p.from, p.to
	s.shown.touched[from] = true
	if !s.own[from] {
		s.out[from], s.own[from] = slices.Clone(s.out[from]), true
	}
	row := s.out[from]
	i, ok := slices.BinarySearchFunc(row, to, func(t transition, to int32) int { return cmp.Compare(t.To, to) })
	if !ok {
		row = slices.Insert(row, i, transition{To: to})
		s.out[from] = row
	}
	t := &row[i]
	a := s.admit(source, t, again)
	if a.within {
		t.Within++
	}
	if a.counted {
		t.Halves += halves
		t.Count++
	}
	return a.restCounts
}

// credential is part of the name of every source that presented a key, directly or through a collector. All other
// sources are the operator's own: the command line, the hook, the gateway, and callers without a key on this machine.
const credential = "key:"

// sourceID returns the number of a source. Numbers are assigned in order of first appearance.
func (s *State) sourceID(name string) int32 {
	id, ok := s.sources.source[name]
	if !ok {
		id = int32(len(s.sources.names))
		s.sources.source[name] = id
		s.sources.names, s.sources.evidence = append(s.sources.names, name), append(s.sources.evidence, evidence{})
		s.trust(id)
	}
	return id
}

func (s *State) trust(source int32) {
	if s.trusted(source) {
		s.memory.Trust(source)
	}
}

// outcomeIndex returns the position of an outcome in Totals: 0 unknown, 1 success, 2 failure.
func outcomeIndex(o episodic.Outcome) int {
	switch o {
	case episodic.Success:
		return 1
	case episodic.Failure:
		return 2
	}
	return 0
}

// outcomes lists the outcomes in the order of outcomeIndex.
var outcomes = [3]episodic.Outcome{episodic.Unknown, episodic.Success, episodic.Failure}

// Episodes returns the number of counted episodes.
func (s *State) Episodes() int { return int(s.totals.Episodes) }
