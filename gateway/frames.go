package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// frames stands between what a child writes and the session. A session ends at the first line that is no
// message; real servers print banners and warnings.
//
//	child ── line ──▶ frames ── message ──▶ session
//	                     │ no message: counted, dropped
//	                     │ too long: dropped, its call gets an error instead
//	                     └ a flood: the child has to wait
type frames struct {
	in      io.ReadCloser
	read    *bufio.Reader
	limit   int
	endless int           // bytes of a line that will have no end
	rest    []byte        // of the line being passed on
	traffic *rate.Limiter // of its bytes

	noise   atomic.Int64 // lines that were no message
	tooLong atomic.Bool  // a message too long for an answer in its place ended the session
}

// errTooLong ends a session whose overlong message cannot be told to belong to any call.
var errTooLong = errors.New("a message longer than the limit")

func newFrames(in io.ReadCloser, limit int) *frames {
	return &frames{in: in, read: bufio.NewReaderSize(in, 64<<10), limit: limit, endless: 1 << 30, traffic: rate.NewLimiter(trafficASecond, trafficASecond)}
}

func (f *frames) Close() error { return f.in.Close() }

func (f *frames) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, tooLong, err := f.line()
		line = bytes.TrimSpace(line)
		f.hold(len(line))
		messages := []message(nil)
		if !tooLong {
			messages = mended(line)
		}
		switch {
		case tooLong:
			if f.rest = instead(line, f.limit); f.rest == nil {
				f.tooLong.Store(true)
				return 0, errTooLong
			}
		case len(line) == 0:
		case len(messages) == 0:
			f.noise.Add(1)
		}
		for _, m := range messages {
			f.rest = append(append(f.rest, m.raw...), '\n')
		}
		if err != nil && len(f.rest) == 0 {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// keptOfLong is how much is kept of the head of a line that is too long, and of its end.
const keptOfLong = 4 << 10

// line reads to the end of a line. Of one that is too long it gives head and end, which is where the id of
// a message stands.
func (f *frames) line() (line []byte, tooLong bool, err error) {
	var end []byte
	length := 0 // of what is not kept
	for {
		part, err := f.read.ReadSlice('\n')
		switch {
		case !tooLong && len(line)+len(part) <= f.limit:
			line = append(line, part...)
		case !tooLong:
			tooLong = true
			line = bytes.Clone(line[:min(len(line), keptOfLong)]) // lets the rest go
			fallthrough
		default:
			end = append(end, part...)
			if over := len(end) - keptOfLong; over > 0 {
				end = append(end[:0], end[over:]...)
			}
			if length += len(part); length > f.endless {
				return nil, true, errTooLong
			}
			f.hold(len(part))
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if tooLong {
				line = append(append(line, 0), end...) // no JSON holds a zero byte: nothing is read across the gap
			}
			return line, tooLong, err
		}
	}
}

// instead is the answer that takes the place of one that is too long, for the call with the id that
// stands at the head or the end of it.
func instead(line []byte, limit int) []byte {
	head, end, _ := bytes.Cut(line, []byte{0})
	id, ok := idAt(head, true)
	if !ok {
		id, ok = idAt(end, false)
	}
	if !ok {
		return nil
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": codeTooLong, "message": fmt.Sprintf("the answer is longer than %d bytes", limit)}})
	if err != nil {
		return nil
	}
	return append(answer, '\n')
}

// codeTooLong marks an error of ours; servers use codes from -32768 on.
const codeTooLong = -33001

// idAt finds the id of a message of which only the beginning or the end is known. Inside of results
// anything may stand, so only the first members and the last one are looked at.
func idAt(part []byte, head bool) (json.RawMessage, bool) {
	if head {
		if i := bytes.Index(part, []byte(`"result"`)); i >= 0 {
			part = part[:i]
		}
		if i := bytes.Index(part, []byte(`"error"`)); i >= 0 {
			part = part[:i]
		}
	} else if i := bytes.LastIndexAny(part, "}]"); i >= 0 && i == len(part)-1 {
		part = part[:i]
		if i := bytes.LastIndexAny(part, "}]"); i >= 0 {
			part = part[i+1:]
		}
	}
	i := bytes.Index(part, []byte(`"id"`))
	if i < 0 {
		return nil, false
	}
	rest := bytes.TrimLeft(part[i+len(`"id"`):], " \t")
	rest, ok := bytes.CutPrefix(rest, []byte(":"))
	if !ok {
		return nil, false
	}
	var id json.RawMessage
	if json.NewDecoder(bytes.NewReader(append(bytes.Clone(rest), ' '))).Decode(&id) != nil || id[0] == '{' || id[0] == '[' || id[0] == 'n' {
		return nil, false
	}
	return id, true
}

// What comes beyond this pace makes its sender wait, who then waits at its own pipe, and the other servers keep the processor.
const (
	trafficASecond = 128 << 20 // bytes
	lineCost       = 16 << 10  // bytes that a line counts for at least: 8,192 small ones a second pass unhindered
)

// hold lets a sender write at the pace of a busy server; nothing of it is dropped.
func (f *frames) hold(size int) {
	time.Sleep(f.traffic.ReserveN(time.Now(), min(max(size, lineCost), trafficASecond)).Delay())
}
