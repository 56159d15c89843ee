package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestContradiction(t *testing.T) {
	const (
		raises   = "Caffeine raises blood pressure"
		harmless = "Caffeine does not raise blood pressure"
	)
	for _, tt := range []struct {
		hypothesis, snippet, want string
	}{
		// The markers of the verifier, origins of the seed documents, 4.2.
		{raises, "The trial contradicts this.", "contradict"},
		{raises, "These contradictory readings of blood pressure", "contradict"},
		{raises, "Readings were inconsistent with an effect of caffeine", "inconsistent"},
		{raises, "A negative result for caffeine", "negative result"},
		{raises, "Caffeine fails to change pressure", "fails to"},
		{raises, "The failure to see any change", "fails to"},
		{raises, "There is no evidence of an effect", "no evidence"},
		{raises, "a null result", "null result"},
		{raises, "Mixed evidence, at best", "mixed evidence"},
		{raises, "After the retraction of the first trial", "retraction"},
		{raises, "The first trial was retracted", "retraction"},

		{raises, "We did not find any evidence of it", "no evidence"},
		{raises, "Without convincing evidence, the board moved on", "no evidence"},
		{raises, "The lack of direct evidence is telling", "no evidence"},
		{raises, "Later work refuted it", "refute"},
		{raises, "The log rules this out", ""}, // words between are not looked over
		{raises, "The log rules out caffeine", "rule out"},
		{raises, "The data do not support this idea", "does not support"},
		{raises, "The idea is not supported by the data", "not supported"},
		{raises, "The effect was not replicated", "not replicated"},
		{raises, "These readings are at odds with the first", "at odds with"},

		// Negated, they say nothing against: the first version counted all of these.
		{raises, "The trial does not contradict this.", ""},
		{raises, "The trial doesn’t contradict this.", ""},
		{raises, "Nothing in the later trials contradicts it", ""},
		{raises, "No later trial, however large, is inconsistent with it", "inconsistent"}, // a known limit: a comma ends the clause
		{raises, "No later trial is inconsistent with it", ""},
		{raises, "It neither confirms nor contradicts it", ""},
		{raises, "This cannot be ruled out", ""},
		{raises, "without any contradiction", ""},
		{raises, "non-contradictory readings", ""},
		{raises, "Caffeine never fails to raise it", ""},
		{raises, "The trial failed to refute it", ""},
		{raises, "They failed to find any contradiction", ""},
		{raises, "No evidence against it was found", ""},
		{raises, "There is no evidence to the contrary", ""},
		{raises, "There was no evidence of a failure", ""},
		{raises, "No evidence that it fails", ""}, // the trap of origins of the seed documents, 7
		{raises, "No evidence contradicts it", ""},
		{raises, "There was no retraction", ""},
		{raises, "It is not inconsistent", ""},

		// What only looks like a negation.
		{raises, "The trial not only contradicts it but ends it", "contradict"},
		{raises, "No doubt it contradicts the idea", "contradict"},
		{raises, "The effect was not seen, and the log contradicts it", "contradict"},
		{raises, "It did not rise; readings contradict it", "contradict"},
		{raises, "Does not fail to contradict", "contradict"},
		{raises, "Volunteers without coffee in the last trial contradict it", "contradict"}, // without what, not without contradicting

		// What a marker is about.
		{raises, "The trial contradicts the claim that caffeine does not raise blood pressure", ""},
		{raises, "The trial contradicts the claim that caffeine raises blood pressure", "contradict"},
		{raises, "There is no evidence that caffeine does not raise it", ""},
		{raises, "There is no evidence that caffeine raises it", "no evidence"},
		{raises, "The trial contradicts that claim", "contradict"},
		{raises, "The trial is inconsistent with that", "inconsistent"},
		{harmless, "The trial contradicts the claim that caffeine does not raise blood pressure", "contradict"},
		{harmless, "There is no evidence that caffeine raises blood pressure", ""},
		{harmless, "The trial contradicts this", "contradict"},
		{"The backup fails under load", "No evidence that the backup fails under load", "no evidence"},
		{"The backup fails under load", "No evidence of any failure was found", "no evidence"},

		// Words of the hypothesis itself, and words that only begin alike.
		{"The job fails to start because a disk is full", "The job fails to start when the disk is full", ""},
		{"Replicas became inconsistent", "Inconsistent replicas were seen after the split", ""},
		{raises, "Failover to the replica took a minute", ""},
		{raises, "The evidence is clear", ""},
		{raises, "The browser does not support this format", ""},
		{raises, "", ""},
	} {
		t.Run(tt.snippet, func(t *testing.T) {
			assert.Equal(t, tt.want, opposing(tt.snippet, read(Hypothesis{ID: "h", Text: tt.hypothesis})))
		})
	}
}
