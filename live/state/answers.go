package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"waymark/storage"
)

// Answers are kept for a day, so that a request that is repeated is carried out once.
const (
	answerRow  = "once/"
	answerKept = 24 * time.Hour
	MaxAnswer  = storage.MaxPayload / 2 // longest body that is kept; base64 and the frame need the rest
)

// Answers are the kept answers of a workspace, by a name of the request.
type Answers struct{ Table storage.Table }

// Answer is a kept answer.
type Answer struct {
	BodySHA256 string            `json:"body_sha256"` // of the request
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers,omitempty"`
	Body       []byte            `json:"body,omitempty"`
	TooLong    bool              `json:"too_long,omitempty"` // carried out, but the body is not kept
	At         time.Time         `json:"at"`
	Claim      string            `json:"claim,omitempty"` // the process that is at work on the request; there is no answer yet
}

// Get returns the answer kept for a request, nil if there is none or it is older than a day.
func (a Answers) Get(ctx context.Context, name string, now time.Time) (*Answer, error) {
	value, _, err := a.Table.Get(ctx, answerRow+name)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kept := new(Answer)
	if err := json.Unmarshal(value, kept); err != nil {
		return nil, fmt.Errorf("idempotent answer: %w", errors.Join(storage.ErrDamaged, err))
	}
	if now.Sub(kept.At) >= answerKept {
		return nil, nil
	}
	return kept, nil
}

// Claim notes that a process works on a request, before it does, where several processes may get it. It returns what is
// kept of the request: an answer, or the claim of another process.
func (a Answers) Claim(ctx context.Context, name, process string, now time.Time) (*Answer, error) {
	for {
		kept, err := a.Get(ctx, name, now)
		if err != nil || kept != nil && kept.Claim != process {
			return kept, err
		}
		_, version, err := a.Table.Get(ctx, answerRow+name)
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
		value, err := json.Marshal(Answer{Claim: process, At: now.UTC()})
		if err == nil {
			_, err = a.Table.CAS(ctx, answerRow+name, version, value)
		}
		if !errors.Is(err, storage.ErrConflict) {
			return nil, err
		}
	}
}

// Release ends a claim of a process that gave no answer to keep.
func (a Answers) Release(ctx context.Context, name, process string, now time.Time) error {
	kept, err := a.Get(ctx, name, now)
	if err != nil || kept == nil || kept.Claim != process {
		return err
	}
	return a.Table.Delete(ctx, answerRow+name)
}

// Put keeps an answer.
func (a Answers) Put(ctx context.Context, name string, answer Answer) error {
	value, err := json.Marshal(answer)
	if err == nil {
		_, err = a.Table.Put(ctx, answerRow+name, value)
	}
	return err
}

// Sweep deletes the answers older than a day.
func (a Answers) Sweep(ctx context.Context, now time.Time) error {
	var old []string
	for entry, err := range a.Table.List(ctx, answerRow) {
		if err != nil {
			return err
		}
		var kept Answer
		if json.Unmarshal(entry.Value, &kept) != nil || now.Sub(kept.At) >= answerKept {
			old = append(old, entry.Key)
		}
	}
	return deleteAll(ctx, a.Table, old)
}
