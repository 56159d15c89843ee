package storage

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The n-th operation on a file fails, for every n, alone or with all that follow it (as when a disk goes away); a write
// fails after half of its bytes. Without WAYMARK_NTH=all only every seventh n is tried, every 29th with -short. Whatever was
// acknowledged is there afterwards, and the directory opens.
func TestNthCallFails(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	broken := errors.New("input/output error")
	defer func() { inject = nil }()
	tried, step := 0, 7
	if testing.Short() {
		step = 29
	}
	if os.Getenv("WAYMARK_NTH") == "all" {
		step = 1
	}
	for i, onward := range []bool{false, true} {
		for n := 1 + 3*i*(step/7); ; n += step {
			tried++
			dir := t.TempDir()
			var calls atomic.Int64
			var failed atomic.Bool
			inject = func(op, path string) error {
				if call := int(calls.Add(1)); call == n || onward && call > n {
					failed.Store(true)
					return fmt.Errorf("%s %s: %w", op, path, broken)
				}
				return nil
			}
			acked := useStore(t, dir, broken)
			inject = nil
			b, err := Open(dir, Options{Logger: quiet})
			require.NoError(t, err, "call %d, onward %t", n, onward)
			l := mustLog(t, b, "default")
			events := collect(t, l.Read(t.Context(), 0))
			require.GreaterOrEqual(t, len(events), acked, "call %d, onward %t: acknowledged events are lost", n, onward)
			for _, err := range l.Snapshots(t.Context()) {
				require.NoError(t, err, "call %d, onward %t: half a snapshot has its name", n, onward)
			}
			mustAppend(t, l, Record{Payload: []byte("after")})
			require.NoError(t, b.Close())
			if !failed.Load() {
				break
			}
		}
	}
	t.Logf("%d operations on files failed, alone or with all after them: 0 acknowledged events lost", tried-2)
}

// useStore does what a service does and returns how many events were acknowledged. Every error must come from the fault.
func useStore(t *testing.T, dir string, broken error) (acked int) {
	b, err := Open(dir, Options{Logger: quiet})
	if err != nil {
		require.ErrorIs(t, err, broken)
		return 0
	}
	ok := func(err error) bool {
		if err != nil && !errors.Is(err, ErrReadOnly) {
			require.ErrorIs(t, err, broken)
		}
		return err == nil
	}
	defer func() { ok(b.Close()) }()
	l, err := b.Log("default")
	if !ok(err) {
		return 0
	}
	for i := range 3 {
		if _, err := l.Append(t.Context(), []Record{{Payload: fmt.Append(nil, i)}}); ok(err) {
			acked++
		}
		ok(putBytes(t.Context(), l, l.Head().Seq, []byte("derived")))
		ok(b.writeMark())
	}
	if _, err := l.Append(t.Context(), []Record{{Payload: []byte("last")}}); ok(err) {
		acked++
	}
	ok(l.DropSnapshots(t.Context()))
	return acked
}
