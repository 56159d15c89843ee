package suggest

import (
	"fmt"

	"waymark/episodic"
)

// about is what a question is about. Each kind is learned, and judged, by itself.
type about uint8

const (
	aboutNothing    about = iota // neither context nor intent: nothing to learn from
	aboutNext                    // what comes after the context
	aboutNextIntent              // the same, when the intent is known
	aboutIntent                  // what an intent needs
)

// Choice says which kinds of questions profile auto answers with what was learned; the zero value: none.
type Choice struct {
	Next       bool `json:"next"`        // after a context
	NextIntent bool `json:"next_intent"` // after a context, the intent known
	Intent     bool `json:"intent"`      // what an intent needs: search, plans
}

func (c Choice) learned(k about) bool {
	return k == aboutNext && c.Next || k == aboutNextIntent && c.NextIntent || k == aboutIntent && c.Intent
}

// Teaches says for which kinds of questions the history of the model is long enough to learn from.
func (m *Model) Teaches() Choice {
	l := m.measures.learning
	return Choice{Next: l.of(aboutNext), NextIntent: l.of(aboutNextIntent), Intent: l.of(aboutIntent)}
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
		if !m.choice.learned(k) || !m.learning.of(k) {
			return nil
		}
	case ProfileSeed:
		return nil
	case ProfileLearned:
		switch {
		case m.learning == nil:
			return &RequestError{Invalid, "profile", "the learned profile is off in this workspace; use auto or seed"}
		case !m.learning.of(k):
			return &RequestError{Invalid, "profile", fmt.Sprintf(
				"too little history to learn from: it takes %d tasks with two steps for the next tool, and %d with an intent for search and plans; use auto or seed",
				learnTasks, learnIntents)}
		case k == aboutNothing:
			return nil // what to explore is no matter of learning
		}
	default:
		return &RequestError{Invalid, "profile", fmt.Sprintf("%q is none of auto, seed, learned", profile)}
	}
	q.learn(k)
	return nil
}

// who names the model and the profile that answered.
func (q *query) who() ModelInfo {
	info := q.info
	info.Profile = q.profile
	return info
}
