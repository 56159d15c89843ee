package live

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"

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
	rows, err := vectorRows(ctx, table, e.Model(), texts)
	if err != nil {
		return err
	}
	var missing []string
	for i, t := range texts {
		if rows[i] == nil {
			missing = append(missing, t)
		}
	}
	for batch := range slices.Chunk(missing, vectorBatch) {
		vectors, err := e.Embed(ctx, batch)
		if err != nil {
			return err
		}
		for i, v := range vectors[:min(len(batch), len(vectors))] {
			row := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+4*len(v)), head())
			row, _ = binary.Append(row, binary.LittleEndian, v) // numbers have a fixed size
			if err := table.Put(ctx, vectorKey(e.Model(), batch[i]), row); err != nil {
				return err
			}
		}
	}
	return nil
}

// vectorRows reads the rows of the vectors of texts: the event after which one was stored and its numbers; nil: none.
func vectorRows(ctx context.Context, table storage.Table, model string, texts []string) ([][]byte, error) {
	rows := make([][]byte, len(texts))
	for i, t := range texts {
		row, _, err := table.Get(ctx, vectorKey(model, t))
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return nil, err
		}
		if len(row) >= 8 {
			rows[i] = row
		}
	}
	return rows, nil
}

// storedVectors reads the vectors that were stored before event at; a text without one has an empty
// vector.
func storedVectors(ctx context.Context, table storage.Table, model string, texts []string, at uint64) ([][]float32, error) {
	rows, err := vectorRows(ctx, table, model, texts)
	vectors := make([][]float32, len(texts))
	for i, row := range rows {
		if row != nil && binary.LittleEndian.Uint64(row) < at {
			vectors[i] = make([]float32, (len(row)-8)/4)
			_, _ = binary.Decode(row[8:], binary.LittleEndian, vectors[i]) // the row has their size
		}
	}
	return vectors, err
}

// vectorDigest names the vectors that the table has of these texts; empty: none.
func vectorDigest(ctx context.Context, table storage.Table, model string, texts []string) (string, error) {
	rows, err := vectorRows(ctx, table, model, texts)
	h, any := sha256.New(), false
	for _, row := range rows {
		any = any || row != nil
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(row))))
		h.Write(row[min(8, len(row)):])
	}
	if err != nil || !any {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
