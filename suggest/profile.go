package suggest

import (
	"fmt"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/learn/calibrate"
)

// about is what a question is about. Each kind is learned, and judged, by itself.
type about uint8

const (
	aboutNothing    about = iota // neither context nor intent: nothing to learn from
	aboutNext                    // what comes after the context
	aboutNextIntent              // the same, when the intent is known
	aboutIntent                  // what an intent needs
)

// Edition counts the changes of either profile's ranking that a judgement should be made again for. A choice of another
// edition stays active until that is done.
const Edition = 1

// Choice says which kinds of questions profile auto answers with what was learned, and why; the zero
// value: none, for nothing was judged.
type Choice struct {
	Next       Judged `json:"next"`          // after a context
	NextIntent Judged `json:"next_intent"`   // after a context, the intent known
	Intent     Judged `json:"intent"`        // what an intent needs: plans, and tools for an intent without a context
	Seq        uint64 `json:"seq,omitempty"` // the last event that was known

	// Edition is the [Edition] that was judged; 0 for programs that did not count them.
	Edition int `json:"edition,omitempty"`

	// At is when it was judged, where that is known. It is no part of a build event or of the content of
	// a model, which depend on the history alone.
	At time.Time `json:"judged_at,omitzero"`
}

// Decided is why profile auto answers a kind of question as it does.
type Decided struct {
	Judged
	Seq uint64    `json:"seq"` // the last event that was known
	At  time.Time `json:"judged_at,omitzero"`

	Outdated bool `json:"outdated,omitempty"` // judged by a version of the program that ranks differently
}

// Outdated reports whether another edition than this program's was judged.
func (c Choice) Outdated() bool { return c != Choice{} && c.Edition != Edition }

// decisions are those for each kind of question; nil where nothing was judged.
func (c Choice) decisions(at time.Time) (d [aboutIntent + 1]*Decided) {
	for kind, j := range map[about]Judged{aboutNext: c.Next, aboutNextIntent: c.NextIntent, aboutIntent: c.Intent} {
		if j.Profile != "" {
			j.Kept = nil
			d[kind] = &Decided{j, c.Seq, at, c.Outdated()}
		}
	}
	return d
}

// Judged is what held-out tasks say about one kind of question: how well both profiles did at the same
// questions, and whether the learned one leads by more than chance.
type Judged struct {
	Profile   string     `json:"profile"`          // learned if it leads and the interval excludes 0, else seed; empty: not judged
	Metric    string     `json:"metric,omitempty"` // mrr or ndcg@10
	Episodes  int        `json:"episodes,omitempty"`
	Questions int        `json:"questions,omitempty"`
	Seed      float64    `json:"seed"`
	Learned   float64    `json:"learned"`
	Lead      float64    `json:"lead"`     // of the learned profile
	Interval  [2]float64 `json:"interval"` // of the lead, 95 %

	// Kept says how often the seed's first suggestion of a score was right, where profile auto stays with
	// the seed: its scores never were probabilities. Answers do not repeat it.
	Kept *calibrate.Curve `json:"kept,omitempty"`
}

