package suggest

import (
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
)

// Signals are what the formulas of profile seed combine for one candidate, before any constant of theirs:
// whoever wants to know what another constant would have done can work it out from these.
type Signals struct {
	ID         string
	Kind       catalog.Kind
	Weight     float64       // of the transition from the last step
	Count      uint64        // how often it was seen
	AdamicAdar float64       // with the last step
	Community  bool          // the last step's; for the last step itself only where it was repeated
	Adjacent   bool          // to any step of the context, which counts with an intent only
	Alike      float64       // the largest Adamic-Adar with any step of the context, with an intent and not Adjacent only
	PageRank   float64       // divided by the largest
	Semantic   float64       // of the intent
	After      episodic.Rate // outcomes after the last step
	Excluded   bool          // by those outcomes

	// Of a capability.
	Tools, Done int           // its tools, and those of them in the context
	Cluster     bool          // its spectral cluster is the last step's, or without a context the best match's
	Share       float64       // of the context in that cluster
	HyperRank   float64       // PageRank in the incidence of tools and capabilities, divided by the largest
	Own         episodic.Rate // outcomes, whatever came before
}

// Situation is everything that the seed's formulas know of a question.
type Situation struct {
	Context    int       // distinct known elements
	Candidates []Signals // in order of id
}

// Situation lists the candidates that a context and an intent bring in, with their signals. It is for
// trying out constants: no answer is made of it.
func (m *Model) Situation(context []string, intent string) (Situation, error) {
	q, err := m.newQueryWithSignals(context, intent, nil, nil)
	if err != nil {
		return Situation{}, err
	}
	defer q.close()
	s := Situation{Context: len(q.distinct)}
	for _, n := range q.nodes.candidateNodes {
		if q.Live(n) {
			s.Candidates = append(s.Candidates, q.signals(n))
		}
	}
	slices.SortFunc(s.Candidates, func(a, b Signals) int { return strings.Compare(a.ID, b.ID) })
	return s, nil
}

// signals reads the signals of a candidate back from the buffers of the query. The buffers hold graph scores,
// so Adjacent and Alike are undone from them: below 1 the score is half the Adamic-Adar sum, capped, at 1 the
// edges are looked up.
func (q *query) signals(n int32) Signals {
	s := Signals{
		ID: q.IDs[n], Kind: q.Kind(n), Weight: q.nodes.weight[n], Count: q.nodes.count[n], AdamicAdar: q.nodes.aa[n], PageRank: q.rank(n),
		Semantic: q.nodes.semantic[n], After: q.after(n), HyperRank: q.hyper(n), Own: q.Rates.Tool(n),
	}
	s.Excluded = s.After.Excluded(q.Rates.Sources())
	if c := q.comm(n); c >= 0 && q.last != episodic.NoTool {
		s.Community = c == q.comm(q.last) && (n != q.last || s.Count > 0)
	}
	switch graph := q.nodes.graph[n]; {
	case q.mode != Active:
	case graph < 1:
		s.Alike = 2 * graph
	default:
		for _, u := range q.distinct {
			_, loop := q.Graph.Loop(u)
			if s.Adjacent = s.Adjacent || q.Graph.Adjacent(u, n) || u == n && loop; !s.Adjacent {
				s.Alike = max(s.Alike, q.Graph.AdamicAdar(u, n))
			}
		}
	}
	if s.Kind == catalog.KindCapability {
		s.Done, s.Tools = q.overlap(n)
		s.Cluster, s.Share = q.clustered(n)
	}
	return s
}
