package ingest

import (
	"encoding/json"
	"strings"
	"time"

	"waymark/ingest/toolcall"
)

// Ask is a question that a host put to Waymark. It is taken if one of the next calls of the same request is a tool that
// the answer named.
type Ask struct {
	Time  time.Time
	Taken bool
}

// takenWithin is how many calls after an answer may take it.
const takenWithin = 3

// openAsk is an answered question whose next calls are awaited.
type openAsk struct {
	Ask
	named map[string]bool
	left  int
}

// asks follows the questions of one request from their answers to the calls after them.
type asks struct {
	t    *traces
	open []*openAsk
}

// answered opens a question; the same one is in a session and in those that resume it.
func (a *asks) answered(s *step, id string) {
	if s.named == nil || a.t.asked[id] {
		return
	}
	a.t.asked[id] = true
	a.open = append(a.open, &openAsk{Ask{Time: s.Started}, s.named, takenWithin})
}

func (a *asks) called(tool string) {
	for _, q := range a.open {
		if q.left > 0 {
			q.left--
			q.Taken = q.Taken || q.named[tool]
		}
	}
}

func (a *asks) close() {
	for _, q := range a.open {
		a.t.emit(Item{Ask: &q.Ask})
	}
}

// namedIn are the ids that an answer of Waymark names: the answer itself where the host keeps that, else its sentence.
func namedIn(value json.RawMessage) map[string]bool {
	named, text := map[string]bool{}, toolcall.Text(value)
	var answer struct {
		Suggestions, Results []struct{ ID string }
		DAG                  struct{ Tasks []struct{ Tool string } }
	}
	for _, body := range []string{text, string(value)} {
		if json.Unmarshal([]byte(body), &answer) == nil {
			break
		}
	}
	for _, list := range [][]struct{ ID string }{answer.Suggestions, answer.Results} {
		for _, x := range list {
			named[x.ID] = true
		}
	}
	for _, x := range answer.DAG.Tasks {
		named[x.Tool] = true
	}
	if len(named) == 0 {
		if strings.HasPrefix(text, "After ") { // then the context comes first
			_, text, _ = strings.Cut(text, "first: ")
		}
		for word := range strings.FieldsSeq(text) {
			named[strings.TrimRight(word, ".,;:")] = true
		}
	}
	return named
}
