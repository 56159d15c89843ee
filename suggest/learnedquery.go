package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest/history"
	"waymark/suggest/learn/rank"
)

// decide reports whether the learned models answer a request for the given profile; empty stands for the default.
func (q *query) decide(profile string) (learned bool, err error) {
	q.profile = ProfileSeed
	switch on := !q.measures.seed; profile {
	case "":
		return on, nil
	case ProfileSeed:
		return false, nil
	case ProfileLearned:
		if !on {
			err = &RequestError{Invalid, "profile", "the learned profile is off in this workspace; use seed"}
		}
		return on, err
	}
	return false, unknownProfile(profile)
}

func unknownProfile(profile string) error {
	return &RequestError{Invalid, "profile", fmt.Sprintf("unknown profile %q: want learned or seed", profile)}
}

// modelInfo returns the model information with the profile that answered.
func (q *query) modelInfo() ModelInfo {
	info := q.info
	info.Profile = q.profile
	return info
}

// fitted returns the learned models if they are wanted and fitted, else models with which the reference ranks.
func (q *query) fitted(wanted bool) (l *learned, is bool) {
	if wanted {
		if l = q.measures.learning.get(); l != nil && !l.provisional {
			q.profile = ProfileLearned
			return l, true
		}
		q.warn(WarnProvisional)
	}
	return q.measures.unfitted(), false
}

// ask ranks the next steps or, in a search, the tools that match the words. It ranks by the learned models or, for
// profile seed and until a fit is done, by the reference.
func (q *query) ask(profile string, vector []float32) error {
	wanted, err := q.decide(profile)
	if err != nil || q.mode == Exploration {
		return err
	}
	l, fitted := q.fitted(wanted)
	q.contextTools = q.contextTools[:0]
	for _, n := range q.context {
		if t := history.Of(l.tool, n, -1); t >= 0 {
			q.contextTools = append(q.contextTools, t)
		}
	}
	if q.wording.intent == "" && (!fitted || len(q.contextTools) == 0) { // only the graph has evidence for this context
		q.profile = ProfileSeed
		q.adopt(l, nil)
		return nil
	}
	q.reference = !fitted
	s := q.situation(vector, len(q.kinds) > 0, func(t int32) bool { return q.passes(l.node[t]) })
	s.Context, s.Around = q.contextTools, q.around
	answer := l.ranker.Next
	switch {
	case q.reference:
		answer = l.ranker.Reference
	case q.isSearch:
		answer = l.ranker.Find
	}
	q.adopt(l, answer(s))
	return nil
}

// situation returns the input for package rank. The filter allowed is set only if the query is narrowed, has patterns
// of allowed ids or has exclusions.
func (q *query) situation(vector []float32, narrowed bool, allowed func(tool int32) bool) rank.Situation {
	q.nearByEndpoint(vector)
	s := rank.Situation{Intent: q.wording.intent, Near: q.wording.endpoint}
	if narrowed || len(q.allow) > 0 || q.withheld != nil {
		s.Allowed = allowed
	}
	return s
}

// adopt makes these nodes candidates: the ranked ones; those near the context in the graph, which may be newer than the
// build; the capabilities that use tools of the context; and those with evidence from after the build.
func (q *query) adopt(l *learned, ranking *rank.Answer) {
	q.learned, q.ranking = l, ranking
	if !q.reference {
		ranking.Adjust(func(t int32) (adds, factor float64) { return q.outcomes(l.node[t]) })
	}
	var near []int32
	switch {
	case q.last == episodic.NoTool:
	case q.reference:
		near = q.around.Near(q.mode == Active)
	default:
		near, _ = q.Graph.Out(q.last)
		near = append(slices.Clone(near), q.last)
	}
	for _, v := range near {
		q.addCandidate(v)
	}
	for _, u := range q.distinct {
		for _, c := range q.ToolCapabilities(u) {
			q.addCandidate(c)
		}
	}
	for _, n := range q.nodes.candidateNodes {
		q.nodes.semantic[n] = q.match(n)
	}
	best := int32(-1)
	if ranking == nil {
		return
	}
	for _, r := range ranking.Ranked {
		n := l.node[r.Tool]
		q.consider(n)
		if best < 0 && q.Kind(n) == catalog.KindTool {
			best = n
		}
	}
	if q.reference && q.last == episodic.NoTool {
		q.remember()
	}
	found := q.matchRecent()
	if q.mode == Active && !found && q.value(rank.BestText)+q.value(rank.Known)+q.value(rank.Nearest) == 0 {
		q.warn(WarnNoIntentMatch)
	}
	if q.reference && best >= 0 { // the tool with the best match, including tools used for similar requests
		for _, n := range q.nodes.candidateNodes {
			if q.Kind(n) == catalog.KindTool && cmpFloatID(q.nodes.semantic[n], q.nodes.semantic[best], q.IDs[best], q.IDs[n]) > 0 {
				best = n
			}
		}
	}
	if best >= 0 && len(q.context) == 0 {
		q.cluster = q.Model.cluster(best)
	}
}

const (
	nearTasks   = 10 // past tasks with the most similar requests
	recallTrust = 3  // a mean similarity of ⅓ gives full weight, because requests for the same thing share few words
)

