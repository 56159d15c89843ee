package evidence

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"waymark/score"
)

// Limits of a request: of lists, snippets in a round and in all; of texts in bytes, those of a question or hypothesis,
// of a snippet, its id and its source.
const (
	maxHypotheses, maxRounds, maxSnippets, maxPool = 10, 50, 200, 2000
	maxClaim, maxSnippet, maxID, maxSource         = 4000, 20000, 200, 2000
)

// Thresholds of the proposal that this package follows (docs/scorers.md), but for clusterCosine; they are chosen there,
// not measured.
const (
	// Of hypotheses: above it they are one.
	mergeCosine = .85
	// Above it a snippet is assigned to a hypothesis.
	assignOverlap = .15
	// Below it, with every hypothesis, a snippet follows one that is at least so similar.
	clusterOverlap, clusterCosine = .05, .5
	// Above the share of so many supporting snippets, at least, one source dominates.
	diversityShare, diversitySnippets = .70, 3

	packHypotheses, packSupporting, packFalsifying = 3, 3, 2
)

// Options are the thresholds that decide when to stop and when to abstain. A round with fewer new documents and a
// smaller gain than these is quiet. The share is of the maximum entropy: .497 is 0.8 nats for 5 hypotheses.
type Options struct {
	MinNewDocuments int     `json:"min_new_documents" required:"false" doc:"Default 2; quiet rounds have fewer."`
	MinQualityGain  float64 `json:"min_quality_gain" required:"false" doc:"Default 0.03; quiet rounds gain less."`
	StopShare       float64 `json:"stop_share" required:"false" doc:"Share of entropy to stop below; default 0.497."`
	StopLead        float64 `json:"stop_lead" required:"false" doc:"Least weight of the leader to stop; default 0.55."`
	MaxForced       int     `json:"max_forced" required:"false" doc:"Most rounds forced while undecided; default 2."`
	AbstainLead     float64 `json:"abstain_lead" required:"false" doc:"Least weight of the leader; default 0.35."`
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

// none and one stand for numbers that are not given.
var none, one = 0.0, 1.0

// check returns a [score.RequestError] for the first field that cannot be accepted, or nil.
func (r Request) check() error {
	o := r.options()
	err := cmp.Or(checkText("question", r.Question, maxClaim, true),
		checkRange("options.stop_share", o.StopShare, 1),
		checkRange("options.stop_lead", o.StopLead, 1),
		checkRange("options.abstain_lead", o.AbstainLead, 1),
		checkRange("options.min_new_documents", o.MinNewDocuments, maxPool),
		checkRange("options.max_forced", o.MaxForced, maxRounds),
		checkRange("agreement", *cmp.Or(r.Agreement, &none), 1),
		checkRange("max_rounds", r.MaxRounds, 20),
		checkRange("per_query", r.PerQuery, mostFound),
		r.checkHypotheses(),
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

func (r Request) checkHypotheses() (err error) {
	n := len(r.Hypotheses)
	switch {
	case n == 0 && (r.Hypotheses != nil || len(r.Rounds) > 0):
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
	total := 0.0
	for i, h := range r.Hypotheses {
		err = cmp.Or(err, h.check(fmt.Sprintf("hypotheses[%d]", i), false))
		total += *cmp.Or(h.Prior, &one)
	}
	err = cmp.Or(err, score.Distinct("hypotheses", "id", r.Hypotheses, maxID, func(h Hypothesis) string { return h.ID }))
	if err == nil && total == 0 && !r.NoneOfThese {
		err = score.Refuse("hypotheses", "the priors add up to 0")
	}
	return err
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
func (r Round) check(place string, pool int) (err error) {
	switch {
	case len(r.Snippets) > maxSnippets:
		return score.AtMost(place+".snippets", len(r.Snippets), maxSnippets)
	case pool > maxPool:
		return score.Refuse(place+".snippets", "more than %d in all rounds", maxPool)
	case r.NewDocuments != nil && *r.NewDocuments < 0:
		return score.Refuse(place+".new_documents", "%d is below 0", *r.NewDocuments)
	}
	ids := map[string]int{}
	for i, s := range r.Snippets {
		at := fmt.Sprintf("%s.snippets[%d]", place, i)
		err = cmp.Or(err, score.CheckName(at+".id", s.ID, maxID),
			score.CheckText(at+".text", s.Text, maxSnippet),
			score.CheckText(at+".source", s.Source, maxSource))
		if j, twice := ids[s.ID]; err == nil && twice && r.Snippets[j].Text != s.Text {
			err = score.Refuse(at+".id", "%q is already the id of snippets[%d], which has another text", s.ID, j)
		}
		ids[s.ID] = i
	}
	return err
}
