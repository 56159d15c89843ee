package live

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/learn"
	"waymark/suggest"
)

// Experiment says what is logged of the answers and what is tried with them. The zero value: nothing.
//
// With a second profile, questions that name none are answered by either: split by conversation, or all
// by the first, with the second in the shadow. Explored answers trade the first place with another one, so
// that it can be told how much a place is worth. Everything that is drawn is a hash of the question, so a
// question asked again gets the same answer.
type Experiment struct {
	Log     float64 `json:"log"`               // share of the answers that are logged
	Explore float64 `json:"explore"`           // share of the answers to "what comes next" that are explored
	Profile string  `json:"profile,omitempty"` // the second one
	Split   float64 `json:"split"`             // share of the conversations that it answers; 0: in the shadow
}

// MaxExplore is the largest share of answers that may be explored: nineteen of twenty first places are
// what the model means.
const MaxExplore = 0.05

// tradedPlaces is how far down a place is traded with the first.
const tradedPlaces = 5

// Check says what is wrong with an experiment.
func (x Experiment) Check() error {
	switch {
	case !(x.Log >= 0 && x.Log <= 1):
		return fmt.Errorf("the share of answers to log must be a number from 0 to 1, got %v", x.Log)
	case !(x.Explore >= 0 && x.Explore <= MaxExplore):
		return fmt.Errorf("the share of answers to explore must be a number from 0 to %v, got %v", MaxExplore, x.Explore)
	case !(x.Split >= 0 && x.Split < 1):
		return fmt.Errorf("the share of conversations for the second profile must be a number from 0 to 1, 1 left out, got %v", x.Split)
	case x.Profile == "" && x.Split > 0:
		return fmt.Errorf("a split needs a second profile")
	case x.Profile != "" && !slices.Contains([]string{suggest.ProfileAuto, suggest.ProfileSeed, suggest.ProfileLearned}, x.Profile):
		return fmt.Errorf("the second profile %q is none of auto, seed, learned", x.Profile)
	}
	return nil
}

// filled logs all answers where something is tried and nothing is said about logging.
func (x Experiment) filled() Experiment {
	if x.Log == 0 && (x.Explore > 0 || x.Profile != "") {
		x.Log = 1
	}
	return x
}

// Asker is who asks: the credential, and the conversation if it is known.
type Asker struct{ Source, Session string }

// uniform draws a number in [0, 1) that depends on what is said alone.
func uniform(what ...string) float64 {
	text, err := json.Marshal(what)
	if err != nil {
		panic("live: strings cannot be encoded: " + err.Error())
	}
	h := sha256.Sum256(text)
	return float64(binary.BigEndian.Uint64(h[:])>>11) / (1 << 53)
}

// arm decides who answers: of a conversation always the same, without one by the question and the model,
// as the id of the suggestion is. "": nobody is compared.
func (x Experiment) arm(m *suggest.Model, who Asker, asked, question string) (arm, profile string) {
	if x.Profile == "" || asked != "" && asked != suggest.ProfileAuto {
		return "", asked
	}
	key := []string{"arm", "session", who.Session}
	if who.Session == "" {
		key = []string{"arm", m.Info().Version, question}
	}
	if uniform(key...) < x.Split {
		return learn.SecondArm, x.Profile
	}
	return learn.FirstArm, asked
}

// question is what was asked, in one string.
func question(request any) string {
	b, err := json.Marshal(request)
	if err != nil {
		panic("live: a request cannot be encoded: " + err.Error()) // requests are plain structs
	}
	return string(b)
}

// trade decides whether the first place is traded, with which, and how likely the order is that comes of
// it. n things are listed.
func (x Experiment) trade(id string, who Asker, n int) (place int, propensity float64) {
	places := min(n, tradedPlaces) - 1
	if places < 1 || x.Explore == 0 {
		return 0, 1
	}
	u := uniform("trade", id, who.Session)
	if u >= x.Explore {
		return 0, 1 - x.Explore
	}
	return 2 + min(places-1, int(u/x.Explore*float64(places))), x.Explore / float64(places)
}

