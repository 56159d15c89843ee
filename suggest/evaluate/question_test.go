package evaluate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/suggest"
)

// repeating are tasks of six templates, each with eight near copies, and as many that stand alone.
func repeating() *Data {
	d := &Data{Name: "repeating"}
	for _, name := range []string{"fetch_page", "send_mail", "read_file", "post_message"} {
		d.Tools = append(d.Tools, catalog.Tool{ID: "x:" + name, Name: name, Description: "Uses " + name + " for one."})
	}
	add := func(intent string, tools ...string) {
		split := Train
		if len(d.Examples)%5 == 4 {
			split = Test
		}
		d.Examples = append(d.Examples, chain(fmt.Sprintf("e%03d", len(d.Examples)), split, intent, tools...))
	}
	alone := []string{"red", "green", "blue", "black", "white", "brown"}
	for i := range 48 {
		add(fmt.Sprintf("%s the page of order %d for Dana", []string{"fetch", "get", "load", "show", "open", "view"}[i%6], i), "x:fetch_page", "x:send_mail")
		if i < 6 {
			add("paint the wall "+alone[i], "x:read_file", "x:post_message")
		}
	}
	return d
}

func TestFirstContact(t *testing.T) {
	r, err := Evaluate(t.Context(), repeating(), Suggester(suggest.ProfileSeed, suggest.MeasureOptions{}), Options{FirstContact: true})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, value(t, r, QuestionNeeds, "hit@1"), .85, "a tool is found by its own text")
	assert.Greater(t, value(t, r, QuestionForeign, "seen"), 0.9)
	assert.GreaterOrEqual(t, value(t, r, QuestionForeign, "own_kept"), 0.85, "but for a word that nobody said before, the history's own words are not foreign")
}

// A session of two tasks: what came before changes the context, not the question.
func TestJoinedSessions(t *testing.T) {
	d := small()
	s := &spy{histories: map[string][]string{}}
	r, err := Evaluate(t.Context(), d, s.train, Options{FirstContact: true})
	require.NoError(t, err)
	assert.Contains(t, s.histories, "fetch mail mail fetch parse|")
	assert.Contains(t, s.histories, "fetch mail mail fetch parse|store this page")
	assert.Equal(t, value(t, r, QuestionSessions, "alone"), value(t, r, QuestionNext, "hit@1"))
	assert.Equal(t, value(t, r, QuestionSessions, "joined"), value(t, r, QuestionNext, "hit@1"), "the spy answers always the same")
}
