package eventlog

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"waymark/storage"
)

// Copy brings the log of a workspace in to up to that in from. It goes on where an earlier copy ended. Afterwards all
// of the target is read back and its chain compared; an error says at which event the two logs part.
func Copy(ctx context.Context, from, to Log, workspace string) error {
	source, err := from.Head(ctx, workspace)
	if err != nil {
		return fmt.Errorf("copy workspace %q: %w", workspace, err)
	}
	target, err := to.Head(ctx, workspace)
	if err != nil {
		return fmt.Errorf("copy workspace %q: %w", workspace, err)
	}
	if err := samePast(ctx, from, to, workspace, source, target); err != nil {
		return fmt.Errorf("copy workspace %q: %w", workspace, err)
	}
	end, err := appendAll(ctx, from, to, workspace, target)
	if err != nil {
		return fmt.Errorf("copy workspace %q: %w", workspace, err)
	}
	if err := verify(ctx, from, to, workspace, end); err != nil {
		return fmt.Errorf("verify the copy of workspace %q: %w", workspace, err)
	}
	return nil
}

// samePast checks that the target is a beginning of the source. Hashes of a chain differ from the first difference
// on, so that one is found by bisection.
func samePast(ctx context.Context, from, to Log, workspace string, source, target storage.Head) error {
	if target.Seq > source.Seq {
		return fmt.Errorf("the target has %d events and the source %d; the longer one is the source", target.Seq, source.Seq)
	}
	same := func(seq uint64) (bool, error) {
		a, err := At(ctx, from, workspace, seq)
		if err != nil {
			return false, err
		}
		b, err := At(ctx, to, workspace, seq)
		return a.Chain == b.Chain, err
	}
	if target.Seq == 0 {
		return nil
	}
	ok, err := same(target.Seq)
	if ok || err != nil {
		return err
	}
	first := sort.Search(int(target.Seq), func(i int) bool {
		if err != nil {
			return true
		}
		var ok bool
		ok, err = same(uint64(i) + 1)
		return !ok
	})
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: they differ from event %d on", ErrDiverged, first+1)
}

// appendAll appends what the source has after the end of the target.
func appendAll(ctx context.Context, from, to Log, workspace string, head storage.Head) (storage.Head, error) {
	var batch []storage.Sealed
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := to.Append(ctx, workspace, batch); err != nil {
			return err
		}
		batch, size = nil, 0
		return nil
	}
	for e, err := range from.Read(ctx, workspace, head.Seq, false) {
		if err == nil {
			err = e.Follows(head)
		}
		if err == nil && (len(batch) == MaxEvents || size+len(e.Payload) > MaxBytes) {
			err = flush()
		}
		if err != nil {
			return head, err
		}
		batch, size, head = append(batch, e), size+len(e.Payload), e.Head()
	}
	return head, flush()
}

// verify reads both logs from the beginning up to a head.
func verify(ctx context.Context, from, to Log, workspace string, end storage.Head) error {
	next, stop := iter.Pull2(from.Read(ctx, workspace, 0, false))
	defer stop()
	var head storage.Head
	for e, err := range to.Read(ctx, workspace, 0, false) {
		if err == nil {
			err = e.Follows(head)
		}
		if err != nil {
			return err
		}
		original, err, _ := next()
		if err != nil {
			return err
		}
		if head = e.Head(); head != original.Head() {
			return fmt.Errorf("%w: they differ from event %d on", ErrDiverged, head.Seq)
		}
		if head == end {
			return nil
		}
	}
	if head != end {
		return fmt.Errorf("%w: the copy ends at event %d instead of event %d", storage.ErrDamaged, head.Seq, end.Seq)
	}
	return nil
}
