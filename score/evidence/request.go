package evidence

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"waymark/score"
)

// Limits of a request. Texts are counted in bytes.
const (
	maxHypotheses = 10
	maxRounds     = 50
	maxSnippets   = 200   // in a round
	maxPool       = 2000  // in all rounds
	maxClaim      = 4000  // question, text, rationale, key fact
	maxSnippet    = 20000 // text of a snippet
	maxID         = 200
	maxSource     = 2000
)

// Thresholds of the proposal that this package follows (docs/scorers.md), but for clusterCosine; they are chosen there,
// not measured.
const (
	mergeCosine    = .85 // of hypotheses, above which they are one
	assignOverlap  = .15 // above which a snippet is assigned to a hypothesis
	clusterOverlap = .05 // with every hypothesis, below which a snippet follows a similar one
	clusterCosine  = .5  // to that snippet, at least

	diversityShare    = .70 // of supporting snippets, above which one source dominates
	diversitySnippets = 3   // supporting ones, at least

	packHypotheses, packSupporting, packFalsifying = 3, 3, 2
)

// Options are the thresholds that decide when to stop and when to abstain.
type Options struct {
	MinNewDocuments int     `json:"min_new_documents" required:"false" doc:"A round with fewer new documents may be quiet. Default 2."`
	MinQualityGain  float64 `json:"min_quality_gain" required:"false" doc:"A round with a smaller quality gain may be quiet. Default 0.03."`
	StopShare       float64 `json:"stop_share" required:"false" doc:"Share of the maximum entropy below which a quiet round stops. Default 0.497, which is 0.8 nats for 5 hypotheses."`
	StopLead        float64 `json:"stop_lead" required:"false" doc:"Minimum weight of the leader for a quiet round to stop. Default 0.55."`
	MaxForced       int     `json:"max_forced" required:"false" doc:"Maximum number of rounds forced after quiet but undecided rounds. Default 2."`
	AbstainLead     float64 `json:"abstain_lead" required:"false" doc:"Weight of the leader below which the result abstains. Default 0.35."`
}

// defaults are the options that count where none are given.
var defaults = Options{MinNewDocuments: 2, MinQualityGain: .03, StopShare: .497, StopLead: .55, MaxForced: 2, AbstainLead: .35}

// UnmarshalJSON reads options over the defaults: what is absent keeps its default. Unknown names are refused.
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

// check returns a [score.RequestError] for the first field that cannot be accepted, or nil.
func (r Request) check() error {
	o := r.options()
	err := cmp.Or(checkText("question", r.Question, maxClaim),
		checkRange("options.stop_share", o.StopShare, 1), checkRange("options.stop_lead", o.StopLead, 1),
		checkRange("options.abstain_lead", o.AbstainLead, 1), checkRange("options.min_new_documents", o.MinNewDocuments, maxPool),
		checkRange("options.max_forced", o.MaxForced, maxRounds),
		checkRange("agreement", *cmp.Or(r.Agreement, &none), 1), r.checkHypotheses(),
		checkRange("max_rounds", r.MaxRounds, 20), checkRange("per_query", r.PerQuery, mostFound),
		score.AtMost("rounds", len(r.Rounds), maxRounds))
	pool := 0
	for i, round := range r.Rounds {
		pool += len(round.Snippets)
		err = cmp.Or(err, round.check(fmt.Sprintf("rounds[%d]", i), pool))
	}
	return err
}

// checkRange refuses a number that is not 0 to limit.
func checkRange[N int | float64](field string, x, limit N) error {
	if !(0 <= x && x <= limit) {
		return score.Refuse(field, "%v is not between 0 and %v", x, limit)
	}
	return nil
}

// none is the number that counts where none is given.
var none float64

func (r Request) checkHypotheses() error {
	n := len(r.Hypotheses)
	switch {
	case n == 0 && len(r.Rounds) > 0:
		return score.Refuse("hypotheses", "none is given")
	case n == 0:
		return nil
	case n == 1 && !r.NoneOfThese:
		return score.Refuse("hypotheses", "one alone has nothing to be compared with; give another, or none_of_these")
	case n > maxHypotheses:
		return score.AtMost("hypotheses", n, maxHypotheses)
	case len(r.Documents) > 0 || r.SearchTool != "":
		return score.Refuse("hypotheses", "are given: their evidence comes in rounds, not from documents or search_tool")
	}
	ids := map[string]int{}
	weightless := !r.NoneOfThese
	for i, h := range r.Hypotheses {
		field := fmt.Sprintf("hypotheses[%d]", i)
		err := score.CheckName(field+".id", h.ID, maxID)
		if j, twice := ids[h.ID]; err == nil && twice {
			err = score.Refuse(field+".id", "%q is already the id of hypotheses[%d]", h.ID, j)
		}
		if h.ID == NoneOfThese || h.ID == undifferentiated {
			err = score.Refuse(field+".id", "%q has a meaning of its own", h.ID)
		}
		if err = cmp.Or(err, checkText(field+".text", h.Text, maxClaim), score.CheckText(field+".rationale", h.Rationale, maxClaim),
			score.CheckText(field+".key_fact", h.KeyFact, maxClaim), checkRange(field+".prior", *cmp.Or(h.Prior, &none), 1)); err != nil {
			return err
		}
		ids[h.ID] = i
		weightless = weightless && h.Prior != nil && *h.Prior == 0
	}
	if weightless {
		return score.Refuse("hypotheses", "the priors add up to 0")
	}
	return nil
}

// check checks a round; pool is the number of snippets up to its end.
func (r Round) check(field string, pool int) error {
	if err := score.AtMost(field+".snippets", len(r.Snippets), maxSnippets); err != nil {
		return err
	}
	switch {
	case pool > maxPool:
		return score.Refuse(field+".snippets", "more than %d in all rounds", maxPool)
	case r.NewDocuments != nil && *r.NewDocuments < 0:
		return score.Refuse(field+".new_documents", "%d is below 0", *r.NewDocuments)
	}
	ids := map[string]int{}
	for i, s := range r.Snippets {
		at := fmt.Sprintf("%s.snippets[%d]", field, i)
		err := score.CheckName(at+".id", s.ID, maxID)
		if j, twice := ids[s.ID]; err == nil && twice && r.Snippets[j].Text != s.Text {
			err = score.Refuse(at+".id", "%q is already the id of snippets[%d], which has another text", s.ID, j)
		}
		if err = cmp.Or(err, score.CheckText(at+".text", s.Text, maxSnippet), score.CheckText(at+".source", s.Source, maxSource)); err != nil {
			return err
		}
		ids[s.ID] = i
	}
	return nil
}

// checkText refuses a text without a word.
func checkText(field, text string, limit int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return score.Refuse(field, "is required")
	case len(text) <= limit && !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		return score.Refuse(field, "%q has no word", text)
	}
	return score.CheckText(field, text, limit)
}
