package gateway

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	f := newFrames(in, 1<<10, new(listeners))
	_, err := f.Read(make([]byte, 100))
	assert.ErrorIs(t, err, errTooLong)
	assert.Less(t, in.read, int64(1<<20))
}

// An answer that is too long is replaced by an error, wherever its id stands.
func TestALongAnswerDoesNotEndTheConnection(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	for _, line := range []string{`{"jsonrpc":"2.0","id":7,"result":"` + long + `"}`, `{"result":{"id":9,"x":"` + long + `"},"id":7}`,
		` { "result" : "` + long + `" , "jsonrpc" : "2.0" , "id" : 7 } `} {
		f := newFrames(io.NopCloser(strings.NewReader(line+"\n")), 1000, new(listeners))
		all, err := io.ReadAll(f)
		require.NoError(t, err)
		assert.Contains(t, string(all), "the answer is longer than 1000 bytes")
		assert.Contains(t, string(all), `"id":7`)
	}
	for _, line := range []string{`{"result":{"x":"` + long + `","id":9}}`, `{"result":"` + long + `","x":"\"id\":7"}`, `{"result":"` + long + `","id":{"a":7}}`} {
		_, err := io.ReadAll(newFrames(io.NopCloser(strings.NewReader(line+"\n")), 1000, new(listeners)))
		assert.ErrorIs(t, err, errTooLong, "no id of this message")
	}
}

// Each event of a stream may be as long as the limit, whichever way its lines end.
func TestEventsOfALongStream(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		event := `data: {"jsonrpc":"2.0","method":"` + strings.Repeat("x", 600) + `"}` + end + end
		b := newEvents(io.NopCloser(strings.NewReader(strings.Repeat(event, 100))), nil, 1000, new(listeners))
		all, err := io.ReadAll(oneByOne{b, len(event)})
		require.NoError(t, err, "%q", end)
		assert.Equal(t, strings.Repeat(strings.ReplaceAll(event, "\r", ""), 100), string(all))
	}
}

