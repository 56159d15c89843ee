package suggest

import (
	"maps"
	"slices"
	"sync"

	"waymark/episodic"
	"waymark/internal/numeric"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// recent holds the data of the counts that the measures do not include yet: new or changed texts of tools and
// capabilities, and new requests. The next build indexes them with all others. Until then they are searched in
// addition to the index, so that answers count them as soon as they are acknowledged:
//
//	counts ──┬─▶ measures (last build) ──▶ texts, past requests ───────┐
//	         └─▶ recent (since then) ────▶ texts beside, requests ─────┴─▶ answers
//
// It is a function of the counts and the measures, so equal logs give equal answers. It is immutable.
type recent struct {
	documents map[int32]semantic.Document // by node
	node      []int32                     // nodes of documents, ascending
	text      func() *semantic.Matcher    // matcher of documents, built on first use
	requests  *semantic.Requests          // the requests of the build, then those since the build
	episode   []int32                     // episodes of the requests since the build
}

// recentBuilder extends recent from one set of counts to the next.
type recentBuilder struct {
	mu       sync.Mutex
	nodes    int              // number of ids that now includes
	episodes int              // number of episodes that now includes
	view     *history.Catalog // the catalog that now includes
	now      *recent
}

// recentOf returns the data of c that the measures do not include. For successive counts it processes only the
// additions.
func (m *Measures) recentOf(c *history.Counts) *recent {
	b := &m.recent
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.measured == nil || b.now == nil && len(c.IDs) == m.nodes && c.Past.N == m.episodes && c.Catalog == m.measured {
		return &recent{} // c are the measured counts
	}
	// On the first call, or if the counts are older than the last ones, start from the measured counts.
	if b.now == nil || len(c.IDs) < b.nodes || c.Past.N < b.episodes {
		b.nodes, b.episodes, b.view, b.now = m.nodes, m.episodes, m.measured, &recent{requests: m.texts.requests()}
	}
	now := *b.now
	if changed := c.Catalog.ChangedSince(b.view); len(changed) > 0 || len(c.IDs) > b.nodes {
		now.documents = maps.Clone(now.documents)
		if now.documents == nil {
			now.documents = map[int32]semantic.Document{}
		}
		for i := b.nodes; i < len(c.IDs); i++ {
			now.documents[int32(i)] = c.Document(c.IDs[i])
		}
		for _, id := range changed {
			n, ok := c.Find(id)
			if !ok || int(n) >= b.nodes {
				continue
			}
			d := c.Document(id)
			if now.documents[n] = d; history.Of(m.texts.tool, n, -1) >= 0 && d == m.measured.Document(id) { // as indexed
				delete(now.documents, n)
			}
		}
		now.node = slices.Sorted(maps.Keys(now.documents))
		var documents []semantic.Document
		for _, n := range now.node {
			documents = append(documents, now.documents[n])
		}
		now.text = sync.OnceValue(func() *semantic.Matcher { return m.texts.texts().Matcher().Beside(documents) })
	}
	var requests []string
	for i := b.episodes; i < c.Past.N; i++ {
		if intent := c.Past.Episode(i).Intent; intent != "" && !c.Past.Episode(i).Limited {
			requests = append(requests, intent)
			now.episode = append(now.episode, int32(i))
		}
	}
	if len(requests) > 0 {
		now.requests = now.requests.With(requests)
	}
	b.nodes, b.episodes, b.view, b.now = len(c.IDs), c.Past.N, c.Catalog, &now
	return b.now
}

// changed reports whether the text of a node differs from that in the text index, or is not in the index.
func (r *recent) changed(n int32) bool { _, ok := r.documents[n]; return ok }

// hasStemOutsideIndex reports whether a past request, or a text since the build, contains a word with this stem.
func (m *Model) hasStemOutsideIndex(stem string) (found bool) {
	for _, c := range m.unindexed() {
		c.Having(stem, func(int32) { found = true })
	}
	return found
}

// unindexed returns the collections that are not in the index of tool texts: requests, and texts since the build.
func (m *Model) unindexed() []semantic.Collection {
	requests := m.recent.requests
	if requests == nil {
		requests = m.measures.texts.requests()
	}
	all := []semantic.Collection{requests}
	if len(m.recent.node) > 0 {
		all = append(all, m.recent.text())
	}
	return all
}

// any reports whether there are texts or requests that the last build does not include.
func (r *recent) any() bool { return len(r.node)+len(r.episode) > 0 }

// Weights of evidence from after the build, and bounds of its use. Chosen, not measured. A request adds recentShare of
// its similarity to the text match of its tools, as much as the same request adds in a build if no other has its words.
// For an intent, the whole text match of a new tool counts, not only recentText of it.
const (
	recentRequests = 10 // most similar requests that are read, as many as of those in the build
	recentShare    = .6 // share of the similarity of a request that counts as text match of its tools
	recentTrust    = .8 // share of the similarity of a request that counts as probability of its tools
	recentText     = .5 // share of the text match of a new tool that counts as probability of the next step
	recentMass     = 2  // extra observations in the weight of a learned distribution; see renewed
	recentCopy     = .5 // similarity from which a request counts as the same need
)

// matchRecent sets the matches of texts from after the build, and raises those of the tools used for similar requests
// since then. It reports whether it found any.
func (q *query) matchRecent() (found bool) {
	r := q.recent
	if !r.any() || q.mode != Active {
		return false
	}
	if len(r.node) > 0 {
		x := r.text().Match(q.wording.intent)
		defer x.Close()
		for d, n := range r.node {
			if score := x.Of(int32(d)); score > 0 && q.Live(n) {
				q.addCandidate(n)
				q.nodes.semantic[n] = score
				found = true
			}
		}
	}
	for _, t := range q.recentTasks().tools {
		q.consider(t.id)
		q.nodes.semantic[t.id] = 1 - float64((1-q.nodes.semantic[t.id])*(1-float64(recentShare*t.similarity)))
		found = true
	}
	return found
}

// recentTasks are the tasks since the build whose requests are most similar to the intent.
type recentTasks struct {
	known   bool    // the other fields are filled in
	tasks   []alike // episodes, the most similar first
	tools   []alike // nodes used in these tasks
	nearest float64 // the highest similarity
}

// alike is a task, or a tool of one, and the cosine of the request of the task with the intent, the highest if there
// are several tasks.
type alike struct {
	id         int32
	similarity float64
}

// recentTasks computes the recent tasks once per query. It leaves out failed tasks, and tasks of a limited key, whose
// evidence other sources must confirm in the next build.
func (q *query) recentTasks() *recentTasks {
	u := &q.used
	if u.known {
		return u
	}
	*u = recentTasks{known: true, tasks: u.tasks[:0], tools: u.tools[:0]}
	if q.mode != Active || !q.recent.any() {
		return u
	}
	past := len(q.measures.texts.recalled)
	for _, h := range q.recent.requests.Nearest(q.wording.intent, recentRequests, int32(past)) {
		episode := q.recent.episode[int(h.Doc)-past]
		e := q.Past.Episode(int(episode))
		if e.Failed() || q.Limited(e) {
			continue
		}
		u.nearest = max(u.nearest, h.Score)
		u.tasks = append(u.tasks, alike{episode, h.Score})
		for _, raw := range e.Nodes {
			n := q.Canonical[raw]
			if q.Live(n) && !slices.ContainsFunc(u.tools, func(t alike) bool { return t.id == n }) {
				u.tools = append(u.tools, alike{n, h.Score})
			}
		}
	}
	return u
}

// newer returns the evidence for a node from after the build, as a probability. The learned models were fitted
// without it. The strongest of these counts:
//
//	for an intent     recentTrust · similarity of a recent request that used the node
//	                  match of the node's text, if the text is new or has changed
//	after a context   recentTrust · similarity of a recent request in which the node came right after the last step
//	                  recentText · match of the node's text, if the node is new
//	                  weight of the transition last → node, if the node is new
func (q *query) newer(n int32) float64 {
	p := 0.0
	text := q.mode == Active && q.nodes.stamp[n] == q.nodes.epoch
	if q.whole() {
		for _, t := range q.recentTasks().tools {
			if t.id == n {
				p = float64(recentTrust * t.similarity)
			}
		}
		if text && q.recent.changed(n) {
			p = max(p, min(Cap, q.nodes.semantic[n]))
		}
		return p
	}
	for _, t := range q.recentTasks().tasks {
		e := q.Past.Episode(int(t.id))
		for i := 1; i < len(e.Nodes); i++ {
			if q.Canonical[e.Nodes[i]] == n && q.Canonical[e.Nodes[i-1]] == q.last {
				p = max(p, float64(recentTrust*t.similarity))
			}
		}
	}
	if !q.unlearned(n) {
		return p
	}
	if text {
		p = max(p, float64(recentText*q.nodes.semantic[n]))
	}
	weight := 0.0
	if q.last != episodic.NoTool {
		weight, _ = q.transition(q.last, n)
	}
	return max(p, weight)
}

// unlearned reports whether a node is newer than the build, so that nothing was learned about it.
func (m *Model) unlearned(n int32) bool { return int(n) >= m.measures.nodes }

// staleness lists the data of a node that only the next build updates.
func (m *Model) staleness(n int32) []string {
	switch {
	case m.unlearned(n):
		return []string{"it was met after the last build: importance, communities, clusters and learned weights do not count it yet"}
	case m.recent.changed(n):
		return []string{"its text changed after the last build: learned weights are of the text before"}
	}
	return nil
}

// continued reports whether steps were counted since the build, in new or in growing episodes.
func (m *Model) continued() bool { return m.Totals.Steps > m.measures.steps }

// since returns the number of transitions from the last step that were learned in the build, and since then. Both are 0
// for a whole task or a search, without new steps, and if the models were learned from a part of the history only.
func (q *query) since() (before, after float64) {
	if q.whole() || !q.continued() || q.learned.older {
		return 0, 0
	}
	if t := history.Of(q.learned.tool, q.last, -1); t >= 0 {
		before = q.learned.ranker.Followed(t)
	}
	return before, max(0, float64(q.followedBy(q.last))-before)
}

// sinceTo returns the number of transitions from the last step to a node since the build.
func (q *query) sinceTo(n int32) float64 {
	if _, after := q.since(); after == 0 {
		return 0
	}
	_, count := q.transition(q.last, n)
	before := 0.0
	if last, t := history.Of(q.learned.tool, q.last, -1), history.Of(q.learned.tool, n, -1); last >= 0 && t >= 0 {
		before = q.learned.ranker.FollowedBy(last, t)
	}
	return max(0, float64(count)-before)
}

// renewed returns a learned candidate updated by evidence from after the build. Transitions since then count as
// further observations of a distribution with the weight of recentMass + before observations:
//
//	p' = (p·(before + recentMass) + since(n)) / (before + recentMass + since)
//
// and other evidence then gives 1 - (1-p')·(1-newer). The score changes with the log-odds (for an intent) or with
// the logarithm of the probability (after a context).
func (q *query) renewed(c candidate) candidate {
	newer, p := q.newer(c.node), c.p
	before, after := q.since()
	if newer == 0 && after == 0 {
		return c
	}
	p = (float64(p*(before+recentMass)) + q.sinceTo(c.node)) / (before + recentMass + after)
	p = 1 - float64((1-p)*(1-newer))
	c.newer = q.scoreOf(p) - c.score
	c.score, c.p = c.score+c.newer, p
	return c
}

// scoreOf converts a probability to the scale of learned scores, so that the probability of the best candidate gives
// its score.
func (q *query) scoreOf(p float64) float64 {
	if len(q.ranking.Ranked) == 0 {
		return q.scale(p)
	}
	return q.ranking.Ranked[0].Score - q.scale(q.ranking.Chances[0]) + q.scale(p)
}

func (q *query) scale(p float64) float64 {
	p = min(max(p, 1e-9), 1-1e-9)
	if q.whole() {
		return numeric.Ln(p / (1 - p))
	}
	return numeric.Ln(p)
}

// recentCandidates visits the tools and capabilities with evidence only from after the build.
func (q *query) recentCandidates(visit func(c candidate)) {
	if !q.recent.any() && !q.continued() {
		return
	}
	for _, n := range q.nodes.candidateNodes {
		if q.rankedDirectly(n) || q.exhausted(n) || !q.Live(n) {
			continue
		}
		if c := q.renewed(candidate{node: n, formula: FormulaLogistic, score: q.scoreOf(0)}); c.p > 0 {
			c.newer = c.score
			visit(c)
		}
	}
}
