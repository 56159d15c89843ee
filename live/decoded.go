package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"waymark/internal/numeric"
	"waymark/storage"
)

// decodedEvent is an event of the log, read. The value of one whose payload is gone is nil.
type decodedEvent struct {
	place
	kind  byte
	value any
}

// What a replay holds of the log does not grow with it: while one batch is folded, the next is read and decoded.
const (
	batchEvents = 1024
	batchBytes  = 4 << 20
)

type batch struct {
	raw    []storage.Event
	events []decodedEvent
	err    error // after the last event
}

// reader yields the events of a workspace after one of them.
type reader func(ctx context.Context, after uint64) iter.Seq2[storage.Event, error]

// decoded reads the events after one of them up to another, or to the head, on all processors and
// yields them in order.
func decoded(ctx context.Context, log reader, after, upTo uint64) iter.Seq2[decodedEvent, error] {
	return func(yield func(decodedEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		batches := make(chan batch)
		var reading sync.WaitGroup
		defer reading.Wait()
		defer cancel()
		reading.Go(func() {
			defer close(batches)
			b, size := batch{}, 0
			send := func() bool {
				b.decode()
				select {
				case batches <- b:
					b, size = batch{}, 0
					return true
				case <-ctx.Done():
					return false
				}
			}
			for e, err := range log(ctx, after) {
				if err != nil {
					b.err = fmt.Errorf("read the log: %w", err)
				}
				if err != nil || e.Seq > upTo {
					break
				}
				b.raw = append(b.raw, e)
				if size += len(e.Payload); (len(b.raw) == batchEvents || size >= batchBytes) && !send() {
					return
				}
			}
			send()
		})
		for b := range batches {
			for _, e := range b.events {
				if ctx.Err() != nil {
					break
				}
				if !yield(e, nil) {
					return
				}
			}
			if err := cmp.Or(ctx.Err(), b.err); err != nil {
				yield(decodedEvent{}, err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(decodedEvent{}, err)
		}
	}
}

// decode reads the events of a batch up to the first that cannot be read.
func (b *batch) decode() {
	errs := make([]error, len(b.raw))
	b.events = make([]decodedEvent, len(b.raw))
	numeric.Each(len(b.raw), func(i int) { b.events[i], errs[i] = decodeEvent(b.raw[i]) })
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		b.events, b.err = b.events[:i], errs[i]
	}
	b.raw = nil
}

func decodeEvent(e storage.Event) (decodedEvent, error) {
	d := decodedEvent{place: place{e.Seq, e.Chain}, kind: kindEpisode}
	if e.Erased {
		return d, nil
	}
	var err error
	if d.kind, d.value, err = decode(e.Payload); err != nil {
		if !errors.Is(err, ErrNewer) {
			err = fmt.Errorf("%w: %w", storage.ErrDamaged, err)
		}
		err = fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return d, err
}