// Messages are held up where they come as fast as they can, and none is lost.
func TestAFloodOfMessagesIsSlowedDown(t *testing.T) {
	const lines = 10_000 // 8,192 are read at once
	message := `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n"
	f := newFrames(io.NopCloser(strings.NewReader(strings.Repeat(message, lines))), 1<<20, new(listeners))
	began := time.Now()
	all, err := io.ReadAll(f)
	require.NoError(t, err)
	assert.Equal(t, lines, strings.Count(string(all), "\n"))
	assert.Greater(t, time.Since(began), 20*time.Millisecond) // never less, however fast the machine is

	quiet := newFrames(io.NopCloser(strings.NewReader(strings.Repeat(message, 5000))), 1<<20, new(listeners))
	_, err = io.Copy(io.Discard, quiet)
	require.NoError(t, err)
	assert.Positive(t, quiet.traffic.Tokens(), "a busy server is not held up")
}

// Data of several lines is one message; an event that is too long is an error of the call, and noise is dropped.
func TestEvents(t *testing.T) {
	for in, want := range map[string]string{
		"id: 1\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"ping\"}\n\n": "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n\n",
		"event: endpoint\ndata: /m\n\n":                                      "event: endpoint\ndata: /m\n\n",
		"data: ready\n\n":                                                    "",
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"ping\"}":                    "data: {\"jsonrpc\":\"2.0\",\"method\":\"ping\"}\n\n",
	} {
		all, err := io.ReadAll(newEvents(io.NopCloser(strings.NewReader(in)), nil, 1000, new(listeners)))
		require.NoError(t, err)
		assert.Equal(t, want, string(all), in)
	}
	for _, in := range []string{"data: " + strings.Repeat("x", 2000), strings.Repeat(": no end\n", 500), strings.Repeat("data: "+strings.Repeat("x", 600)+"\n", 3)} {
		all, _ := io.ReadAll(newEvents(io.NopCloser(strings.NewReader(in)), json.RawMessage("7"), 1000, new(listeners)))
		assert.Contains(t, string(all), `"id":7`)
		assert.Contains(t, string(all), "longer than 1000 bytes")
	}
}

// oneByOne reads no more than n bytes at once.
type oneByOne struct {
	io.Reader
	n int
}

func (o oneByOne) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), o.n)]) }

func TestMended(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}`
	const kept = `{"id":1,"jsonrpc":"2.0","result":{"_meta":{"io.waymark/raw":"{\"n\":12345678901234567890}"},"content":[]}}`
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"an answer", answer, []string{kept}},
		{"a batch", `[` + answer + `, 1, [], {"jsonrpc":"2.0","method":"ping"}]`, []string{kept, `{"jsonrpc":"2.0","method":"ping"}`}},
		{"another version", `{"jsonrpc":"1.0","method":"ping"}`, []string{`{"jsonrpc":"2.0","method":"ping"}`}},
		{"an error as text", `{"jsonrpc":"2.0","id":"a","error":"no <disk>"}`, []string{`{"error":{"code":-32603,"message":"no <disk>"},"id":"a","jsonrpc":"2.0"}`}},
		{"a code as text", `{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"full"}}`, []string{`{"error":{"code":-32603,"message":"full"},"id":1,"jsonrpc":"2.0"}`}},
		{"neither", `{"jsonrpc":"2.0","id":1}`, []string{`{"error":{"code":-32603,"message":"the answer has neither a result nor an error"},"id":1,"jsonrpc":"2.0"}`}},
		{"capabilities as lists", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":[],"logging":true,"prompts":null},"serverInfo":{"name":"s","version":1}}}`,
			[]string{`{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"logging":{},"tools":{}},"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":""}}}`}},
		{"listChanged as text", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":"true"}},"serverInfo":"s"}}`,
			[]string{`{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"tools":{}},"protocolVersion":"2025-06-18","serverInfo":{"name":"","version":""}}}`}},
		{"a result that has capabilities", `{"jsonrpc":"2.0","id":1,"result":{"capabilities":[]}}`, []string{`{"id":1,"jsonrpc":"2.0","result":{"_meta":{"io.waymark/raw":"{\"capabilities\":[]}"},"content":[]}}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range mended([]byte(tt.in)) {
				got = append(got, string(m.raw))
			}
			assert.Equal(t, tt.want, got)
		})
	}
	for _, noise := range []string{"ready", "42", "null", "[]", "[[]]", "[1,2]", `["log","x"]`, `{"level":"info"}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","method":5}`,
		`{"jsonrpc":"2.0","id":{"a":1},"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`, `{"jsonrpc":`, ""} {
		assert.Empty(t, mended([]byte(noise)), noise)
	}
}

func FuzzMended(f *testing.F) {
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"capabilities":[],"serverInfo":[]}}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, m := range mended(text) {
			var f map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(m.raw, &f))
			require.JSONEq(t, `"2.0"`, string(f["jsonrpc"]))
			require.Len(t, mended(m.raw), 1)
			_, err := jsonrpc.DecodeMessage(m.raw)
			require.NoError(t, err)
		}
	})
}

func TestExpand(t *testing.T) {
	set := func(name string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/ada", "EMPTY": "", "A_1": "x"}[name]
		return v, ok
	}
	for _, tt := range []struct{ in, want string }{
		{"${HOME}/x", "/home/ada/x"}, {"a${env:A_1}b{env:A_1}", "axbx"}, {"${EMPTY}", ""},
		{"${UNSET:-${HOME}/.tools}:/x", "/home/ada/.tools:/x"}, {"${UNSET:-${Y:-${HOME}}}", "/home/ada"}, {"${A_1:-{}}", "x"}, {"${UNSET-d}", "d"},
		{"$HOME {x} $", "$HOME {x} $"},
	} {
		got, err := expand(tt.in, set)
		require.NoError(t, err, tt.in)
		assert.Equal(t, tt.want, got, tt.in)
	}
	for in, want := range map[string]string{
		"${UNSET}": "the variable UNSET is not set", "${input:key}": "filled in by a host", "${workspaceFolder}/a": "filled in by a host", "${HOME": "is not closed",
		"${HOME:?gone}": "filled in by a host", "${HOME:+set}": "filled in by a host", "${UNSET:-${input:x}}": "filled in by a host", "${}": "filled in by a host",
	} {
		_, err := expand(in, set)
		assert.ErrorContains(t, err, want, in)
	}
}
