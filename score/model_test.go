package score

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/score/judge"
)

// model is a chat endpoint whose model reads what it is shown as real ones do: it honours fences that are
// whole and announced, and obeys whatever else looks like an instruction. How good a text is it sees from
// the numbers after the word "truly".
type model struct {
	*httptest.Server
	asked    atomic.Int64
	misdeed  func(text string) string // what it says instead, if not empty
	gullible bool                     // takes no notice of fences at all
}

var (
	fences      = regexp.MustCompile(`(?s)<data ([0-9a-f]{12}) label="[^"]*"( cut="[^"]*")?>\n(.*?)\n</data ([0-9a-f]{12})>`)
	instruction = regexp.MustCompile(`(?i)(ignore|disregard|forget)[^.]*(instructions|rubric|above)|give (it )?(a )?5|score of 5|you are now`)
	truth       = regexp.MustCompile(`truly ([1-5]) ([1-5]) ([1-5]) ([1-5]) ([1-5])`)
)

func newModel(t *testing.T) *model {
	m := &model{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string }
		}
		raw, _ := io.ReadAll(r.Body)
		if json.Unmarshal(raw, &body) != nil || len(body.Messages) < 2 {
			http.Error(w, "malformed", http.StatusBadRequest)
			return
		}
		n := m.asked.Add(1)
		text := m.reply(int(n), body.Messages[0].Content, body.Messages[1].Content)
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop",
			"message": map[string]any{"role": "assistant", "content": text}}}, "usage": map[string]any{"total_tokens": 100}})
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *model) reply(n int, system, user string) string {
	if m.misdeed != nil {
		if text := m.misdeed(user); text != "" {
			return text
		}
	}
	outside := system + "\n" + user
	if strings.Contains(system, judge.DataRule) && !m.gullible {
		outside = fences.ReplaceAllStringFunc(outside, func(f string) string {
			if s := fences.FindStringSubmatch(f); s[1] != s[4] || strings.ContainsAny(s[3], "<>") {
				return f // not whole: read on as anything else
			}
			return ""
		})
	}
	scores := []int{3, 3, 3, 3, 3}
	if s := truth.FindStringSubmatch(user); s != nil {
		for i := range scores {
			scores[i], _ = strconv.Atoi(s[i+1])
		}
	}
	if instruction.MatchString(outside) {
		scores = []int{5, 5, 5, 5, 5}
	}
	var b strings.Builder
	for i, name := range []string{"specificity", "novelty", "connection_validity", "feasibility", "grounding"} {
		form := `%s"%s":{"explanation":"because","score":%d}`
		if n%2 == 0 {
			form = `%s"%s":{"explanation":"because","score":"%d"}` // some models write strings
		}
		fmt.Fprintf(&b, form, map[bool]string{true: ","}[i > 0], name, scores[i])
	}
	return "My rating:\n```json\n{" + b.String() + "}\n```"
}

func (m *model) scorer(t *testing.T) *Scorer {
	c, err := judge.New(judge.Options{BaseURL: m.URL + "/v1", Model: "small", AllowPrivate: true, FirstDelay: time.Millisecond})
	require.NoError(t, err)
	return &Scorer{Judges: OneJudge("small", c)}
}
