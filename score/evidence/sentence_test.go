package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

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
	} {
		t.Run(tt.snippet, func(t *testing.T) {
			m := opposing(tt.snippet, read(Hypothesis{ID: "h", Text: tt.hypothesis}))
			assert.Equal(t, tt.against, m != "", m)
		})
	}
}

// heldOut were written after the code was finished; what it then got wrong is noted, not mended.
var heldOut = []struct {
	hypothesis, snippet string
	against, wrong      bool
}{
	{"Nitrate from the fields killed the fish", "Nitrate from the fields did not kill the fish.", true, false},
	{"Nitrate from the fields killed the fish", "Levels of nitrate in the river were low all year. It was hardly nitrate that killed the fish.", true, false},
	{"Nitrate from the fields killed the fish", "Investigators found no sign that nitrate from the fields had killed any fish.", true, false},
	{"A stale cache returned the wrong price", "The wrong price came from the vendor instead of a stale cache.", true, true},
	{"A stale cache returned the wrong price", "We first suspected a stale cache. This turned out to be incorrect.", true, false},
	{"A stale cache returned the wrong price", "Neither the vendor nor the currency table was at fault. A stale cache returned the wrong price.", false, false},
	{"The pilot misread the altimeter", "It would be a mistake to think that the pilot misread the altimeter.", true, true},
	{"The pilot misread the altimeter", "The altimeter did not fail; the pilot misread it.", false, false},
	{"The pilot misread the altimeter", "Without doubt the pilot misread the altimeter.", false, false},
	{"The pilot misread the altimeter", "Nothing suggests that the altimeter was broken. The pilot simply misread it.", false, false},
}

func TestHeldOutSentences(t *testing.T) {
	right := 0
	for _, tt := range heldOut {
		m := opposing(tt.snippet, read(Hypothesis{ID: "h", Text: tt.hypothesis}))
		if tt.against == (m != "") {
			right++
		}
		assert.Equal(t, tt.against != tt.wrong, m != "", "%s: %s", tt.snippet, m)
	}
	t.Logf("%d of %d right", right, len(heldOut))
}
