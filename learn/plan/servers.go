package plan

import (
	"slices"

	"waymark/learn/labels"
)

// least is the smallest divisor: where even the largest value is below it, shares of the largest would only
// be noise.
const least = .05

// leading is the largest value of each kind among some tools, by which the values of one tool are divided.
type leading struct{ text, words, cosine float64 }

func (l *leading) take(m *Match, t int) {
	l.text = max(l.text, float64(m.text[t]))
	l.words = max(l.words, float64(m.words[t]))
	l.cosine = max(l.cosine, float64(m.cosine[t]))
}

// of returns a tool's values as shares of the largest, 0 where these are next to nothing.
func (l *leading) of(m *Match, t int32) (text, words, cosine float64) {
	return float64(m.text[t]) / max(l.text, least), float64(m.words[t]) / max(l.words, least), float64(m.cosine[t]) / max(l.cosine, least)
}

// hosting holds the server features of a request. An unused tool of a server that past requests used is
// likelier than the unused tools of all other servers. It has to be distinguished from the other tools of its
// own server, its mates, not from those.
type hosting struct {
	known []bool    // server → other requests used it
	score []float64 // server → score by the words of the request
	vote  []float64 // server → share of the nearest requests that used it
	best  float64   // score of any
	lead  []leading // server → of its tools
	among leading   // of all tools of known servers
}

// servers numbers the servers that requests used, as labels of the ridge regression.
func (m *Model) servers() {
	m.dense.host = make([]int32, len(m.texts.mates))
	for s := range m.dense.host {
		m.dense.host[s] = -1
	}
	n := int32(len(m.dense.tool)) + 1 // after the tools and the size
	for _, t := range m.dense.tool {
		if s := m.texts.server[t]; s >= 0 && m.dense.host[s] < 0 {
			m.dense.host[s] = n
			n++
		}
	}
	m.dense.labels = int(n)
}

// hostsOf are the servers of some tools, each with the largest value of its tools.
func (t *Texts) hostsOf(tools []labels.Label) []labels.Label {
	var hosts []labels.Label
	for _, l := range tools {
		s := t.server[l.Label]
		if s < 0 {
			continue
		}
		if k := slices.IndexFunc(hosts, func(h labels.Label) bool { return h.Label == s }); k >= 0 {
			hosts[k].Value = max(hosts[k].Value, l.Value)
		} else {
			hosts = append(hosts, labels.Label{Label: s, Value: l.Value})
		}
	}
	return hosts
}

// serve finds what the request has to do with servers; ridge are the scores of all labels.
func (q *request) serve(ridge []float64) {
	m := q.m
	n := len(m.texts.mates)
	h := &hosting{known: make([]bool, n), score: make([]float64, n), vote: make([]float64, n), lead: make([]leading, n), best: least}
	q.hosts = h
	for s := range n {
		served := m.served[s]
		if q.left != nil {
			served -= q.left.served[s]
		}
		if h.known[s] = served > 1e-9 && m.dense.host[s] >= 0; h.known[s] {
			h.score[s] = ridge[m.dense.host[s]]
			h.best = max(h.best, h.score[s])
		}
	}
	for _, nb := range q.near {
		for _, l := range m.texts.hostsOf(m.groups[nb.Row].tools) {
			h.vote[l.Label] += float64(nb.Similarity * l.Value)
		}
	}
	for s := range h.vote {
		h.vote[s] /= float64(len(q.near)) + 1e-9
	}
	for t, s := range m.texts.server {
		if s >= 0 {
			h.lead[s].take(q.match, t)
			if h.known[s] {
				h.among.take(q.match, t)
			}
		}
	}
}

// likely is how likely a request uses a tool as one of its server: by how likely it uses the server, and by
// what the tool's text has in common with it beside the texts of its mates.
func (q *request) likely(t int32) float64 {
	s := q.m.texts.server[t]
	if s < 0 || !q.hosts.known[s] {
		return 0
	}
	h := q.hosts
	text, words, cosine := h.lead[s].of(q.match, t)
	return (max(h.score[s], 0) + h.vote[s]) * (text + words + cosine)
}

// known is what the text of a tool of a server that requests used has in common with the request.
func (q *request) known(t int32) float64 {
	s := q.m.texts.server[t]
	if s < 0 || !q.hosts.known[s] {
		return 0
	}
	text, words, cosine := q.hosts.among.of(q.match, t)
	return text + words + cosine
}
