package gateway

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forever is a text without an end.
type forever struct{ read int64 }

func (f *forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	f.read += int64(len(p))
	return len(p), nil
}

func (*forever) Close() error { return nil }

func TestALineWithoutAnEndEndsTheConnection(t *testing.T) {
	in := new(forever)
	f := newFrames(in, 1<<10)
	f.endless = 1 << 20
	_, err := f.Read(make([]byte, 100))
	assert.ErrorIs(t, err, errTooLong)
	assert.Less(t, in.read, int64(2<<20))
	assert.True(t, f.tooLong.Load())
}

// An answer that is too long is replaced by an error, and is not why the connection ends later.
func TestALongAnswerDoesNotEndTheConnection(t *testing.T) {
	f := newFrames(io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":7,"result":"`+strings.Repeat("x", 2000)+`"}`+"\n")), 1000)
	all, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Contains(t, string(all), "the answer is longer than 1000 bytes")
	assert.False(t, f.tooLong.Load())
}

// Messages are held up where they come as fast as they can, and none is lost.
func TestAFloodOfMessagesIsSlowedDown(t *testing.T) {
	const lines = 20_000
	message := `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n"
	f := newFrames(io.NopCloser(strings.NewReader(strings.Repeat(message, lines))), 1<<20)
	began, count := time.Now(), 0
	for all := bufio.NewScanner(f); all.Scan(); count++ {
	}
	assert.Equal(t, lines, count)
	assert.Greater(t, time.Since(began), 20*time.Millisecond)

	quiet := newFrames(io.NopCloser(strings.NewReader("")), 1<<20)
	for range 5000 {
		quiet.hold(100)
	}
	assert.Positive(t, quiet.traffic.Tokens(), "a busy server is not held up")
}

// Each event of a stream may be as long as the limit, whichever way its lines end.
func TestEventsOfALongStream(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		event := `data: {"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 600) + `"}` + end + end
		in := io.NopCloser(strings.NewReader(strings.Repeat(event, 100)))
		b := &events{in: in, lines: bufio.NewReader(in), limit: 1000}
		all, err := io.ReadAll(oneByOne{b, len(event)})
		require.NoError(t, err, "%q", end)
		assert.Equal(t, strings.Repeat(strings.ReplaceAll(event, "\r", ""), 100), string(all))
	}
}

// oneByOne reads no more than n bytes at once.
type oneByOne struct {
	io.Reader
	n int
}

func (o oneByOne) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), o.n)]) }
