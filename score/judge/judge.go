// Package judge asks language models for judgements and validates every reply against a schema.
//
// A [Question] has instructions, a task, and the JSON Schema of the answer. An [Asker] returns an [Answer]: JSON that
// satisfies the schema, or an outcome that says why there is none. Missing values are never filled in.
//
//	Question ─▶ cache ─▶ budget ─▶ a free place ─▶ circuit ─▶ retries ─▶ endpoint ─▶ reply
//	                                                                                  │
//	Answer ◀── outcome: answered · refused · timeout · unparsable · … ◀── read and validate
//
// [Client] asks any OpenAI-compatible chat endpoint.
//
// Texts of third parties are data. [Fence] encloses them in marks that they cannot forge, and the instructions of every
// question end with [DataRule].
package judge

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"sync"

	"waymark/score/judge/reply"
)

// A Question is put to a model once and answered as one JSON object.
type Question struct {
	ID     string          // of the item, for traces; not sent to the model
	System string          // instructions, without third-party text
	User   string          // the task; third-party texts are fenced
	Name   string          // of the schema: letters, digits and _
	Schema json.RawMessage // JSON Schema of an object, which the model is asked to satisfy
	// Accept is a more lenient schema of acceptable replies, for instance without an optional member. It is not sent to
	// the model. If absent, Schema alone applies.
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

// systemPrompt is the instructions with the schema in words, since many models are not shown the one beside.
func (q Question) systemPrompt() string {
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

// Outcome is the result of a question.
type Outcome string

const (
	Answered    Outcome = "answered"    // JSON fits the schema
	Refused     Outcome = "refused"     // the model would not
	TimedOut    Outcome = "timeout"     // no reply in time
	Unparsable  Outcome = "unparsable"  // a reply without JSON that fits
	Unavailable Outcome = "unavailable" // the endpoint failed or turned the request down
	OverBudget  Outcome = "over_budget" // not asked: the budget is used up
	Cancelled   Outcome = "cancelled"   // the caller gave up
)

// An Answer is the reply to one question.
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

// Read makes an answer of what a model said.
func Read(text string, q Question) Answer {
	object, err := reply.Read(text, q.Schema, q.Accept)
	switch {
	case err == nil:
		return Answer{Outcome: Answered, JSON: object, Reply: text}
	case reply.IsRefusal(text):
		return Answer{Outcome: Refused, Reply: text, Detail: "the model refused"}
	}
	return Answer{Outcome: Unparsable, Reply: text, Detail: err.Error()}
}

// An Asker puts questions to one model. It is safe for concurrent use and always returns.
type Asker interface {
	Ask(ctx context.Context, q Question) Answer
}

// All asks the questions concurrently and returns the answers in the order of the questions. The asker limits the
// number of concurrent requests.
func All(ctx context.Context, a Asker, questions []Question) []Answer {
	answers := make([]Answer, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() { answers[i] = a.Ask(ctx, q) })
	}
	wg.Wait()
	return answers
}