// String says the choice in one line.
func (c Choice) String() string {
	var parts []string
	for _, k := range []struct {
		name string
		Judged
	}{{"after a context", c.Next}, {"with the intent", c.NextIntent}, {"for an intent", c.Intent}} {
		if k.Profile != "" {
			parts = append(parts, fmt.Sprintf("%s %s (%s %.3f, seed %.3f; lead %+.3f … %+.3f)",
				k.Profile, k.name, k.Metric, k.Learned, k.Seed, k.Interval[0], k.Interval[1]))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("not judged: learned up to %d steps, seed beyond; waymark rebuild compares the profiles", ShortSteps)
	}
	when := ""
	if !c.At.IsZero() {
		when = " on " + c.At.UTC().Format(time.DateOnly)
	}
	by := ""
	if c.Outdated() {
		by = " by another version of the program; waymark rebuild judges again"
	}
	return fmt.Sprintf("%s; judged%s at event %d%s", strings.Join(parts, ", "), when, c.Seq, by)
}

// learned reports whether the judgement of a kind of question preferred profile learned.
func (c Choice) learned(k about) bool {
	switch k {
	case aboutNext:
		return c.Next.Profile == ProfileLearned
	case aboutNextIntent:
		return c.NextIntent.Profile == ProfileLearned
	case aboutIntent:
		return c.Intent.Profile == ProfileLearned
	}
	return false
}

// takes reports whether profile auto answers a kind of question with what was learned: where that was judged to
// be no worse, and in a short history that was not judged yet.
func (c Choice) takes(k about, l *learning) bool {
	return l.enoughFor(k) && (c.learned(k) || !c.judged(k) && l.isShort())
}

// judged reports whether a kind of question was judged.
func (c Choice) judged(k about) bool {
	switch k {
	case aboutNext:
		return c.Next.Profile != ""
	case aboutNextIntent:
		return c.NextIntent.Profile != ""
	case aboutIntent:
		return c.Intent.Profile != ""
	}
	return false
}

// kept calibrates the seed's scores for a kind of question; nil where nothing is known of them.
func (c Choice) kept(k about) *calibrate.Curve {
	switch k {
	case aboutNext:
		return c.Next.Kept
	case aboutNextIntent:
		return c.NextIntent.Kept
	}
	return nil
}

// Learned reports whether any kind of question is answered with what was learned.
func (c Choice) Learned() bool {
	return c.learned(aboutNext) || c.learned(aboutNextIntent) || c.learned(aboutIntent)
}

// Learned reports whether what profile learned answers with is worked out, so that nobody waits for it.
func (m *Model) Learned() bool { return m.measures.Learned() }

// Teaches says whether the history of the model is long enough to learn what comes next, and what
// intents need.
func (m *Model) Teaches() (next, intents bool) {
	return m.measures.learning.enoughFor(aboutNext), m.measures.learning.enoughFor(aboutIntent)
}

// Choose says what profile auto answers with what was learned. The measures must not be in use yet.
func (m *Measures) Choose(c Choice) { m.choice = c }

// aboutNext is what a question for the next step is about.
func (q *query) aboutNext() about {
	switch {
	case q.last != episodic.NoTool && q.mode == Active:
		return aboutNextIntent
	case q.last != episodic.NoTool:
		return aboutNext
	case q.mode == Active:
		return aboutIntent
	}
	return aboutNothing
}

// decide settles which profile answers a question.
func (q *query) decide(profile string, k about) error {
	m := q.measures
	q.profile = ProfileSeed
	switch profile {
	case "", ProfileAuto:
		q.decided = q.decisions[k]
		if !m.choice.takes(k, m.learning) {
			q.seedCurve = m.choice.kept(k)
			return nil
		}
	case ProfileSeed:
		return nil
	case ProfileLearned:
		switch {
		case m.learning == nil:
			return &RequestError{Invalid, "profile", "the learned profile is off in this workspace; use auto or seed"}
		case !m.learning.enoughFor(k):
			return &RequestError{Invalid, "profile", fmt.Sprintf(
				"too little history to learn from: the next tool needs %d task of two steps, plans and next tools for an intent need %d tasks with an intent; use auto or seed",
				learnTasks, learnIntents)}
		case k == aboutNothing:
			return nil // what to explore is no matter of learning
		}
	default:
		return unknownProfile(profile)
	}
	q.learn(k)
	return nil
}

// decideNext settles which profile answers what comes next, and fills in the signals it needs.
func (q *query) decideNext(profile string, vector []float32) error {
	if err := q.decide(profile, q.aboutNext()); err != nil {
		return err
	}
	switch {
	case q.planned != nil:
		q.computeLearnedPlanSignals(vector)
	case q.learned != nil:
		q.computeLearnedNextSignals(vector)
	default:
		q.computeSignals(vector)
	}
	return nil
}

// decideFor settles which profile answers what an intent needs, and fills in the signals it needs.
func (q *query) decideFor(profile string, k about, vector []float32) error {
	if err := q.decide(profile, k); err != nil {
		return err
	}
	if q.planned != nil {
		q.computeLearnedPlanSignals(vector)
	} else {
		q.computeSignals(vector)
	}
	return nil
}

// searchProfile checks the profile asked for and returns the one that answers a search.
func searchProfile(profile string) (string, error) {
	switch profile {
	case "", ProfileAuto, ProfileSeed, ProfileLearned:
		return ProfileSeed, nil
	}
	return "", unknownProfile(profile)
}

func unknownProfile(profile string) error {
	return &RequestError{Invalid, "profile", fmt.Sprintf("unknown profile %q: want auto, seed or learned", profile)}
}

// who names the model and the profile that answered.
func (q *query) who() ModelInfo {
	info := q.info
	info.Profile, info.Auto = q.profile, q.decided
	return info
}
