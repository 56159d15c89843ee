// Package codec reads and writes a compact binary form, and reads JSON strictly.
//
// [Writer] and [Reader] are for large derived data such as snapshots, where a general encoding would cost more than the
// data. The form is little endian, with lengths before the content.
//
// [Unmarshal] and [UnmarshalForeign] read JSON from outside: bodies, frames, files. encoding/json accepts duplicate
// names (the last wins), folds the case of names (even ſ to s), repairs invalid UTF-8 and leaves trailing data to the
// caller. Each of these lets two parsers read two different requests from the same bytes. Here an input is exactly one
// value, and a rejected value gives the same error message in every input.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// ErrShort says that the bytes end before the value does.
var ErrShort = errors.New("bytes end within a value")

// A Writer appends values to Bytes. If To is not nil, it writes Bytes to To from time to time and empties it.
type Writer struct {
	Bytes []byte
	To    io.Writer
	err   error
}

// piece is the size in bytes at which Bytes is written to To.
const piece = 1 << 20

func (w *Writer) spill() {
	if w.To != nil && len(w.Bytes) >= piece {
		w.Flush()
	}
}

// Flush writes the remaining bytes to To and returns the first error of To.
func (w *Writer) Flush() error {
	if w.To != nil && w.err == nil {
		_, w.err = w.To.Write(w.Bytes)
	}
	if w.To != nil {
		w.Bytes = w.Bytes[:0]
	}
	return w.err
}

// Uint writes an unsigned number, small ones in few bytes.
func (w *Writer) Uint(x uint64) {
	w.Bytes = binary.AppendUvarint(w.Bytes, x)
	w.spill()
}

// Int writes a signed number, small ones in few bytes.
func (w *Writer) Int(x int64) { w.Bytes = binary.AppendVarint(w.Bytes, x) }

// Bool writes a boolean.
func (w *Writer) Bool(x bool) {
	b := byte(0)
	if x {
		b = 1
	}
	w.Bytes = append(w.Bytes, b)
}

// Float writes a number bit for bit.
func (w *Writer) Float(x float64) {
	w.Bytes = binary.LittleEndian.AppendUint64(w.Bytes, math.Float64bits(x))
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	w.Bytes = append(w.Bytes, b...)
	w.spill()
	return len(b), w.err
}

// Blob writes bytes, after their length.
func (w *Writer) Blob(b []byte) {
	w.Uint(uint64(len(b)))
	w.Bytes = append(w.Bytes, b...)
	w.spill()
}

// Floats writes numbers bit for bit.
func (w *Writer) Floats(list []float64) { fixed(w, list) }

// Singles writes numbers bit for bit.
func (w *Writer) Singles(list []float32) { fixed(w, list) }

func fixed[T any](w *Writer, list []T) {
	w.Uint(uint64(len(list)))
	for part := range slices.Chunk(list, piece/8) {
		w.Bytes, _ = binary.Append(w.Bytes, binary.LittleEndian, part) // numbers have a fixed size
		w.spill()
	}
}

// Ints writes the differences of neighbours, so that sorted lists take one or two bytes per number.
func (w *Writer) Ints(list []int32) {
	w.Uint(uint64(len(list)))
	before := int32(0)
	for _, x := range list {
		w.Bytes = binary.AppendVarint(w.Bytes, int64(x)-int64(before))
		before = x
		w.spill()
	}
}

// A Reader reads the values that a [Writer] wrote, in the same order. After the first error it returns zero values;
// [Reader.End] returns that error. Damaged lengths never make it allocate more than a few times the size of the input.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads from b. Values that it returns may share memory with b, which must not change any more.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Err returns the first error so far.
func (r *Reader) Err() error { return r.err }

// Fail sets the error of the reader, unless it has one. It is for values that are well-formed but invalid.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.rest = nil
}

// End returns the first error, or one if anything is left to read.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		return fmt.Errorf("%d bytes after the last value", len(r.rest))
	}
	return r.err
}

// Read implements io.Reader.
func (r *Reader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// ReadByte implements io.ByteReader, so that a decoder reads no further than its value.
func (r *Reader) ReadByte() (byte, error) {
	b := [1]byte{}
	_, err := r.Read(b[:])
	return b[0], err
}

// Rest returns the remaining bytes.
func (r *Reader) Rest() []byte { return r.take(uint64(len(r.rest))) }

// take returns the next n bytes without a copy, with a capacity at which appending copies. After an error no bytes
// remain, so callers need not check each value.
func (r *Reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.Fail("%w: %d bytes wanted, %d left", ErrShort, n, len(r.rest))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Uint reads what [Writer.Uint] wrote.
func (r *Reader) Uint() uint64 {
	x, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.Fail("%w: no number", ErrShort)
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

// Int reads what [Writer.Int] wrote.
func (r *Reader) Int() int64 {
	x, n := binary.Varint(r.rest)
	if n <= 0 {
		r.Fail("%w: no number", ErrShort)
		return 0
	}
	r.rest = r.rest[n:]
	return x
}

// Bool reads what [Writer.Bool] wrote.
func (r *Reader) Bool() bool {
	b := r.take(1)
	if b != nil && b[0] > 1 {
		r.Fail("%d is not a boolean", b[0])
	}
	return b != nil && b[0] == 1
}

// Float reads what [Writer.Float] wrote.
func (r *Reader) Float() float64 {
	if b := r.take(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Len reads the length of a list whose elements take at least size bytes each.
func (r *Reader) Len(size int) int {
	n := r.Uint()
	if n > uint64(len(r.rest))/uint64(max(size, 1)) {
		r.Fail("%w: a list of %d elements, %d bytes left", ErrShort, n, len(r.rest))
		return 0
	}
	return int(n)
}

// Blob reads what [Writer.Blob] wrote. It shares the reader's memory.
func (r *Reader) Blob() []byte { return r.take(uint64(r.Len(1))) }

// Floats reads what [Writer.Floats] wrote.
func (r *Reader) Floats() []float64 { return list[float64](r, 8) }

// Singles reads what [Writer.Singles] wrote.
func (r *Reader) Singles() []float32 { return list[float32](r, 4) }

// Ints reads what [Writer.Ints] wrote.
func (r *Reader) Ints() []int32 {
	n := r.Len(1)
	if n == 0 {
		return nil
	}
	values, x := make([]int32, n), int64(0)
	for i := range values {
		d, used := binary.Varint(r.rest)
		if x += d; used <= 0 || x != int64(int32(x)) {
			r.Fail("%w: no number of 32 bits", ErrShort)
			return nil
		}
		values[i], r.rest = int32(x), r.rest[used:]
	}
	return values
}

// list allocates only after take has found all the bytes, so a damaged length cannot allocate more memory than there is
// data.
func list[T any](r *Reader, size int) []T {
	n := r.Len(size)
	b := r.take(uint64(n * size))
	if n == 0 || b == nil {
		return nil
	}
	values := make([]T, n)
	_, _ = binary.Decode(b, binary.LittleEndian, values) // b has their size
	return values
}
