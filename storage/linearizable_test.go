package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSharedIsLinearizable(t *testing.T) {
	address := emptySchema(t)
	linearizable(t, openTest(t, address, Options{}), openTest(t, address, Options{}))
}

// linearizable has several clients read the log and a row of stores that share them, and change the row or both in one
// batch, each at the end and the version that it knows, which may be old ones. Porcupine looks for one order of the calls, which
// agrees with their moments, in which a single list and a single value would have answered the same.
func linearizable(t *testing.T, stores ...*Store) {
	type state struct {
		head    Head
		version uint64
		value   string
	}
	type call struct {
		kind          string // log, row, set or batch
		before, after state
	}
	type answer struct {
		state
		refused error
	}
	model := porcupine.Model{
		Init: func() any { return state{} },
		Step: func(now, input, output any) (bool, any) {
			is, c, a := now.(state), input.(call), output.(answer)
			switch {
			case c.kind == "log":
				return a.head == is.head, is
			case c.kind == "row":
				return a.version == is.version && a.value == is.value, is
			case errors.Is(a.refused, ErrBehind):
				return is.head != c.before.head, is
			case errors.Is(a.refused, ErrConflict):
				return is.version != c.before.version, is
			case c.kind == "set":
				return is.version == c.before.version, state{is.head, c.after.version, c.after.value}
			}
			return is.head == c.before.head && is.version == c.before.version, c.after
		},
	}
	began := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	changed := 0
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() {
			s, ctx := stores[client%len(stores)], context.Background()
			var known state
			for i := range 60 {
				at := time.Since(began)
				c, a := call{}, answer{}
				switch i % 5 {
				case 0:
					c.kind = "log"
					for e, err := range s.Read(ctx, "w", 0) {
						assert.NoError(t, err)
						a.head = Head{e.Seq, e.Chain}
					}
					known.head = a.head
				case 1:
					c.kind = "row"
					value, version, err := s.Table("w").Get(ctx, "row")
					if !errors.Is(err, ErrNotFound) {
						assert.NoError(t, err)
					}
					a.version, a.value = version, string(value)
					known.version = a.version
				default:
					payload := fmt.Append(nil, client, " ", i)
					c = call{"set", known, state{known.head, known.version + 1, string(payload)}}
					b := Batch{Changes: []Change{{"row", payload, &known.version}}}
					if i%5 > 2 {
						c.kind, c.after.head = "batch", known.head.next(sha256.Sum256(payload))
						b.At, b.Records = &known.head, []Record{{Payload: payload}}
					}
					if _, a.refused = s.Append(ctx, "w", b); a.refused == nil {
						known = c.after
					} else if !errors.Is(a.refused, ErrBehind) {
						assert.ErrorIs(t, a.refused, ErrConflict)
					}
				}
				mu.Lock()
				if c.after != (state{}) && a.refused == nil {
					changed++
				}
				history = append(history, porcupine.Operation{ClientId: client, Input: c, Call: int64(at), Output: a, Return: int64(time.Since(began))})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Positive(t, changed)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model, history, time.Minute))
	t.Logf("%d calls, of which %d changed something", len(history), changed)
}
