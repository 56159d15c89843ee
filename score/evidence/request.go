package evidence

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json"

	"waymark/score"
)

// Limits of snippets, in a round and in all, and of their texts, ids and sources in bytes, as in the tags of [Snippet].
const (
	maxSnippets, maxPool         = 200, 2000
	maxSnippet, maxID, maxSource = 20000, 200, 2000
)

// Thresholds of the proposal that this package implements (docs/scorers.md), except clusterCosine. The proposal chose
// them without measurements.
const (
	// Two hypotheses can be the same claim only if their cosine is above it.
	mergeCosine = .85
	// A snippet is assigned to a hypothesis if their overlap is above it.
	assignOverlap = .15
	// A snippet whose overlap with every hypothesis is below clusterOverlap takes the hypothesis of another snippet, if
	// the cosine of the two is at least clusterCosine.
	clusterOverlap, clusterCosine = .05, .5
	// A source dominates if it has more than diversityShare of the supporting snippets, of which there are at least
	// diversitySnippets.
	diversityShare, diversitySnippets = .70, 3

	packHypotheses, packSupporting, packFalsifying = 3, 3, 2
)

// Options are the thresholds that decide when to stop and when to abstain. A round with fewer new documents and a
// smaller gain than these is quiet. StopShare is a share of the maximum entropy: .497 is 0.8 nats for 5 hypotheses.
type Options struct {
	MinNewDocuments int `json:"min_new_documents" max:"2000" required:"false" doc:"Default 2; quiet rounds have fewer."`

	MinQualityGain float64 `json:"min_quality_gain" required:"false" doc:"Default 0.03; quiet rounds gain less."`

	StopShare float64 `json:"stop_share" max:"1" required:"false" doc:"Stop below this share of the maximum entropy; default 0.497."`
	StopLead  float64 `json:"stop_lead" max:"1" required:"false" doc:"Minimum weight of the leading hypothesis to stop; default 0.55."`

	MaxForced int `json:"max_forced" max:"50" required:"false" doc:"Maximum number of forced rounds while undecided; default 2."`

	AbstainLead float64 `json:"abstain_lead" max:"1" required:"false" doc:"Minimum weight of the leading hypothesis; default 0.35."`
}

// defaults are the options of a request without options.
var defaults = Options{2, .03, .497, .55, 2, .35}

// UnmarshalJSON decodes options over the defaults, so that an absent field keeps its default. Unknown names are an
// error.
func (o *Options) UnmarshalJSON(data []byte) error {
	type plain Options
	p := plain(defaults)
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*o = Options(p)
	return nil
}

func (r Request) options() Options { return *cmp.Or(r.Options, &defaults) }

// none and one are the values of numbers that are not given.
var none, one = 0.0, 1.0

// check returns a [score.RequestError] for the first field that cannot be accepted, or nil.
func (r Request) check() error {
	if err := score.Check(r); err != nil {
		return err
	}
	n, pool := len(r.Hypotheses), 0
	switch {
	case n == 0 && (r.Hypotheses != nil || len(r.Rounds) > 0):
		return score.Refuse("hypotheses", "none is given")
	case n == 1 && !r.NoneOfThese:
		return score.Refuse("hypotheses", "one alone has nothing to be compared with; give another, or none_of_these")
	case n > 0 && (len(r.Documents) > 0 || r.SearchTool != ""):
		return score.Refuse("hypotheses", "are given: their evidence comes in rounds, not from documents or search_tool")
	}
	total := 0.0
	for i, h := range r.Hypotheses {
		if h.ID == NoneOfThese || h.ID == undifferentiated {
			return score.Refuse(fmt.Sprintf("hypotheses[%d].id", i), "%q has a meaning of its own", h.ID)
		}
		total += *cmp.Or(h.Prior, &one)
	}
	if n > 0 && total == 0 && !r.NoneOfThese {
		return score.Refuse("hypotheses", "the priors add up to 0")
	}
	for i, round := range r.Rounds {
		if pool += len(round.Snippets); pool > maxPool {
			return score.Refuse(fmt.Sprintf("rounds[%d].snippets", i), "more than %d in all rounds", maxPool)
		}
		ids := map[string]int{}
		for k, s := range round.Snippets {
			if j, twice := ids[s.ID]; twice && round.Snippets[j].Text != s.Text {
				return score.Refuse(fmt.Sprintf("rounds[%d].snippets[%d].id", i, k),
					"%q is already the id of snippets[%d], which has another text", s.ID, j)
			}
			ids[s.ID] = k
		}
	}
	return nil
}