// mark notes how an answer was chosen, and tells its id from that of the same question answered otherwise.
func (x Experiment) mark(id *string, by answeredBy, traded int, propensity float64) *suggest.Drawn {
	if by.arm == "" && x.Explore == 0 {
		return nil
	}
	if by.arm == learn.SecondArm || by.alone || traded > 0 {
		how := fmt.Sprintf("%s\x00%s\x00%d", *id, by.arm, traded)
		if by.alone {
			how += "\x00alone"
		}
		h := sha256.Sum256([]byte(how))
		*id = "sg_" + hex.EncodeToString(h[:12])
	}
	return &suggest.Drawn{Arm: by.arm, Alone: by.alone, Traded: traded, Propensity: propensity}
}

// answeredBy is the arm of a comparison that has answered; empty: nothing is compared.
type answeredBy struct {
	arm   string
	alone bool // the second profile could not answer, so this compares nothing
}

// Next answers what comes next, by the rules of the experiment.
func (e *Engine) Next(m *suggest.Model, who Asker, r suggest.NextRequest) (suggest.NextAnswer, error) {
	x := e.opts.Experiment
	r.Withheld = e.withheld()
	a, by, err := try(x, m, who, &r.Profile, func() any { return asNext(r) }, func() (suggest.NextAnswer, error) { return m.Next(r) })
	if err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	traded, propensity := 0, 1.0
	if r.Profile == "" || r.Profile == suggest.ProfileAuto || by.arm != "" {
		traded, propensity = x.trade(a.SuggestionID, who, len(a.Suggestions))
		if traded > 0 {
			s := a.Suggestions
			s[0], s[traded-1] = s[traded-1], s[0]
		}
		a.Experiment = x.mark(&a.SuggestionID, by, traded, propensity)
	}
	ranked := make([]string, len(a.Suggestions))
	for i, s := range a.Suggestions {
		ranked[i] = s.ID
	}
	e.serve(m, served{
		ID: a.SuggestionID, Question: askedNext, Context: r.Context, Ranked: ranked, Arm: by.arm, Alone: by.alone, Profile: a.Model.Profile,
		Traded: traded, Propensity: propensity, Source: who.Source,
	}, func() ([]string, error) {
		r.Profile, r.Explain = x.Profile, new(bool)
		other, err := m.Next(r)
		ids := make([]string, len(other.Suggestions))
		for i, s := range other.Suggestions {
			ids[i] = s.ID
		}
		return ids, err
	})
	return a, nil
}

// Search finds tools and capabilities, by the rules of the experiment. Nothing is explored: what is named
// exactly comes first.
func (e *Engine) Search(m *suggest.Model, who Asker, r suggest.SearchRequest) (suggest.SearchAnswer, error) {
	x := e.opts.Experiment
	r.Withheld = e.withheld()
	a, by, err := try(x, m, who, &r.Profile, func() any { r := r; r.Explain = nil; return r },
		func() (suggest.SearchAnswer, error) { return m.Search(r) })
	if err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	if by.arm != "" {
		a.Experiment = x.mark(&a.SuggestionID, by, 0, 1)
	}
	results := func(a suggest.SearchAnswer) []string {
		ids := make([]string, len(a.Results))
		for i, r := range a.Results {
			ids[i] = r.ID
		}
		return ids
	}
	e.serve(m, served{
		ID: a.SuggestionID, Question: askedSearch, Context: r.Context, Ranked: results(a), Arm: by.arm, Alone: by.alone, Profile: a.Model.Profile,
		Propensity: 1, Source: who.Source,
	}, func() ([]string, error) {
		r.Profile, r.Explain = x.Profile, new(bool)
		other, err := m.Search(r)
		return results(other), err
	})
	return a, nil
}

