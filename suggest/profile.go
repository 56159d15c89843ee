package suggest

import "fmt"

// Learned reports whether what profile learned answers with is worked out, so that nobody waits for it.
func (m *Model) Learned() bool { return m.measures.Learned() }

// decide reports whether what was learned answers a question.
func (q *query) decide(profile string) (learned bool, err error) {
	q.profile = ProfileSeed
	switch on := q.measures.learning != nil; profile {
	case "":
		return on, nil
	case ProfileSeed:
		return false, nil
	case ProfileLearned:
		if !on {
			err = &RequestError{Invalid, "profile", "the learned profile is off in this workspace; use seed"}
		}
		return on, err
	}
	return false, unknownProfile(profile)
}

// decideNext settles which profile answers what comes next, and fills in the signals it needs.
func (q *query) decideNext(profile string, vector []float32) error {
	learned, err := q.decide(profile)
	if err == nil && !(learned && q.rankLearned(vector)) {
		q.computeSignals(vector)
	}
	return err
}

// decidePlan settles which profile plans, and fills in the signals it needs. Where there is too little history to plan
// from, that is the seed.
func (q *query) decidePlan(profile string, vector []float32) error {
	learned, err := q.decide(profile)
	if err != nil {
		return err
	}
	if learned && q.mode == Active && q.measures.learning.enoughForPlans() && q.plan() {
		q.computeLearnedPlanSignals(vector)
	} else {
		q.computeSignals(vector)
	}
	return nil
}

// plan asks the planner. It reports whether it has an answer.
func (q *query) plan() bool {
	q.fit.together.measured = false
	l := q.measures.learning.get()
	if l == nil || l.provisional {
		q.warn(WarnProvisional)
		return false
	}
	if l.planner == nil {
		return false
	}
	q.planned = l.planner.Plan(q.wording.intent, nil)
	if len(q.planned.Tools) == 0 {
		q.planned = nil
		return false
	}
	q.learned, q.profile = l, ProfileLearned
	return true
}

// searchProfile checks the profile asked for and returns the one that answers a search.
func searchProfile(profile string) (string, error) {
	switch profile {
	case "", ProfileSeed, ProfileLearned:
		return ProfileSeed, nil
	}
	return "", unknownProfile(profile)
}

func unknownProfile(profile string) error {
	return &RequestError{Invalid, "profile", fmt.Sprintf("unknown profile %q: want learned or seed", profile)}
}

// who names the model and the profile that answered.
func (q *query) who() ModelInfo {
	info := q.info
	info.Profile = q.profile
	return info
}
