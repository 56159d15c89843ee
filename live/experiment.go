package live

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/evaluate"
	"waymark/suggest"
)

// Experiment configures the log of served answers and the comparison of two profiles. The zero value logs and
// compares nothing.
//
// With a second profile, questions that name no profile are answered by one of the two, split by session. The arm is
// a hash of the session, so a question asked again gets the same answer.
type Experiment struct {
	Log     float64 `json:"log"`               // share of the answers that are logged
	Profile string  `json:"profile,omitempty"` // the second profile
	Split   float64 `json:"split"`             // share of the sessions that the second profile answers
}

// Check returns an error if the experiment is invalid.
func (x Experiment) Check() error {
	switch {
	case !(x.Log >= 0 && x.Log <= 1):
		return fmt.Errorf("the share of answers to log must be a number from 0 to 1, got %v", x.Log)
	case x.Profile == "" && x.Split != 0:
		return fmt.Errorf("a split needs a second profile")
	case x.Profile != "" && !slices.Contains([]string{suggest.ProfileAuto, suggest.ProfileSeed, suggest.ProfileLearned}, x.Profile):
		return fmt.Errorf("unknown second profile %q: want auto, seed or learned", x.Profile)
	case x.Profile != "" && !(x.Split > 0 && x.Split < 1):
		return fmt.Errorf("the share of sessions for the second profile must be a number between 0 and 1, got %v", x.Split)
	}
	return nil
}

// filled logs all answers where profiles are compared and no share to log is given.
func (x Experiment) filled() Experiment {
	if x.Log == 0 && x.Profile != "" {
		x.Log = 1
	}
	return x
}

// Asker identifies the caller: its credential, and its session if that is known.
type Asker struct {
	Source, Session string
	Tools           *suggest.ToolSet // what it may be told of; nil: everything
}

// uniform hashes its arguments to a number in [0, 1).
func uniform(key ...string) float64 {
	h := sha256.Sum256([]byte(encoded(key)))
	return float64(binary.BigEndian.Uint64(h[:])>>11) / (1 << 53)
}

// encoded is a plain value as JSON, which cannot fail.
func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("live: a request cannot be encoded: " + err.Error())
	}
	return string(b)
}

// arm assigns a question that names no profile to an arm: by its session, else by the question and the model, as the
// suggestion id is. It returns "" where profiles are not compared.
func (x Experiment) arm(m *suggest.Model, who Asker, profile string, request any) string {
	if x.Profile == "" || profile != "" && profile != suggest.ProfileAuto {
		return ""
	}
	key := []string{"arm", "session", who.Session}
	if who.Session == "" {
		key = []string{"arm", m.Info().Version, encoded(request)}
	}
	if uniform(key...) < x.Split {
		return evaluate.SecondArm
	}
	return evaluate.FirstArm
}

// answer asks the arm of a question; ask reads *profile. Where the second profile cannot answer, the first does: there
// may be too little history, or the fit may not be finished, for which no answer waits. Such an answer counts for
// neither arm, because it would credit one arm with questions that the other cannot answer.
func (x Experiment) answer(m *suggest.Model, who Asker, profile *string, request any, ask func() error) (*suggest.Drawn, error) {
	first := *profile
	arm := x.arm(m, who, first, request)
	if arm == "" {
		return nil, ask()
	}
	if arm == evaluate.FirstArm {
		return &suggest.Drawn{Arm: arm}, ask()
	}
	*profile = x.Profile
	if x.Profile != suggest.ProfileLearned || m.Ready() {
		if err := ask(); err == nil {
			return &suggest.Drawn{Arm: arm}, nil
		}
	}
	*profile = first
	return &suggest.Drawn{Arm: evaluate.FirstArm, Alone: true}, ask()
}

// distinct gives an answer that differs from the first arm's answer to the same question an id of its own.
func distinct(id string, by *suggest.Drawn) string {
	if by == nil || by.Arm == evaluate.FirstArm && !by.Alone {
		return id
	}
	how := id + "\x00" + by.Arm + "\x000" // the 0 keeps the ids that earlier versions logged
	if by.Alone {
		how += "\x00alone"
	}
	h := sha256.Sum256([]byte(how))
	return "sg_" + hex.EncodeToString(h[:12])
}

// Next suggests the next tools, with the profile of the question's arm.
func (e *Engine) Next(m *suggest.Model, who Asker, r suggest.NextRequest) (a suggest.NextAnswer, err error) {
	r.Withheld, r.Pinned = e.ruled(m, &r.Context, r.Intent)
	r.Withheld = m.Within(who.Tools, r.Withheld)
	request := r
	request.Explain = nil
	a.Experiment, err = e.opts.Experiment.answer(m, who, &r.Profile, request, func() (err error) { a, err = m.Next(r); return err })
	if err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	ranked := make([]string, len(a.Suggestions))
	for i, s := range a.Suggestions {
		ranked[i] = s.ID
	}
	a.SuggestionID = distinct(a.SuggestionID, a.Experiment)
	e.serve(m, who, served{ID: a.SuggestionID, Question: askedNext, Context: r.Context, Ranked: ranked, Profile: a.Model.Profile}, a.Experiment)
	return a, nil
}