// Plan draws up a DAG, by the rules of the experiment.
func (e *Engine) Plan(m *suggest.Model, who Asker, r suggest.DAGRequest) (suggest.DAGAnswer, error) {
	x := e.opts.Experiment
	r.Withheld = e.withheld()
	a, by, err := try(x, m, who, &r.Profile, func() any { r := r; r.Explain = nil; return r },
		func() (suggest.DAGAnswer, error) { return m.Plan(r) })
	if err != nil {
		return a, err
	}
	a.UnknownIDs = m.Unknown(r.Context, r.Withheld)
	if by.arm != "" {
		a.Experiment = x.mark(&a.SuggestionID, by, 0, 1)
	}
	tools := func(a suggest.DAGAnswer) []string {
		ids := make([]string, len(a.DAG.Tasks))
		for i, t := range a.DAG.Tasks {
			ids[i] = t.Tool
		}
		return ids
	}
	e.serve(m, served{
		ID: a.SuggestionID, Question: askedDAG, Context: r.Context, Ranked: tools(a), Arm: by.arm, Alone: by.alone, Profile: a.Model.Profile,
		Propensity: 1, Source: who.Source,
	}, func() ([]string, error) {
		r.Profile, r.Explain = x.Profile, new(bool)
		other, err := m.Plan(r)
		return tools(other), err
	})
	return a, nil
}

func asNext(r suggest.NextRequest) suggest.NextRequest {
	r.Explain = nil
	return r
}

// try asks the arm that is to answer. A second profile that cannot answer leaves the question to the first: there
// may be too little to learn from, or it is not worked out yet, for which no answer waits. Such an answer stands for
// neither arm, for what became of it would be counted for one by what the other cannot do.
func try[A any](x Experiment, m *suggest.Model, who Asker, profile *string, request func() any, ask func() (A, error)) (a A, by answeredBy, err error) {
	first := *profile
	if x.Profile != "" {
		by.arm, *profile = x.arm(m, who, first, question(request()))
	}
	alone := answeredBy{learn.FirstArm, true}
	if by.arm != "" && (by.arm == learn.SecondArm || x.Split == 0) && x.Profile == suggest.ProfileLearned && !m.Ready() {
		*profile, by = first, alone
	}
	if a, err = ask(); err != nil && by.arm == learn.SecondArm {
		*profile, by = first, alone
		a, err = ask()
	}
	return a, by, err
}

// fitBehind works out in the background what the second profile answers with.
func (e *Engine) fitBehind() {
	now := e.current.Load()
	if e.opts.Experiment.Profile != suggest.ProfileLearned || now.model.Ready() {
		return
	}
	e.background.Go(func() {
		_, err := guarded(func() (struct{}, error) {
			now.model.Prepare(func() bool { return e.ctx.Err() != nil || e.current.Load().built != now.built })
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
		a.Behind = append(a.Behind, behind.String())
	}
	return a, err
}

func (e *Engine) withheld() *suggest.Withheld {
	if e.opts.Withheld == nil {
		return nil
	}
	return e.opts.Withheld(e.name)
}

// Experiment is the one that runs.
func (e *Engine) Experiment() Experiment { return e.opts.Experiment }

// String says the experiment in one line.
func (x Experiment) String() string {
	if x.Log == 0 {
		return "no answers are logged"
	}
	says := "all answers are logged"
	if x.Log < 1 {
		says = fmt.Sprintf("%.3g %% of the answers are logged", 100*x.Log)
	}
	if x.Explore > 0 {
		says += fmt.Sprintf(", %.3g %% explored", 100*x.Explore)
	}
	switch {
	case x.Profile != "" && x.Split > 0:
		says += fmt.Sprintf("; profile %s answers %.3g of the conversations", x.Profile, x.Split)
	case x.Profile != "":
		says += fmt.Sprintf("; profile %s answers in the shadow", x.Profile)
	}
	return says
}
