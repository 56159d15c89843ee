package plan

import "waymark/internal/numeric"

// odds is the logarithm of the odds of p, clamped to [0, 1] and smoothed by 0.02, so that 0 and 1 give about
// ±3.93.
func odds(p float64) float64 {
	p = min(max(p, 0), 1)
	return numeric.Ln((p + .02) / (1.02 - p))
}

// baseNames names the features of the first stage in the order of base. Families of names:
//
//	ridge, content   score by the ridge regression over all words, or over words that are no stop words
//	vote, nearest    share of the nearest past requests that used the tool; the nearest of all
//	prior, recent    logarithm of the share of past requests that used it; the same weighed by age
//	text, words, …   match with the tool's own text, see Match
//	…/best           the value over the largest of any tool
//	cold …           the value for a tool that nobody has used, else 0
//	server …         the same of the tool's server
//	… among known    against the best tool of the known servers; … among mates, of its own server
var baseNames = []string{
	"ridge", "ridge odds", "ridge/best", "vote", "vote odds", "nearest", "prior", "recent", "seen", "evidence", "ridge x evidence",
	"text", "text/best", "text rank", "name", "server", "server/best", "cold text", "cold text/best", "cold rank", "cold name", "cold server",
	"server prior", "near x vote", "size", "fullname", "server vote", "words", "clause", "cold words", "cold clause", "kin", "cold kin", "sink", "sink/best", "cosine", "cosine/best", "cold cosine/best", "host", "cold host", "host x words",
	"server words", "server words/best", "server words odds", "server vote odds", "text among known", "words among known", "cosine among known",
	"text among mates", "words among mates", "cosine among mates", "likely mate", "cold likely mate",
	"content", "content odds", "content/best", "content vote", "content vote odds", "near",
	"meaning", "meaning/best", "clause meaning/best",
	"succeeded", "vote succeeded",
}

// base fills in the features of the first stage. kin is how like the tool is to those that history speaks
// for; see [Texts.kinship].
func (q *request) base(f []float64, t int32, rank, kin float64) {
	m := q.m
	uses, recent := m.uses[t], m.recent[t]
	n, recentN := m.n, m.recentN
	if c := q.left; c != nil {
		n, recentN = n-c.n, recentN-c.recentN
		uses, recent = uses-c.uses[t], recent-c.recent[t]
	}
	// What is left is scaled to the whole, so that a count means the same here and in an answer.
	scale, scaleRecent := 1.0, 1.0
	if n > 0 {
		scale, scaleRecent = m.n/n, m.recentN/recentN
	}
	r, content := 0.0, 0.0
	if l := m.dense.label[t]; l >= 0 && uses > 1e-9 {
		r, content = q.ridge[l], q.content.ridge[l]
	}
	v, contentVote := q.vote[t], q.content.vote[t]
	nearest, sim := 0.0, 0.0
	if len(q.near) > 0 {
		sim = q.near[0].Similarity
		for _, l := range m.groups[q.near[0].Row].tools {
			if l.Label == t {
				nearest = float64(sim * l.Value)
			}
		}
	}
	// With another part of the history left out, a tool of that part alone counts as unused.
	seen := 0.0
	if uses > 1e-9 {
		seen = 1
	}
	text, name, server := float64(q.match.text[t]), float64(q.match.name[t]), float64(q.match.server[t])
	words, clause := float64(q.match.words[t]), float64(q.match.clause[t])
	cosine, host := float64(q.match.cosine[t]), float64(q.match.host[t])
	meaning, clauseMeaning := float64(q.match.meaning[t]), float64(q.match.clauseMeaning[t])
	served, sv, serverPrior := 0.0, 0.0, 0.0
	var sw, swBest, textK, wordsK, cosineK, textM, wordsM, cosineM float64
	if s := m.texts.server[t]; s >= 0 {
		served = m.served[s]
		if q.left != nil {
			served -= q.left.served[s]
		}
		serverPrior = numeric.Ln((float64(served*scale) + .1) / (m.n + 1))
		h := q.hosts
		sv = h.vote[s]
		sw, swBest = h.score[s], h.score[s]/h.best
		textM, wordsM, cosineM = h.lead[s].of(q.match, t)
		if h.known[s] {
			textK, wordsK, cosineK = h.among.of(q.match, t)
		}
	}
	likely := q.likely(t)
	succeeded, voteSucceeded := q.outcomes(t)
	evidence := numeric.Ln(1 + float64(uses*scale))
	cold := 1 - seen
	lr := numeric.Ln(1 + rank)
	full := 0.0
	if name > .99 {
		full = 1
	}
	sink := 0.0
	if l := m.dense.label[t]; l >= 0 && uses > 1e-9 && q.sink != nil {
		sink = q.sink[l]
	}
	copy(f, []float64{
		r, odds(r), r / q.most.ridge, v, odds(v), nearest, numeric.Ln((float64(uses*scale) + .1) / (m.n + 1)), numeric.Ln((float64(recent*scaleRecent) + .1) / (m.recentN + 1)), seen, evidence, r * evidence,
		text, text / q.most.text, lr, name, server, server / q.most.server, cold * text, cold * text / q.most.text, cold * lr, cold * name, cold * server,
		serverPrior, float64(sim * v), numeric.Ln(q.size), full, sv, words, clause, cold * words, cold * clause, kin, cold * kin, sink, sink / q.most.sink,
		cosine, cosine / q.most.cosine, cold * cosine / q.most.cosine, host, cold * host, float64(host * words),
		sw, swBest, odds(sw), odds(sv), textK, wordsK, cosineK, textM, wordsM, cosineM,
		likely, cold * likely,
		content, odds(content), content / q.most.content, contentVote, odds(contentVote), sim,
		meaning, meaning / q.most.meaning, clauseMeaning / q.most.clauseMeaning,
		succeeded, voteSucceeded,
	})
}
