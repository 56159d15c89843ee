package evidence

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/score/rubric"
)

// Limits of a request. Texts are counted in bytes.
const (
	MaxHypotheses = 10
	MaxRounds     = 50
	MaxSnippets   = 200   // in a round
	MaxPool       = 2000  // in all rounds
	MaxClaim      = 4000  // question, text, rationale, key fact
	MaxSnippet    = 20000 // text of a snippet
	MaxID         = 200
	MaxSource     = 2000
)

// CheckQuestion returns a [rubric.RequestError] for a question that cannot be accepted, or nil.
func CheckQuestion(question string) error { return checkText("question", question, MaxClaim) }

// Check returns a [rubric.RequestError] for the first field that cannot be accepted, or nil.
func (r Request) Check() error {
	if err := checkText("question", r.Question, MaxClaim); err != nil {
		return err
	}
	if r.Options != nil {
		if err := r.Options.Check(); err != nil {
			return err
		}
	}
	if r.Agreement != nil && !(0 <= *r.Agreement && *r.Agreement <= 1) {
		return rubric.Refuse("agreement", "%v is not between 0 and 1", *r.Agreement)
	}
	if err := r.checkHypotheses(); err != nil {
		return err
	}
	if len(r.Rounds) > MaxRounds {
		return rubric.Refuse("rounds", "%d are more than %d", len(r.Rounds), MaxRounds)
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

func (r Request) checkHypotheses() error {
	n := len(r.Hypotheses)
	switch {
	case n == 0:
		return rubric.Refuse("hypotheses", "none is given")
	case n == 1 && !r.NoneOfThese:
		return rubric.Refuse("hypotheses", "one alone has nothing to be compared with; give another, or none_of_these")
	case n > MaxHypotheses:
		return rubric.Refuse("hypotheses", "%d are more than %d", n, MaxHypotheses)
	}
	ids := map[string]int{}
	total, given := 0.0, 0
	for i, h := range r.Hypotheses {
		field := fmt.Sprintf("hypotheses[%d]", i)
		if err := checkID(field+".id", h.ID); err != nil {
			return err
		}
		if j, twice := ids[h.ID]; twice {
			return rubric.Refuse(field+".id", "%q is already the id of hypotheses[%d]", h.ID, j)
		}
		if h.ID == NoneOfThese || h.ID == Undifferentiated {
			return rubric.Refuse(field+".id", "%q has a meaning of its own", h.ID)
		}
		ids[h.ID] = i
		if err := checkText(field+".text", h.Text, MaxClaim); err != nil {
			return err
		}
		if err := checkSize(field+".rationale", h.Rationale, MaxClaim); err != nil {
			return err
		}
		if err := checkSize(field+".key_fact", h.KeyFact, MaxClaim); err != nil {
			return err
		}
		if h.Prior != nil {
			if !(0 <= *h.Prior && *h.Prior <= 1) {
				return rubric.Refuse(field+".prior", "%v is not between 0 and 1", *h.Prior)
			}
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
	if len(r.Snippets) > MaxSnippets {
		return rubric.Refuse(field+".snippets", "%d are more than %d", len(r.Snippets), MaxSnippets)
	}
	if pool+len(r.Snippets) > MaxPool {
		return rubric.Refuse(field+".snippets", "more than %d in all rounds", MaxPool)
	}
	if r.NewDocuments != nil && *r.NewDocuments < 0 {
		return rubric.Refuse(field+".new_documents", "%d is below 0", *r.NewDocuments)
	}
	if r.QualityGain != nil && (math.IsNaN(*r.QualityGain) || math.IsInf(*r.QualityGain, 0)) {
		return rubric.Refuse(field+".quality_gain", "%v is not a number", *r.QualityGain)
	}
	ids := map[string]int{}
	for i, s := range r.Snippets {
		at := fmt.Sprintf("%s.snippets[%d]", field, i)
		if err := checkID(at+".id", s.ID); err != nil {
			return err
		}
		if j, twice := ids[s.ID]; twice && r.Snippets[j].Text != s.Text {
			return rubric.Refuse(at+".id", "%q is already the id of snippets[%d], which has another text", s.ID, j)
		}
		ids[s.ID] = i
		if err := checkSize(at+".text", s.Text, MaxSnippet); err != nil {
			return err
		}
		if err := checkSize(at+".source", s.Source, MaxSource); err != nil {
			return err
		}
	}
	return nil
}

func checkID(field, id string) error {
	switch {
	case id == "":
		return rubric.Refuse(field, "it is missing")
	case len(id) > MaxID:
		return rubric.Refuse(field, "%d bytes are more than %d", len(id), MaxID)
	case !utf8.ValidString(id):
		return rubric.Refuse(field, "%q is no valid UTF-8", id)
	case strings.ContainsFunc(id, func(c rune) bool { return !unicode.IsGraphic(c) }):
		return rubric.Refuse(field, "%q has an invisible character", id)
	}
	return nil
}

func checkText(field, text string, limit int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return rubric.Refuse(field, "it is missing")
	case len(text) <= limit && !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		return rubric.Refuse(field, "%q has no word", text)
	}
	return checkSize(field, text, limit)
}

func checkSize(field, text string, limit int) error {
	switch {
	case len(text) > limit:
		return rubric.Refuse(field, "%d bytes are more than %d", len(text), limit)
	case !utf8.ValidString(text):
		return rubric.Refuse(field, "it is no valid UTF-8")
	}
	return nil
}
