package ingest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"waymark/ingest/toolcall"
)

// Ask is a question that a host put to Waymark. It is taken if one of the next calls of the same request is a tool that
// the answer named.
type Ask struct {
	Time  time.Time
	Taken bool
}

// Tokens are what one message of a model cost, as the host wrote it down.
type Tokens struct {
	Time            time.Time
	In, Cached, Out int // Cached is no part of In
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
	if s.named == nil || !a.t.first("ask\x00"+id) {
		return
	}
	a.open = append(a.open, &openAsk{Ask{Time: s.started}, s.named, takenWithin})
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

// first reports whether a key is new in this import.
func (t *traces) first(key string) bool {
	h := xxhash.Sum64String(key)
	_, known := t.costs[h]
	if !known {
		t.costs[h] = 0
	}
	return !known
}

// spend emits the tokens of a message. Hosts write a message in several lines, whose later ones know more of its output,
// and again in sessions that resume it.
func (t *traces) spend(message string, cost Tokens) {
	h := xxhash.Sum64String("cost\x00" + message)
	before, known := t.costs[h]
	if known {
		cost.In, cost.Cached = 0, 0
	}
	if t.costs[h] = max(before, cost.Out); cost.In > 0 || cost.Cached > 0 || cost.Out > before {
		cost.Out = max(0, cost.Out-before)
		t.emit(Item{Tokens: &cost})
	}
}

func count(f fields, name string) int {
	n, err := strconv.Atoi(string(f.value(name)))
	if err != nil || n < 0 {
		return 0
	}
	return n
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
