package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"waymark/internal/numeric"
	"waymark/storage"
)

// decodedEvent is a decoded event of the log. Its value is nil if the payload was erased or is not wanted.
type decodedEvent struct {
	place
	kind  byte
	value any
}

// The limits of one batch of events. They keep the memory of a replay independent of the length of the log.
const (
	batchEvents = 1024
	batchBytes  = 4 << 20
)

// reader yields the events of a workspace after an event.
type reader func(ctx context.Context, after uint64) iter.Seq2[storage.Event, error]

// everything and ofKind are filters for the events to decode.
func everything(storage.Event) bool { return true }

func ofKind(kinds ...byte) func(storage.Event) bool {
	return func(e storage.Event) bool { return len(e.Payload) > 0 && slices.Contains(kinds, e.Payload[0]) }
}

// decoded yields the events after one event up to another, or to the head, in order. It decodes the values of the
// events that want selects. Batches of them are decoded on all processors. An error ends the iteration.
func decoded(ctx context.Context, log reader, after, upTo uint64, want func(storage.Event) bool) iter.Seq2[decodedEvent, error] {
	return func(yield func(decodedEvent, error) bool) {
		var raw []storage.Event
		size := 0
		flush := func() bool {
			events, errs := make([]decodedEvent, len(raw)), make([]error, len(raw))
			numeric.Each(len(raw), func(i int) {
				e := raw[i]
				if events[i].place = (place{e.Seq, e.Chain}); !e.Erased && want(e) {
					events[i].kind, events[i].value, errs[i] = decodeEvent(e)
				}
			})
			for i := range events {
				err := cmp.Or(ctx.Err(), errs[i])
				if !yield(events[i], err) || err != nil {
					return false
				}
			}
			raw, size = raw[:0], 0
			return true
		}
		for e, err := range log(ctx, after) {
			if err != nil {
				if flush() {
					yield(decodedEvent{}, fmt.Errorf("read the log: %w", err))
				}
				return
			}
			if e.Seq > upTo {
				break
			}
			raw = append(raw, e)
			if size += len(e.Payload); (len(raw) == batchEvents || size >= batchBytes) && !flush() {
				return
			}
		}
		flush()
	}
}

func decodeEvent(e storage.Event) (kind byte, value any, err error) {
	if kind, value, err = decode(e.Payload); err != nil {
		if !errors.Is(err, ErrNewer) {
			err = fmt.Errorf("%w: %w", storage.ErrDamaged, err)
		}
		err = fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return kind, value, err
}
