// Package judge asks language models for judgements, and believes nothing that does not fit.
//
// Whoever needs a judgement writes a [Question]: instructions, a task, and the JSON Schema of the answer.
// An [Asker] gives an [Answer]: JSON that fits the schema, or an outcome that says why there is none.
// There is no third case, and nothing is ever filled in.
//
//	Question ─▶ cache ─▶ budget ─▶ a free place ─▶ circuit ─▶ retries ─▶ endpoint ─▶ reply
//	                                                                                  │
//	Answer ◀── outcome: answered · refused · timeout · unparsable · … ◀── read and validate
//
// [Client] asks any OpenAI-compatible chat endpoint. [Relay] asks through a host that carries questions
// and replies in turns, as the sampling of MCP does.
//
// Texts that come from others are data. [Fence] puts them between marks that they cannot forge, and the
// instructions of every question end with [DataRule].
package judge

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"sync"
)

// A Question is put to a model once and answered as one JSON object.
type Question struct {
	ID     string          // what is asked about, for traces; the model does not see it
	System string          // instructions, ours alone
	User   string          // the task; texts of others stand in a Fence
	Name   string          // of the schema: letters, digits and _
	Schema json.RawMessage // JSON Schema of an object, which the model is asked to satisfy
	// Accept is the schema of replies that are taken too, beside those that satisfy Schema: such as lack a member
	// that can be missed, or have others. The model is not shown it. Absent: Schema alone counts.
	Accept json.RawMessage
}

// Key identifies a question by its content: equal keys, equal questions to the model.
func (q Question) Key() string {
	var b []byte
	for _, part := range []string{q.System, q.User, q.Name, string(q.Schema)} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// SystemPrompt is the instructions with the schema in words, since many models are not shown the one beside.
func (q Question) SystemPrompt() string {
	return q.System + "\n\nAnswer with one JSON object and nothing else. It has to satisfy this JSON Schema:\n" + string(compact(q.Schema))
}

func compact(schema json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return schema
	}
	text, err := json.Marshal(v)
	if err != nil {
		return schema
	}
	return text
}

// Outcome says how asking ended.
type Outcome string

const (
	Answered    Outcome = "answered"    // JSON fits the schema
	Refused     Outcome = "refused"     // the model would not
	TimedOut    Outcome = "timeout"     // no reply in time
	Unparsable  Outcome = "unparsable"  // a reply without JSON that fits
	Unavailable Outcome = "unavailable" // the endpoint failed or turned the request down
	OverBudget  Outcome = "over_budget" // not asked: the budget is used up
	Pending     Outcome = "pending"     // the host has yet to bring the reply
	Cancelled   Outcome = "cancelled"   // the caller gave up
)

// An Answer is the end of one question.
type Answer struct {
	Outcome  Outcome
	JSON     json.RawMessage // only if Answered
	Reply    string          // the last thing the model said, whole, whatever the outcome
	Detail   string          // why there is no JSON
	Model    string
	Attempts int  // requests made; 0 from the cache
	Cached   bool // no request was made
	Tokens   int  // as the endpoint counts them, 0 if it does not
}

// An Asker puts questions to one model. It is safe for concurrent use and always returns.
type Asker interface {
	Ask(ctx context.Context, q Question) Answer
}

// All asks every question side by side and returns the answers in the order of the questions. How many
// requests are under way at once is up to the asker.
func All(ctx context.Context, a Asker, questions []Question) []Answer {
	answers := make([]Answer, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() { answers[i] = a.Ask(ctx, q) })
	}
	wg.Wait()
	return answers
}
