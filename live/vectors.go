package live

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// A build never waits for an embeddings endpoint: vectors are fetched concurrently, stored in the
// workspace's table with the event they came after, and taken in by the build that follows.

// vectorBatch is how many texts go to the embeddings endpoint at once.
const vectorBatch = 64

// vectorKey names the vector of a text under a model.
func vectorKey(model, text string) string {
	h := sha256.Sum256([]byte(model + "\x00" + text))
	return "vector/" + hex.EncodeToString(h[:])
}

// fetchVectors asks, in the background, for the vectors that are missing; if there are new ones, a
// build takes them in. Asked while it is at work, it looks again when it is done: what it has read
// may not have the newest texts.
func (e *Engine) fetchVectors() {
	if e.opts.Embedder == nil || !e.startsBuilds() { // who starts builds fetches them
		return
	}
	e.vectors.stale.Store(true)
	if !e.vectors.fetch.TryLock() {
		return
	}
	e.life.background.Go(func() {
		for e.vectors.stale.Swap(false) {
			err := guarded(func() error { return e.fetchMissing(e.life.ctx) })
			if err != nil && e.life.ctx.Err() == nil {
				e.opts.Logger.Warn("embeddings are not available; search goes on without the missing ones", "workspace", e.name, "error", err)
			}
		}
		e.vectors.fetch.Unlock()
		if e.vectors.stale.Load() && e.life.ctx.Err() == nil { // asked between the last look and the unlocking
			e.fetchVectors()
		}
	})
}

func (e *Engine) fetchMissing(ctx context.Context) error {
	var counts *history.Counts
	if err := e.do(ctx, func(w *writer) { counts = w.state.Freeze() }); err != nil {
		return err
	}
	texts := suggest.Texts(counts)
	failed := storeMissing(ctx, e.table, e.opts.Embedder, texts, func() uint64 { return e.Head().Seq })
	digest, err := vectorDigest(ctx, e.table, e.opts.Embedder.Model(), texts)
	if err != nil {
		return err
	}
	err = e.do(ctx, func(w *writer) {
		if w.vectors == digest {
			return
		}
		w.vectors, w.changed = digest, true // the next op starts a build
	})
	return errors.Join(failed, err)
}

// storeMissing fetches the vectors that the table does not have. What was fetched before an error
// stays.
func storeMissing(ctx context.Context, table storage.Table, e Embedder, texts []string, head func() uint64) error {
	var missing []string
	for _, t := range texts {
		if _, _, err := table.Get(ctx, vectorKey(e.Model(), t)); errors.Is(err, storage.ErrNotFound) {
			missing = append(missing, t)
		} else if err != nil {
			return err
		}
	}
	for len(missing) > 0 {
		n := min(vectorBatch, len(missing))
		vectors, err := e.Embed(ctx, missing[:n])
		if err != nil {
			return err
		}
		for i, v := range vectors[:min(n, len(vectors))] {
			row := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+4*len(v)), head())
			for _, x := range v {
				row = binary.LittleEndian.AppendUint32(row, math.Float32bits(x))
			}
			if err := table.Put(ctx, vectorKey(e.Model(), missing[i]), row); err != nil {
				return err
			}
		}
		missing = missing[n:]
	}
	return nil
}

// storedVectors reads the vectors that were stored before event at; a text without one has an empty
// vector.
func storedVectors(ctx context.Context, table storage.Table, model string, texts []string, at uint64) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, t := range texts {
		row, _, err := table.Get(ctx, vectorKey(model, t))
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
		if len(row) < 8 || binary.LittleEndian.Uint64(row) >= at {
			continue
		}
		vectors[i] = make([]float32, (len(row)-8)/4)
		for j := range vectors[i] {
			vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(row[8+4*j:]))
		}
	}
	return vectors, nil
}

// vectorDigest names the vectors that the table has of these texts; empty: none.
func vectorDigest(ctx context.Context, table storage.Table, model string, texts []string) (string, error) {
	h, any := sha256.New(), false
	for _, t := range texts {
		row, _, err := table.Get(ctx, vectorKey(model, t))
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return "", err
		}
		any = any || len(row) >= 8
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(row))))
		h.Write(row[min(8, len(row)):])
	}
	if !any {
		return "", nil
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
