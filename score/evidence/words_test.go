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
			assert.Equal(t, tt.want, stanceOf(Hypothesis{ID: "h", Text: tt.hypothesis}).opposed(tt.snippet))
		})
	}
}

const (
	corroded  = "Corrosion weakened the anchor bolts"
	overload  = "An overloaded truck broke the span"
	leak      = "A memory leak exhausted the server"
	clock     = "Clock drift between the nodes delayed the votes"
	unchanged = "The update did not change the timeouts"
)

// The unit is the sentence, and a claim may be denied without any marker of contradiction.
func TestDeniedSentences(t *testing.T) {
	for _, tt := range []struct {
		hypothesis, snippet string
		against             bool
	}{
		{corroded, "It is false that corrosion weakened the anchor bolts.", true},
		{corroded, "It is not true that corrosion weakened the bolts of the anchor.", true},
		{corroded, "Corrosion was not the cause.", true},
		{corroded, "Corrosion was not the main reason for the collapse.", true},
		{corroded, "The collapse is not because of corrosion.", true},
		{corroded, "The collapse was not due to corrosion of the bolts.", true},
		{corroded, "There is no evidence that corrosion weakened the anchor bolts.", true},
		{corroded, "The laboratory ruled out corrosion of the anchor bolts.", true},
		{corroded, "The inspectors failed to show that corrosion weakened the anchor bolts.", true},
		{corroded, "The anchor bolts were far from weakened by corrosion.", true},
		{corroded, "Corrosion did not weaken the anchor bolts.", true},
		{corroded, "Corrosion never weakened the anchor bolts, says the report.", true},
		{corroded, "Corrosion had nothing to do with the failure of the anchor bolts.", true},
		{corroded, "Corrosion played no role in it.", true},
		{corroded, "Corrosion cannot explain the break.", true},
		{corroded, "That corrosion weakened the anchor bolts is unlikely.", true},
		{corroded, "The claim that corrosion weakened the anchor bolts is wrong.", true},
		{overload, "What broke the span was wind rather than an overloaded truck.", true},
		{overload, "The span was broken by wind, not by an overloaded truck.", true},
		{unchanged, "The update changed the timeouts.", true},
		{leak, "The server had memory to spare. A leak was ruled out.", true},
		{leak, "Some blamed a memory leak for the exhausted server. That idea has been refuted.", true},

		{corroded, "It is not false that corrosion weakened the anchor bolts.", false},
		{corroded, "Nobody doubts it: corrosion weakened the anchor bolts.", false},
		{corroded, "It cannot be denied that corrosion weakened the anchor bolts.", false},
		{corroded, "No other cause was found: corrosion weakened the anchor bolts.", false},
		{corroded, "Not wind but corrosion weakened the anchor bolts.", false},
		{corroded, "Corrosion, not wind, weakened the anchor bolts.", false},
		{corroded, "Corrosion, rather than wind, weakened the anchor bolts.", false},
		{corroded, "The bridge did not fall at once because corrosion weakened only some of the anchor bolts.", false},
		{corroded, "Did corrosion not weaken the anchor bolts?", false},
		{corroded, "Corrosion weakened the anchor bolts. There is no evidence that the wind was strong.", false},
		{corroded, "The wind was ruled out early. Corrosion had weakened the anchor bolts for years.", false},
		{corroded, "The deck was not damaged. The railing was not bent. Corrosion had weakened the anchor bolts.", false},
		{overload, "An overloaded truck broke the span. No boat was near, and an earthquake was ruled out.", false},
		{leak, "The log rules out a full disk, and a memory leak exhausted the server.", false},
		{clock, "The network was not slow. Votes were delayed by clock drift between the nodes.", false},
		{clock, "If the clocks had not drifted, the votes would have been in time.", false},
		{unchanged, "The update did not change the timeouts.", false},
		{unchanged, "No timeouts were changed by the update.", false},

		{"The pressure was too high", "The pressure was not too high.", true},
		{"The pressure was too high", "The pressure was too high.", false},
		{"The heater failed", "Rather than the heater, the vent failed.", true},
		{"The vent failed", "Rather than the heater, the vent failed.", false},
		{"The heater was switched off by a timer", "Rather than the heater, the vent failed.", true},
		{corroded, "Nobody doubts that corrosion weakened the anchor bolts.", false},

		// Written after the code was finished; what it then got wrong is noted, not mended.
		{"Nitrate from the fields killed the fish", "Nitrate from the fields did not kill the fish.", true},
		{"Nitrate from the fields killed the fish", "Levels of nitrate in the river were low all year. It was hardly nitrate that killed the fish.", true},
		{"Nitrate from the fields killed the fish", "Investigators found no sign that nitrate from the fields had killed any fish.", true},
		{"A stale cache returned the wrong price", "The wrong price came from the vendor instead of a stale cache.", true},
		{"A stale cache returned the wrong price", "We first suspected a stale cache. This turned out to be incorrect.", true},
		{"A stale cache returned the wrong price", "Neither the vendor nor the currency table was at fault. A stale cache returned the wrong price.", false},
		{"The pilot misread the altimeter", "It would be a mistake to think that the pilot misread the altimeter.", false}, // wrong, and noted
		{"The pilot misread the altimeter", "The altimeter did not fail; the pilot misread it.", false},
		{"The pilot misread the altimeter", "Without doubt the pilot misread the altimeter.", false},
		{"The pilot misread the altimeter", "Nothing suggests that the altimeter was broken. The pilot simply misread it.", false},
	} {
		t.Run(tt.snippet, func(t *testing.T) {
			m := stanceOf(Hypothesis{ID: "h", Text: tt.hypothesis}).opposed(tt.snippet)
			assert.Equal(t, tt.against, m != "", m)
		})
	}
}
