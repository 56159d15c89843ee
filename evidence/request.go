package evidence

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
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

// A RequestError names what of a request cannot be accepted, and why.
type RequestError struct {
	Field  string // like hypotheses[2].text
	Detail string
}

func (e *RequestError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

func refuse(field, format string, args ...any) *RequestError {
	return &RequestError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Check says what of the request cannot be accepted: a [*RequestError], or nil.
func (r Request) Check() error {
	if err := r.check(); err != nil {
		return err
	}
	return nil
}

// CheckQuestion says what of a question cannot be accepted, before anything is spent on it: a
// [*RequestError], or nil.
func CheckQuestion(question string) error {
	if err := checkText("question", question, MaxClaim); err != nil {
		return err
	}
	return nil
}

func (r Request) check() *RequestError {
	if err := checkText("question", r.Question, MaxClaim); err != nil {
		return err
	}
	if r.Options != nil {
		if err := r.Options.check(); err != nil {
			return err
		}
	}
	if r.Agreement != nil && !(0 <= *r.Agreement && *r.Agreement <= 1) {
		return refuse("agreement", "%v is not between 0 and 1", *r.Agreement)
	}
	if err := r.checkHypotheses(); err != nil {
		return err
	}
	if len(r.Rounds) > MaxRounds {
		return refuse("rounds", "%d are more than %d", len(r.Rounds), MaxRounds)
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

func (r Request) checkHypotheses() *RequestError {
	n := len(r.Hypotheses)
	switch {
	case n == 0:
		return refuse("hypotheses", "none is given")
	case n == 1 && !r.NoneOfThese:
		return refuse("hypotheses", "one alone has nothing to be compared with; give another, or none_of_these")
	case n > MaxHypotheses:
		return refuse("hypotheses", "%d are more than %d", n, MaxHypotheses)
	}
	ids := map[string]int{}
	total, given := 0.0, 0
	for i, h := range r.Hypotheses {
		field := fmt.Sprintf("hypotheses[%d]", i)
		if err := checkID(field+".id", h.ID); err != nil {
			return err
		}
		if j, twice := ids[h.ID]; twice {
			return refuse(field+".id", "%q is already the id of hypotheses[%d]", h.ID, j)
		}
		if h.ID == NoneOfThese || h.ID == Undifferentiated {
			return refuse(field+".id", "%q has a meaning of its own", h.ID)
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
				return refuse(field+".prior", "%v is not between 0 and 1", *h.Prior)
			}
			total += *h.Prior
			given++
		}
	}
	if given == n && total == 0 && !r.NoneOfThese {
		return refuse("hypotheses", "the priors add up to 0")
	}
	return nil
}

func (r Round) check(field string, pool int) *RequestError {
	if len(r.Snippets) > MaxSnippets {
		return refuse(field+".snippets", "%d are more than %d", len(r.Snippets), MaxSnippets)
	}
	if pool+len(r.Snippets) > MaxPool {
		return refuse(field+".snippets", "more than %d in all rounds", MaxPool)
	}
	if r.NewDocuments != nil && *r.NewDocuments < 0 {
		return refuse(field+".new_documents", "%d is below 0", *r.NewDocuments)
	}
	if r.QualityGain != nil && (math.IsNaN(*r.QualityGain) || math.IsInf(*r.QualityGain, 0)) {
		return refuse(field+".quality_gain", "%v is not a number", *r.QualityGain)
	}
	ids := map[string]int{}
	for i, s := range r.Snippets {
		at := fmt.Sprintf("%s.snippets[%d]", field, i)
		if err := checkID(at+".id", s.ID); err != nil {
			return err
		}
		if j, twice := ids[s.ID]; twice && r.Snippets[j].Text != s.Text {
			return refuse(at+".id", "%q is already the id of snippets[%d], which has another text", s.ID, j)
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

func checkID(field, id string) *RequestError {
	switch {
	case id == "":
		return refuse(field, "it is missing")
	case len(id) > MaxID:
		return refuse(field, "%d bytes are more than %d", len(id), MaxID)
	case !utf8.ValidString(id):
		return refuse(field, "%q is no valid UTF-8", id)
	case strings.ContainsFunc(id, func(c rune) bool { return !unicode.IsGraphic(c) }):
		return refuse(field, "%q has an invisible character", id)
	}
	return nil
}

func checkText(field, text string, limit int) *RequestError {
	switch {
	case strings.TrimSpace(text) == "":
		return refuse(field, "it is missing")
	case len(text) <= limit && !strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }):
		return refuse(field, "%q has no word", text)
	}
	return checkSize(field, text, limit)
}

func checkSize(field, text string, limit int) *RequestError {
	switch {
	case len(text) > limit:
		return refuse(field, "%d bytes are more than %d", len(text), limit)
	case !utf8.ValidString(text):
		return refuse(field, "it is no valid UTF-8")
	}
	return nil
}
