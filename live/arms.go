package live

import (
	"context"
	"fmt"

	"waymark/episodic"
	"waymark/evaluate"
	"waymark/suggest"
)

// Comparison is what became of the answers that were logged, as far as episodes and feedback name them.
type Comparison struct {
	Experiment Experiment      `json:"experiment"` // as it runs now
	Logged     int             `json:"logged"`     // answers in the log; one id counts once
	NotLogged  uint64          `json:"not_logged"` // of this process, since its start, that should have been: too many at once, or a write that failed
	Echoed     int             `json:"echoed"`     // episodes and feedback that name an answer
	Unknown    int             `json:"unknown"`    // of them, those whose answer is not logged
	Ended      int             `json:"ended"`      // of them, those after whose answer nothing was done
	Alone      int             `json:"alone"`      // of them, those whose answer the first profile gave because the second could not, or not yet
	Older      int             `json:"older"`      // of them, those that are left out for there are many newer ones
	Questions  []evaluate.Arms `json:"questions"`  // those that have outcomes
	Notes      []string        `json:"notes"`      // what the numbers cannot say
}

// mostCompared is how many outcomes of one kind of question are compared, the newest: more say no more, and
// take longer than anybody waits.
const mostCompared = 10_000

// mostTold is how many episodes of one session can be one conversation: a host that names nothing else
// gives its own name, and its tasks are told apart.
const mostTold = 50

// outcomes reads from the log what became of answers.
func (e *Engine) outcomes(ctx context.Context, c *Comparison) (map[string][]evaluate.Followed, error) {
	answers := map[string]*served{}
	type echo struct {
		id, conversation string
		episode          *episodic.Episode
		performed        *episodic.Step
		feedback         *feedback
	}
	var echoes []echo
	sessions := map[string]int{} // how many episodes of it name an answer
	told := map[string]bool{}    // by answer and source: an episode tells what was done
	o, err := look(ctx, e.log, 0, 0)
	if err != nil {
		return nil, err
	}
	for ev, err := range decoded(ctx, e.log, 0, o.head, func(seq uint64) bool { return o.forgotten[seq] }) {
		if err != nil {
			return nil, err
		}
		switch v := ev.value.(type) {
		case *served:
			answers[v.ID] = v
		case *episodic.Episode:
			if v.SuggestionID != "" {
				echoes = append(echoes, echo{id: v.SuggestionID, conversation: "episode " + v.ID, episode: v})
				sessions[v.Session]++
				told[v.SuggestionID+"\x00"+v.Source] = true
			}
		case *episodic.Performed:
			if v.SuggestionID != "" && v.Step != nil {
				echoes = append(echoes, echo{id: v.SuggestionID, conversation: "episode " + v.Episode, performed: v.Step})
				told[v.SuggestionID+"\x00"+v.Source] = true
			}
		case *feedback:
			if v.Suggestion != "" {
				echoes = append(echoes, echo{id: v.Suggestion, conversation: fmt.Sprint("feedback ", ev.seq), feedback: v})
			}
		}
	}
	c.Logged = len(answers)
	m := e.Model()
	by := map[string][]evaluate.Followed{}
	for _, x := range echoes {
		a := answers[x.id]
		if x.feedback != nil && told[x.id+"\x00"+x.feedback.Source] {
			continue
		}
		c.Echoed++
		if a == nil {
			c.Unknown++
			continue
		}
		if a.Alone {
			c.Alone++
			continue
		}
		f := evaluate.Followed{Arm: a.Arm, Conversation: x.conversation, Shown: a.ranked(m)}
		if x.episode != nil && x.episode.Session != "" && sessions[x.episode.Session] <= mostTold {
			f.Conversation = "session " + x.episode.Session
		}
		if a.Shadow != nil {
			f.Arm = ""
		}
		switch {
		case x.performed != nil:
			f.Target = resolved(m, x.performed.Tool)
		case x.feedback != nil && x.feedback.Used:
			f.Target = x.feedback.ID
		case x.feedback != nil: // what was done instead is not known: nothing of the answer
		default:
			step, ok := a.followedBy(x.episode, m)
			if !ok {
				c.Ended++
				continue
			}
			f.Target = resolved(m, x.episode.Steps[step].Tool)
		}
		by[a.Question] = append(by[a.Question], f)
	}
	for question, all := range by {
		if cut := len(all) - mostCompared; cut > 0 {
			by[question] = all[cut:]
			c.Older += cut
		}
	}
	return by, nil
}

// Compare returns the outcomes of the logged answers by profile.
func (e *Engine) Compare(ctx context.Context) (Comparison, error) {
	c := Comparison{Experiment: e.opts.Experiment, NotLogged: e.answers.unlogged.Load(), Questions: []evaluate.Arms{}, Notes: []string{}}
	by, err := e.outcomes(ctx, &c)
	if err != nil {
		return c, fmt.Errorf("compare the profiles of workspace %q: %w", e.name, err)
	}
	for _, question := range []string{askedNext, askedSearch, askedDAG} {
		if len(by[question]) == 0 {
			continue
		}
		c.Questions = append(c.Questions, evaluate.CompareArms(question, by[question]))
	}
	note := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case c.Experiment.Log == 0:
		note("no answers are logged now; serve with --log-served or --split")
	case c.Experiment.Log < 1:
		note("%.3g of the answers are logged, drawn by their id: all numbers are of these", c.Experiment.Log)
	}
	if c.Logged > 0 && c.Echoed == 0 {
		note("no episode and no feedback names an answer yet: hosts echo suggestion_id")
	}
	if c.Logged > 0 {
		note("equal questions to one model are logged once, with the first answer; all outcomes that name it count")
	}
	if c.Experiment.Profile == suggest.ProfileLearned && !e.Model().Ready() {
		note("the second profile is still being fitted; until then the first answers alone")
	}
	if c.Alone > 0 {
		note("%d outcomes are of answers that the first profile gave alone, while the second was not fitted yet or had too little to learn from; they count for neither", c.Alone)
	}
	if len(c.Questions) > 0 {
		note("a tool that is shown first is used more often because it is first; scores are not corrected for this, which favours neither profile of a split")
	}
	note("answers whose outcome nobody reported are not counted")
	return c, nil
}
