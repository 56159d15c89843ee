package evidence

import (
	"math"

	"waymark/score/rubric"

	"github.com/go-json-experiment/json"
)

// Options are the thresholds of a triangulation. All but those marked are the ones of the proposal this
// package follows (docs/scorers.md); they are chosen there, not measured.
type Options struct {
	MergeCosine float64 `json:"merge_cosine" required:"false" doc:"Cosine similarity above which hypotheses are merged. Default 0.85."`

	AssignOverlap  float64 `json:"assign_overlap" required:"false" doc:"Overlap above which a snippet is assigned to a hypothesis. Default 0.15."`
	ClusterOverlap float64 `json:"cluster_overlap" required:"false" doc:"Overlap with every hypothesis below which a snippet follows the assignment of a similar snippet. Default 0.05."`
	ClusterCosine  float64 `json:"cluster_cosine" required:"false" doc:"Minimum cosine similarity to that snippet. Default 0.5."` // ours

	MinNewDocuments int     `json:"min_new_documents" required:"false" doc:"A round with fewer new documents may be quiet. Default 2."`
	MinQualityGain  float64 `json:"min_quality_gain" required:"false" doc:"A round with a smaller quality gain may be quiet. Default 0.03."`
	StopShare       float64 `json:"stop_share" required:"false" doc:"Share of the maximum entropy below which a quiet round stops. Default 0.497, which is 0.8 nats for 5 hypotheses."`
	StopLead        float64 `json:"stop_lead" required:"false" doc:"Minimum weight of the leader for a quiet round to stop. Default 0.55."`
	MaxForced       int     `json:"max_forced" required:"false" doc:"Maximum number of rounds forced after quiet but undecided rounds. Default 2."`

	AbstainLead float64 `json:"abstain_lead" required:"false" doc:"Weight of the leader below which the result abstains. Default 0.35."`

	DiversityShare    float64 `json:"diversity_share" required:"false" doc:"Share of supporting snippets above which one source dominates. Default 0.70."`
	DiversitySnippets int     `json:"diversity_snippets" required:"false" doc:"Minimum number of supporting snippets for a dominant source. Default 3."`

	PackHypotheses int `json:"pack_hypotheses" required:"false" doc:"Number of hypotheses with an evidence pack. Default 3."`
	PackSupporting int `json:"pack_supporting" required:"false" doc:"Maximum number of supporting snippets in a pack. Default 3."`
	PackFalsifying int `json:"pack_falsifying" required:"false" doc:"Maximum number of falsifying snippets in a pack. Default 2."`
}

// Defaults are the options that count where none are given.
func Defaults() Options {
	return Options{
		MergeCosine:   .85,
		AssignOverlap: .15, ClusterOverlap: .05, ClusterCosine: .5,
		MinNewDocuments: 2, MinQualityGain: .03, StopShare: .497, StopLead: .55, MaxForced: 2,
		AbstainLead:    .35,
		DiversityShare: .70, DiversitySnippets: 3,
		PackHypotheses: 3, PackSupporting: 3, PackFalsifying: 2,
	}
}

// UnmarshalJSON reads options over the defaults: what is absent keeps its default. Unknown names are
// refused.
func (o *Options) UnmarshalJSON(data []byte) error {
	type plain Options
	p := plain(Defaults())
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	*o = Options(p)
	return nil
}

// Check returns a [rubric.RequestError] for the first option that cannot be accepted, or nil.
func (o Options) Check() error {
	for _, f := range []struct {
		name       string
		value, max float64
	}{
		{"merge_cosine", o.MergeCosine, 1}, {"assign_overlap", o.AssignOverlap, 1}, {"cluster_overlap", o.ClusterOverlap, 1},
		{"cluster_cosine", o.ClusterCosine, 1}, {"stop_share", o.StopShare, 1}, {"stop_lead", o.StopLead, 1},
		{"abstain_lead", o.AbstainLead, 1}, {"diversity_share", o.DiversityShare, 1},
		{"min_new_documents", float64(o.MinNewDocuments), maxPool}, {"max_forced", float64(o.MaxForced), MaxRounds},
		{"diversity_snippets", float64(o.DiversitySnippets), maxPool}, {"pack_hypotheses", float64(o.PackHypotheses), maxHypotheses},
		{"pack_supporting", float64(o.PackSupporting), 20}, {"pack_falsifying", float64(o.PackFalsifying), 20},
	} {
		if !(0 <= f.value && f.value <= f.max) {
			return rubric.Refuse("options."+f.name, "%v is not between 0 and %v", f.value, f.max)
		}
	}
	if math.IsNaN(o.MinQualityGain) || math.IsInf(o.MinQualityGain, 0) {
		return rubric.Refuse("options.min_quality_gain", "%v is not a number", o.MinQualityGain)
	}
	return nil
}
