package judge

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"waymark/score/judge/reply"
)

// A Relay is an [Asker] for hosts that bring replies in turns: what has no reply yet is Pending and is
// noted. The caller works as far as it gets, shows [Relay.Open] to the host, and works anew with the
// replies, until nothing is open. Questions are recognised by their keys, so working anew has to ask the
// same questions.
//
// A reply that does not fit is Unparsable; it is not asked for again.
type Relay struct {
	model   string
	replies map[string]string

	mu   sync.Mutex
	open map[string]Question
}

// NewRelay knows the replies so far by the key of their question. model names who replies, for traces.
func NewRelay(model string, replies map[string]string) *Relay {
	return &Relay{model: model, replies: replies, open: map[string]Question{}}
}

// Ask answers from the replies.
func (r *Relay) Ask(ctx context.Context, q Question) Answer {
	if ctx.Err() != nil {
		return Answer{Outcome: Cancelled, Detail: ctx.Err().Error(), Model: r.model}
	}
	key := q.Key()
	text, ok := r.replies[key]
	if !ok {
		r.mu.Lock()
		r.open[key] = q
		r.mu.Unlock()
		return Answer{Outcome: Pending, Detail: "the host has not replied yet", Model: r.model}
	}
	a := read(text, q)
	a.Model, a.Attempts = r.model, 1
	return a
}

// Open lists the questions without a reply, ordered by their keys.
func (r *Relay) Open() []Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := make([]Question, 0, len(r.open))
	for _, q := range r.open {
		open = append(open, q)
	}
	slices.SortFunc(open, func(a, b Question) int { return cmp.Compare(a.Key(), b.Key()) })
	return open
}

// read makes an answer of what a model said.
func read(text string, q Question) Answer {
	object, err := reply.Read(text, q.Schema, q.Accept)
	switch {
	case err == nil:
		return Answer{Outcome: Answered, JSON: object, Reply: text}
	case reply.IsRefusal(text):
		return Answer{Outcome: Refused, Reply: text, Detail: "the model refused"}
	}
	return Answer{Outcome: Unparsable, Reply: text, Detail: err.Error()}
}
