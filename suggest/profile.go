package suggest

import "fmt"

// decide reports whether what was learned answers a question.
func (q *query) decide(profile string) (learned bool, err error) {
	q.profile = ProfileSeed
	switch on := !q.measures.seed; profile {
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
