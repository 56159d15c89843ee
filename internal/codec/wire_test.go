package codec

import (
	"bytes"
	"encoding/gob"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write() []byte {
	w := &Writer{}
	w.Uint(300)
	w.Int(-7)
	w.Bool(true)
	w.Float(math.Inf(-1))
	w.Blob([]byte{0, 255})
	w.Floats([]float64{0.1, math.Copysign(0, -1)})
	w.Singles([]float32{1.5})
	w.Ints([]int32{-1, 1 << 30})
	return w.Bytes
}

func TestValuesComeBack(t *testing.T) {
	r := NewReader(write())
	assert.Equal(t, uint64(300), r.Uint())
	assert.Equal(t, int64(-7), r.Int())
	assert.True(t, r.Bool())
	assert.Equal(t, math.Inf(-1), r.Float())
	assert.Equal(t, []byte{0, 255}, r.Blob())
	floats := r.Floats()
	assert.Equal(t, 0.1, floats[0])
	assert.True(t, math.Signbit(floats[1]))
	assert.Equal(t, []float32{1.5}, r.Singles())
	assert.Equal(t, []int32{-1, 1 << 30}, r.Ints())
	require.NoError(t, r.End())
}

// What is moved on piece by piece is what would have been kept.
func TestWriterMovesOn(t *testing.T) {
	fill := func(w *Writer) {
		for i := range 300_000 {
			w.Uint(uint64(i))
			w.Blob([]byte("some text"))
		}
		w.Floats(make([]float64, 300_000))
		w.Blob(make([]byte, 3<<20))
	}
	kept := &Writer{}
	fill(kept)
	var moved bytes.Buffer
	w := &Writer{To: &moved}
	fill(w)
	assert.Less(t, cap(w.Bytes), 8<<20)
	require.NoError(t, w.Flush())
	assert.True(t, bytes.Equal(kept.Bytes, moved.Bytes()))

	failing := &Writer{To: failingWriter{}}
	fill(failing)
	assert.ErrorIs(t, failing.Flush(), io.ErrClosedPipe)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func read(r *Reader) error {
	r.Uint()
	r.Int()
	r.Bool()
	r.Float()
	r.Blob()
	r.Floats()
	r.Singles()
	r.Ints()
	return r.End()
}

// A decoder of a stream reads its own values and leaves those that follow.
func TestStreamsStandAmongValues(t *testing.T) {
	w := &Writer{}
	w.Uint(1)
	require.NoError(t, gob.NewEncoder(w).Encode([]string{"a", "b"}))
	w.Uint(2)
	r, list := NewReader(w.Bytes), []string(nil)
	assert.Equal(t, uint64(1), r.Uint())
	require.NoError(t, gob.NewDecoder(r).Decode(&list))
	assert.Equal(t, []string{"a", "b"}, list)
	assert.Equal(t, uint64(2), r.Uint())
	require.NoError(t, r.End())
}

func TestEveryCutIsAnError(t *testing.T) {
	all := write()
	for n := 0; n < len(all); n += 1 + n/100 {
		assert.ErrorIs(t, read(NewReader(all[:n:n])), ErrShort, "cut at %d", n)
	}
	assert.ErrorContains(t, read(NewReader(append(all, 0))), "after the last value")
}

func TestFail(t *testing.T) {
	r := NewReader([]byte{2, 9})
	assert.False(t, r.Bool())
	assert.ErrorContains(t, r.Err(), "2 is not a boolean")
	r.Fail("another")
	assert.ErrorContains(t, r.End(), "2 is not a boolean")
	assert.Zero(t, r.Uint())
}

func FuzzReader(f *testing.F) {
	f.Add(write())
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) { read(NewReader(b)) })
}