// Search finds tools and capabilities, with the profile of the question's arm.
func (e *Engine) Search(m *suggest.Model, who Asker, r suggest.SearchRequest) (a suggest.SearchAnswer, err error) {
	r.Withheld, r.Pinned = e.ruled(m, nil, r.Query)
	r.Withheld = m.Within(who.Tools, r.Withheld)
	request := r
	request.Explain = nil
	a.Experiment, err = e.opts.Experiment.answer(m, who, &r.Profile, request, func() (err error) { a, err = m.Search(r); return err })
	if err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	ranked := make([]string, len(a.Results))
	for i, r := range a.Results {
		ranked[i] = r.ID
	}
	a.SuggestionID = distinct(a.SuggestionID, a.Experiment)
	e.serve(m, who, served{ID: a.SuggestionID, Question: askedSearch, Context: r.Context, Ranked: ranked, Profile: a.Model.Profile}, a.Experiment)
	return a, nil
}

// Plan returns a DAG, with the profile of the question's arm.
func (e *Engine) Plan(m *suggest.Model, who Asker, r suggest.DAGRequest) (a suggest.DAGAnswer, err error) {
	r.Withheld, r.Pinned = e.ruled(m, nil, r.Intent)
	r.Withheld = m.Within(who.Tools, r.Withheld)
	request := r
	request.Explain = nil
	a.Experiment, err = e.opts.Experiment.answer(m, who, &r.Profile, request, func() (err error) { a, err = m.Plan(r); return err })
	if err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	ranked := make([]string, len(a.DAG.Tasks))
	for i, t := range a.DAG.Tasks {
		ranked[i] = t.Tool
	}
	a.SuggestionID = distinct(a.SuggestionID, a.Experiment)
	e.serve(m, who, served{ID: a.SuggestionID, Question: askedDAG, Context: r.Context, Ranked: ranked, Profile: a.Model.Profile}, a.Experiment)
	return a, nil
}

// fitBehind fits the second profile in the background.
func (e *Engine) fitBehind() {
	now := e.current.Load()
	if e.opts.Experiment.Profile != suggest.ProfileLearned || now.model.Ready() {
		return
	}
	e.life.background.Go(func() {
		_, err := guarded(func() (struct{}, error) {
			now.model.Prepare(func() bool { return e.life.ctx.Err() != nil || e.current.Load().built != now.built })
			return struct{}{}, nil
		})
		if err != nil {
			e.opts.Logger.Error("the second profile could not be fitted; the first answers alone", "workspace", e.name, "error", err)
		}
	})
}

// Explain says why an id is, or is not, suggested, with what is withheld and what the model does not count yet.
func (e *Engine) Explain(ctx context.Context, m *suggest.Model, r suggest.ExplainRequest) (suggest.ExplainAnswer, error) {
	r.Withheld = e.withheld()
	a, err := m.Explain(r)
	if err != nil {
		return a, err
	}
	ids := r.Context
	if a.Absent == suggest.AbsentUnknown {
		ids = append([]string{r.ID}, ids...)
	}
	a.UnknownIDs = m.Unknown(ids, r.Withheld)
	if i := slices.IndexFunc(a.UnknownIDs, func(u suggest.UnknownID) bool { return u.ID == r.ID }); i >= 0 {
		a.Reason = a.UnknownIDs[i].Message
	}
	behind, err := e.Behind(ctx)
	if behind != nil {
		a.Staleness = append(a.Staleness, behind.String())
	}
	return a, err
}

func (e *Engine) withheld() *suggest.Exclusions {
	var base *suggest.Exclusions
	if e.opts.Withheld != nil {
		base = e.opts.Withheld(e.name)
	}
	return e.quarantine.with(base)
}

// Experiment returns the active experiment.
func (e *Engine) Experiment() Experiment { return e.opts.Experiment }

// String describes the experiment in one line.
func (x Experiment) String() string {
	if x.Log == 0 {
		return "no answers are logged"
	}
	says := "all answers are logged"
	if x.Log < 1 {
		says = fmt.Sprintf("%.3g %% of the answers are logged", 100*x.Log)
	}
	if x.Profile != "" {
		says += fmt.Sprintf("; profile %s answers %.3g of the sessions", x.Profile, x.Split)
	}
	return says
}

// Unknown lists those ids that the model does not know, with known ids spelled like them that are not withheld.
func (e *Engine) Unknown(m *suggest.Model, ids ...string) []suggest.UnknownID {
	return m.Unknown(ids, e.withheld())
}
