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

// Options are the thresholds that decide when to stop and when to abstain. A round with fewer new documents and a
// smaller gain than these is quiet.
type Options struct {
	MinNewDocuments int     `json:"min_new_documents" required:"false" doc:"Of a round that is not quiet; default 2."`
	MinQualityGain  float64 `json:"min_quality_gain" required:"false" doc:"Of a round that is not quiet; default 0.03."`
	// Of the maximum entropy; the default is 0.8 nats for 5 hypotheses.
	StopShare float64 `json:"stop_share" required:"false" doc:"Share of entropy below which a quiet round stops; default 0.497."`
	StopLead  float64 `json:"stop_lead" required:"false" doc:"Least weight of the leader to stop; default 0.55."`
	MaxForced int     `json:"max_forced" required:"false" doc:"Most rounds forced while undecided; default 2."`
	// For the leader.
	AbstainLead float64 `json:"abstain_lead" required:"false" doc:"Weight of the leader below which to abstain; default 0.35."`
}

// defaults are the options that count where none are given.
var defaults = Options{2, .03, .497, .55, 2, .35}

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

// none is the number that counts where none is given.
var none float64

// check returns a [score.RequestError] for the first field that cannot be accepted, or nil.
func (r Request) check() error {
	o := r.options()
	err := checkText("question", r.Question, maxClaim, true)
	for _, number := range []struct {
		field    string
		x, limit float64
	}{
		{"options.stop_share", o.StopShare, 1},
		{"options.stop_lead", o.StopLead, 1},
		{"options.abstain_lead", o.AbstainLead, 1},
		{"options.min_new_documents", float64(o.MinNewDocuments), maxPool},
		{"options.max_forced", float64(o.MaxForced), maxRounds},
		{"agreement", *cmp.Or(r.Agreement, &none), 1},
		{"max_rounds", float64(r.MaxRounds), 20},
		{"per_query", float64(r.PerQuery), mostFound},
	} {
		err = cmp.Or(err, checkRange(number.field, number.x, number.limit))
	}
	err = cmp.Or(err, r.checkHypotheses(), score.AtMost("rounds", len(r.Rounds), maxRounds))
	pool := 0
	for i, round := range r.Rounds {
		pool += len(round.Snippets)
		err = cmp.Or(err, round.check(fmt.Sprintf("rounds[%d]", i), pool))
	}
	return err
}

// checkRange refuses a number that is not 0 to limit.
func checkRange(field string, x, limit float64) error {
	if !(0 <= x && x <= limit) {
		return score.Refuse(field, "%v is not between 0 and %v", x, limit)
	}
	return nil
}

// checkText refuses a text that is too long or no text, and a required one that has no word.
func checkText(field, text string, limit int, required bool) error {
	err := score.CheckText(field, text, limit)
	word := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
	switch {
	case !required || err != nil || strings.ContainsFunc(text, word):
		return err
	case strings.TrimSpace(text) == "":
		return score.Refuse(field, "is required")
	}
	return score.Refuse(field, "%q has no word", text)
}

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
		place := fmt.Sprintf("hypotheses[%d]", i)
		if j, twice := ids[h.ID]; twice {
			return score.Refuse(place+".id", "%q is already the id of hypotheses[%d]", h.ID, j)
		}
		if err := h.check(place, false); err != nil {
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

// check refuses a hypothesis with an unfit part; a complete one has all parts.
func (h Hypothesis) check(place string, complete bool) error {
	if h.ID == NoneOfThese || h.ID == undifferentiated {
		return score.Refuse(place+".id", "%q has a meaning of its own", h.ID)
	}
	return cmp.Or(score.CheckName(place+".id", h.ID, maxID),
		checkText(place+".text", h.Text, maxClaim, true),
		checkText(place+".rationale", h.Rationale, maxClaim, complete),
		checkText(place+".key_fact", h.KeyFact, maxClaim, complete),
		checkRange(place+".prior", *cmp.Or(h.Prior, &none), 1))
}

// check checks a round; pool is the number of snippets up to its end.
func (r Round) check(place string, pool int) error {
	err := score.AtMost(place+".snippets", len(r.Snippets), maxSnippets)
	switch {
	case err != nil:
		return err
	case pool > maxPool:
		return score.Refuse(place+".snippets", "more than %d in all rounds", maxPool)
	case r.NewDocuments != nil && *r.NewDocuments < 0:
		return score.Refuse(place+".new_documents", "%d is below 0", *r.NewDocuments)
	}
	ids := map[string]int{}
	for i, s := range r.Snippets {
		at := fmt.Sprintf("%s.snippets[%d]", place, i)
		if j, twice := ids[s.ID]; twice && r.Snippets[j].Text != s.Text {
			return score.Refuse(at+".id", "%q is already the id of snippets[%d], which has another text", s.ID, j)
		}
		err = cmp.Or(score.CheckName(at+".id", s.ID, maxID),
			score.CheckText(at+".text", s.Text, maxSnippet), score.CheckText(at+".source", s.Source, maxSource))
		if err != nil {
			return err
		}
		ids[s.ID] = i
	}
	return nil
}
