package live

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"waymark/storage"
)

// decodedEvent is an event of the log, read. The value of one whose payload is gone is nil.
type decodedEvent struct {
	place
	kind  byte
	value any
}

// A batch is decoded by one goroutine. Of them, two a processor and two more are held at a time: what
// a replay holds of the log does not grow with it.
const (
	batchEvents = 256
	batchBytes  = 1 << 20
)

type batch struct {
	raw     []storage.Event
	decoded []decodedEvent
	err     error // of the event after the last that is decoded
	done    chan struct{}
}

// reader yields the events of a workspace after one of them.
type reader func(ctx context.Context, after uint64) iter.Seq2[storage.Event, error]

// decoded reads the events after one of them up to another, or to the head, on all processors and
// yields them in order. A payload that is to be skipped counts as erased.
func decoded(ctx context.Context, log reader, after, upTo uint64, skip func(seq uint64) bool) iter.Seq2[decodedEvent, error] {
	return func(yield func(decodedEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		processors := runtime.GOMAXPROCS(0)
		ordered, work := make(chan *batch, 2*processors), make(chan *batch)
		var group sync.WaitGroup
		defer group.Wait()
		defer cancel()
		group.Go(func() {
			defer close(ordered)
			defer close(work)
			readBatches(log(ctx, after), upTo, func(b *batch) bool {
				select {
				case ordered <- b: // first, so that as many wait as there is room for
				case <-ctx.Done():
					return false
				}
				if b.err != nil && len(b.raw) == 0 {
					close(b.done)
					return true
				}
				select {
				case work <- b:
					return true
				case <-ctx.Done():
					return false
				}
			})
		})
		for range processors {
			group.Go(func() {
				for b := range work {
					b.decode(skip)
				}
			})
		}
		for b := range ordered {
			select {
			case <-b.done:
			case <-ctx.Done():
			}
			if err := ctx.Err(); err != nil {
				yield(decodedEvent{}, err)
				return
			}
			for _, e := range b.decoded {
				if !yield(e, nil) {
					return
				}
			}
			if b.err != nil {
				yield(decodedEvent{}, b.err)
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(decodedEvent{}, err)
		}
	}
}

// readBatches cuts the log into batches until there is no more or send says no.
func readBatches(events iter.Seq2[storage.Event, error], upTo uint64, send func(*batch) bool) {
	b, size := &batch{done: make(chan struct{})}, 0
	for e, err := range events {
		if err != nil {
			b.err = fmt.Errorf("read the log: %w", err)
			break
		}
		if e.Seq > upTo {
			break
		}
		b.raw = append(b.raw, e)
		if size += len(e.Payload); len(b.raw) < batchEvents && size < batchBytes {
			continue
		}
		if !send(b) {
			return
		}
		b, size = &batch{done: make(chan struct{})}, 0
	}
	if len(b.raw) > 0 || b.err != nil {
		send(b)
	}
}

func (b *batch) decode(skip func(seq uint64) bool) {
	defer close(b.done)
	b.decoded = make([]decodedEvent, 0, len(b.raw))
	for i, e := range b.raw {
		if i%16 == 0 {
			runtime.Gosched()
		}
		d := decodedEvent{place: place{e.Seq, e.Chain}, kind: kindEpisode}
		if !e.Erased && (skip == nil || !skip(e.Seq)) {
			var err error
			if d.kind, d.value, err = decode(e.Payload); err != nil {
				if !errors.Is(err, ErrNewer) {
					err = fmt.Errorf("%w: %w", storage.ErrDamaged, err)
				}
				b.err = fmt.Errorf("event %d: %w", e.Seq, err)
				break
			}
		}
		b.decoded = append(b.decoded, d)
	}
	b.raw = nil
}
