package evidence

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"

	"waymark/score/rubric"
)

// Limits of a request. Texts are counted in bytes.
const (
	maxHypotheses = 10
	MaxRounds     = 50
	MaxSnippets   = 200   // in a round
	maxPool       = 2000  // in all rounds
	maxClaim      = 4000  // question, text, rationale, key fact
	MaxSnippet    = 20000 // text of a snippet
	MaxID         = 200
	MaxSource     = 2000
)

// CheckQuestion returns a [rubric.RequestError] for a question that cannot be accepted, or nil.
func CheckQuestion(question string) error { return checkText("question", question, maxClaim) }

// Check returns a [rubric.RequestError] for the first field that cannot be accepted, or nil.
func (r Request) Check() error {
	err := CheckQuestion(r.Question)
	if r.Options != nil {
		err = cmp.Or(err, r.Options.Check())
	}
	if err = cmp.Or(err, checkShare("agreement", r.Agreement), r.checkHypotheses(), rubric.AtMost("rounds", len(r.Rounds), MaxRounds)); err != nil {
		return err
	}
	pool := 0
	for i, round := range r.Rounds {
		if err := round.check(fmt.Sprintf("rounds[%d]", i), pool); err != nil {
			return err
		}
		pool += len(round.Snippets)
	}
	return nil
}

// checkShare refuses a number that is not 0 to 1; nil is none.
func checkShare(field string, x *float64) error {
	if x != nil && !(0 <= *x && *x <= 1) {
		return rubric.Refuse(field, "%v is not between 0 and 1", *x)
	}
	return nil
}

func (r Request) checkHypotheses() error {
	n := len(r.Hypotheses)
	switch {
	case n == 0:
		return rubric.Refuse("hypotheses", "none is given")
	case n == 1 && !r.NoneOfThese:
		return rubric.Refuse("hypotheses", "one alone has nothing to be compared with; give another, or none_of_these")
	case n > maxHypotheses:
		return rubric.AtMost("hypotheses", n, maxHypotheses)
	}
	ids := map[string]int{}
	total, given := 0.0, 0
	for i, h := range r.Hypotheses {
		field := fmt.Sprintf("hypotheses[%d]", i)
		if err := rubric.CheckName(field+".id", h.ID, MaxID); err != nil {
			return err
		}
		if j, twice := ids[h.ID]; twice {
			return rubric.Refuse(field+".id", "%q is already the id of hypotheses[%d]", h.ID, j)
		}
		if h.ID == NoneOfThese || h.ID == undifferentiated {
			return rubric.Refuse(field+".id", "%q has a meaning of its own", h.ID)
		}
		ids[h.ID] = i
		if err := cmp.Or(checkText(field+".text", h.Text, maxClaim), rubric.CheckText(field+".rationale", h.Rationale, maxClaim),
			rubric.CheckText(field+".key_fact", h.KeyFact, maxClaim), checkShare(field+".prior", h.Prior)); err != nil {
			return err
		}
		if h.Prior != nil {
			total += *h.Prior
			given++
		}
	}
	if given == n && total == 0 && !r.NoneOfThese {
		return rubric.Refuse("hypotheses", "the priors add up to 0")
	}
	return nil
}

func (r Round) check(field string, pool int) error {
	if err := rubric.AtMost(field+".snippets", len(r.Snippets), MaxSnippets); err != nil {
		return err
	}
	switch {
	case pool+len(r.Snippets) > maxPool:
		return rubric.Refuse(field+".snippets", "more than %d in all rounds", maxPool)
	case r.NewDocuments != nil && *r.NewDocuments < 0:
		return rubric.Refuse(field+".new_documents", "%d is below 0", *r.NewDocuments)
	case r.QualityGain != nil && (math.IsNaN(*r.QualityGain) || math.IsInf(*r.QualityGain, 0)):
		return rubric.Refuse(field+".quality_gain", "%v is not a number", *r.QualityGain)
	}
	ids := map[string]int{}
	for i, s := range r.Snippets {
		at := fmt.Sprintf("%s.snippets[%d]", field, i)
		if err := rubric.CheckName(at+".id", s.ID, MaxID); err != nil {
			return err
		}
		if j, twice := ids[s.ID]; twice && r.Snippets[j].Text != s.Text {
			return rubric.Refuse(at+".id", "%q is already the id of snippets[%d], which has another text", s.ID, j)
		}
		ids[s.ID] = i
		if err := cmp.Or(rubric.CheckText(at+".text", s.Text, MaxSnippet), rubric.CheckText(at+".source", s.Source, MaxSource)); err != nil {
			return err
		}
	}
	return nil
}

func checkText(field, text string, limit int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return rubric.Refuse(field, "is required")
	case len(text) <= limit && !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		return rubric.Refuse(field, "%q has no word", text)
	}
	return rubric.CheckText(field, text, limit)
}