// remember raises the text term of profile seed for tools used in the past tasks with the most similar requests. If the
// intent was asked before in the same words, only the tasks with these words count. With support(n) the share of the
// tasks that used n, weighted by similarity,
//
//	semantic' = 1 - (1 - semantic)·(1 - min(1, 3·mean similarity)·support(n))
func (q *query) remember() {
	near := slices.Clone(q.recentTasks().tasks)
	for _, h := range q.measures.texts.requests().Nearest(q.wording.intent, nearTasks, 0) {
		near = append(near, alike{q.measures.texts.recalled[h.Doc], h.Score})
	}
	slices.SortFunc(near, func(a, b alike) int { return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.id, b.id)) })
	near = slices.DeleteFunc(near[:min(nearTasks, len(near))], func(t alike) bool { return q.Past.Episode(int(t.id)).Failed() })
	if len(near) > 0 && near[0].similarity >= verbatim {
		near = slices.DeleteFunc(near, func(t alike) bool { return t.similarity < verbatim })
	}
	similarity, support := 0.0, map[int32]float64{}
	for _, t := range near {
		similarity += t.similarity
		var used []int32
		for _, raw := range q.Past.Episode(int(t.id)).Nodes {
			n, known := q.Canonical[raw], int(t.id) < q.measures.episodes
			if !slices.Contains(used, n) && (!known || q.measures.vouched(int(t.id), n)) {
				used = append(used, n)
				support[n] += t.similarity
			}
		}
	}
	trust := min(1, float64(recallTrust*similarity)/float64(max(1, len(near))))
	for _, n := range slices.Sorted(maps.Keys(support)) {
		q.consider(n)
		q.nodes.semantic[n] = 1 - float64((1-q.nodes.semantic[n])*(1-float64(trust*support[n])/similarity))
	}
}

// consider makes a node a candidate, with its text match, if it is not one yet.
func (q *query) consider(n int32) {
	if q.nodes.stamp[n] != q.nodes.epoch {
		q.addCandidate(n)
		q.nodes.semantic[n] = q.match(n)
	}
}

// match returns the match of the text of a node with the intent. It is 0 if the node is not ranked or its text is newer
// than the build.
func (q *query) match(n int32) float64 {
	if q.ranking == nil || q.recent.changed(n) {
		return 0
	}
	return q.ranking.Value(history.Of(q.learned.tool, n, -1), rank.Match)
}

// outcomes returns the adjustment of a node by its outcomes minus the adjustment by the outcomes of all steps, and the
// reliability factor, which is 1 for a tool.
func (q *query) outcomes(n int32) (adds, factor float64) {
	all := q.Totals.StepOutcomes
	if good, bad := float64(all[1]), float64(all[2]); good+bad > 0 && q.after(n).N > 0 {
		r := q.after(n)
		adds = adjustment(r.SuccessRate(), r.FailureRate()) - adjustment(good/(good+bad), bad/(good+bad))
	}
	if q.Kind(n) != catalog.KindCapability {
		return adds, 1
	}
	rate := q.Rates.Tool(n)
	return adds, Reliability(rate.SuccessRate(), rate.Known())
}

func adjustment(good, bad float64) float64 {
	boost, penalty, _ := episodic.Adjustment(good, bad)
	return boost - penalty
}

// value returns a feature of the first candidate of the ranking; 0 if the ranking is empty.
func (q *query) value(k rank.Column) float64 {
	if len(q.ranking.Ranked) == 0 {
		return 0
	}
	return q.ranking.Value(q.ranking.Ranked[0].Tool, k)
}

// learnedCandidates visits the ranked candidates and those with evidence only from after the build.
func (q *query) learnedCandidates(visitAll func(c candidate)) {
	visit := visitAll
	if q.recent.any() || q.continued() {
		visit = func(c candidate) { visitAll(q.renewed(c)) }
	}
	for i, r := range q.ranking.Ranked {
		if n := q.learned.node[r.Tool]; !q.rankObsolete(n) && !q.exhausted(n) {
			visit(candidate{node: n, score: r.Score, formula: FormulaLogistic, p: q.ranking.Chances[i]})
		}
	}
	q.recentCandidates(visitAll)
}

// rankObsolete reports whether the rank of a node is obsolete: the node was never used, so that it was ranked by its text
// alone, and its text has changed since the build.
func (q *query) rankObsolete(n int32) bool { return q.recent.changed(n) && q.Usage.At(n).Steps == 0 }

// rankedDirectly reports whether the ranking has the node itself and its rank is not obsolete.
func (q *query) rankedDirectly(n int32) bool {
	return !q.rankObsolete(n) && slices.ContainsFunc(q.ranking.Ranked, func(r rank.Ranked) bool { return q.learned.node[r.Tool] == n })
}

// whole reports whether candidates are ranked for a whole task or a search, not as the next step.
func (q *query) whole() bool { return q.planned != nil || q.last == episodic.NoTool || q.isSearch }

// newerHistory is the name of the term for evidence from after the build.
const newerHistory = "newer_history"

// learnedTerms returns the terms of a learned score: the reference, the outcomes, the contributions of the trees by
// group of features, and the evidence from after the build.
func (q *query) learnedTerms(c candidate) (terms []Term) {
	tool := history.Of(q.learned.tool, c.node, -1)
	if c.newer != 0 {
		defer func() { terms = append(terms, Term{newerHistory, c.newer, 1, c.newer}) }()
	}
	switch {
	case c.newer == c.score: // there is no other evidence
	default:
		e, ok := q.ranking.Explain(tool)
		if !ok {
			return nil
		}
		terms = append(terms, Term{rank.Features[e.Row].Name, e.Score, e.Slope, e.Slope * e.Score})
		if e.Outcomes != 0 {
			terms = append(terms, Term{"episodic", e.Outcomes, 1, e.Outcomes})
		}
		for _, g := range rank.Groups {
			if v := e.Groups[g]; v != 0 {
				terms = append(terms, Term{g, v, 1, v})
			}
		}
	}
	return terms
}
