package semantic

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

func speller() *Matcher {
	return NewMatcher([]Document{
		{Name: "billing:refund_payment", Text: "Refund a payment to a customer. Schedule it for later."},
		{Name: "forge:create_pull_request", Text: "Open a request to pull a branch. Care for the message and its parts."},
		{Name: "metrics:search_logs", Text: "Search the logs of a service for a word, break at the first."},
	}, DefaultThesaurus(), DefaultWordVectors(), nil)
}

func TestSpelled(t *testing.T) {
	m := speller()
	for text, want := range map[string]string{
		"refudn the custmer":            "refund the customer",
		"Serach, then shedule a mesage": "search, then schedule a message",
		"open a pullrequest":            "open a pull request",
		"reefund paymetn":               "refund payment",
		"defund":                        "defund", // another word
		"sned an emial":                 "send an email",
		"the servcie of metrics:serach": "the service of metrics:serach",
		// Right words, names and what is no plain word stay as they are.
		"bake bread, carve a coat":             "bake bread, carve a coat",
		"forget it, give me a massage":         "forget it, give me a massage",
		"pay Custmer for servcie_x":            "pay Custmer for servcie_x",
		"frobnicate https://serach.org/mesage": "frobnicate https://serach.org/mesage",
		"":                                     "",
	} {
		assert.Equal(t, want, m.Spelled(text, unknown))
	}
	assert.Equal(t, "serach now", m.Spelled("serach now", func(stem string) bool { return stem == "serach" }))
}

func unknown(string) bool { return false }

// What was corrected needs no correction, whatever was asked.
func FuzzSpelled(f *testing.F) {
	m := speller()
	for _, text := range []string{"refudn the custmer", "a-b_c.d/e@f", "Ünïcödé serach", "xxxxxxx \xff mesage", "serach."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })) > 8 {
			return // of more unknown words the first eight are looked at
		}
		once := m.Spelled(text, unknown)
		assert.Equal(t, once, m.Spelled(once, unknown))
	})
}
