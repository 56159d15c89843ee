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
)

// A build never waits for an embeddings endpoint: vectors are fetched concurrently, stored in the workspace's table
// with the last event before them, and used by the next build.

// vectorBatch is how many texts one request to the embeddings endpoint contains.
const vectorBatch = 64

// vectorKey returns the key of the row with the vector of a text under a model.
func vectorKey(model, text string) string {
	h := sha256.Sum256([]byte(model + "\x00" + text))
	return "vector/" + hex.EncodeToString(h[:])
}

// fetchVectors fetches the missing vectors in the background; if there are new ones, a build uses them. A call during
// a fetch causes another fetch after it, because the running one may lack the newest texts.
func (w *writer) fetchVectors() {
	if w.opts.Embedder == nil || !w.startsBuilds() { // the process that starts builds fetches them
		return
	}
	if w.fetching {
		w.fetchAgain = true
		return
	}
	w.fetching, w.fetchAgain = true, false
	counts := w.state.Freeze()
	e := w.Engine
	e.life.background.Go(func() {
		var digest string
		var read bool
		err := guarded(func() (err error) {
			digest, read, err = e.fetchMissing(e.life.ctx, suggest.Texts(counts))
			return err
		})
		if err != nil && e.life.ctx.Err() == nil {
			e.opts.Logger.Warn("embeddings are not available; search goes on without the missing ones", "workspace", e.name, "error", err)
		}
		_ = e.do(e.life.ctx, func(w *writer) { // a closed workspace fetches when it is opened
			if read && w.vectors != digest {
				w.vectors, w.folded.changes = digest, w.folded.changes+1 // which starts a build
			}
			if w.fetching = false; w.fetchAgain {
				w.fetchVectors()
			}
		})
	})
}

// fetchMissing fetches and stores the vectors that the table does not have. It returns the digest of the
// vectors of all texts, empty if there are none. read is false if the table cannot be read or written.
// Vectors fetched before an error stay.
func (e *Engine) fetchMissing(ctx context.Context, texts []string) (digest string, read bool, err error) {
	model := e.opts.Embedder.Model()
	rows, err := vectorRows(ctx, e.table, model, texts)
	if err != nil {
		return "", false, err
	}
	var missing []int
	for i := range texts {
		if rows[i] == nil {
			missing = append(missing, i)
		}
	}
	for batch := range slices.Chunk(missing, vectorBatch) {
		asked := make([]string, len(batch))
		for k, i := range batch {
			asked[k] = texts[i]
		}
		var vectors [][]float32
		if vectors, err = e.opts.Embedder.Embed(ctx, asked); err != nil {
			break
		}
		for k, v := range vectors[:min(len(batch), len(vectors))] {
			row := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+4*len(v)), e.Head().Seq)
			row, _ = binary.Append(row, binary.LittleEndian, v) // numbers have a fixed size
			if failed := e.table.Put(ctx, vectorKey(model, asked[k]), row); failed != nil {
				return "", false, failed
			}
			rows[batch[k]] = row
		}
	}
	h, any := sha256.New(), false
	for _, row := range rows {
		any = any || row != nil
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(row))))
		h.Write(row[min(8, len(row)):])
	}
	if any {
		digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	return digest, true, err
}

// vectorRows reads the rows of the vectors of texts: the last event before it was stored, and its numbers; nil: none.
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
