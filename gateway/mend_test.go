package gateway

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMended(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}`
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"an answer", answer, []string{answer}},
		{"a batch", `[` + answer + `, 1, [], {"jsonrpc":"2.0","method":"ping"}]`, []string{answer, `{"jsonrpc":"2.0","method":"ping"}`}},
		{"another version", `{"jsonrpc":"1.0","id":1,"result":{}}`, []string{`{"id":1,"jsonrpc":"2.0","result":{}}`}},
		{"an error as text", `{"jsonrpc":"2.0","id":"a","error":"no <disk>"}`, []string{`{"error":{"code":-32603,"message":"no <disk>"},"id":"a","jsonrpc":"2.0"}`}},
		{"a code as text", `{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"full"}}`, []string{`{"error":{"code":-32603,"message":"full"},"id":1,"jsonrpc":"2.0"}`}},
		{"neither", `{"jsonrpc":"2.0","id":1}`, []string{`{"error":{"code":-32603,"message":"the answer has neither a result nor an error"},"id":1,"jsonrpc":"2.0"}`}},
		{"capabilities as lists", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":[],"logging":true,"prompts":null},"serverInfo":{"name":"s","version":1}}}`,
			[]string{`{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"logging":{},"tools":{}},"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"1"}}}`}},
		{"listChanged as text", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":"true"}},"serverInfo":"s"}}`,
			[]string{`{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"tools":{"listChanged":true}},"protocolVersion":"2025-06-18","serverInfo":{"name":"s"}}}`}},
		{"a result that has capabilities", `{"jsonrpc":"2.0","id":1,"result":{"capabilities":[]}}`, []string{`{"jsonrpc":"2.0","id":1,"result":{"capabilities":[]}}`}},
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
			again := mended(m.raw)
			require.Len(t, again, 1)
			require.JSONEq(t, string(m.raw), string(again[0].raw), "what is mended stays")
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
		{"${HOME:+set}${UNSET:+no}", "set"}, {"$HOME {x} $", "$HOME {x} $"}, {"${A_1:?gone}", "x"},
	} {
		got, err := expand(tt.in, set)
		require.NoError(t, err, tt.in)
		assert.Equal(t, tt.want, got, tt.in)
	}
	for in, want := range map[string]string{
		"${UNSET}": "the variable UNSET is not set", "${input:key}": "filled in by a host", "${workspaceFolder}/a": "filled in by a host", "${HOME": "is not closed",
		"${UNSET:?give a key}": "give a key", "${UNSET:-${input:x}}": "filled in by a host", "${}": "filled in by a host",
	} {
		_, err := expand(in, set)
		assert.ErrorContains(t, err, want, in)
	}
}
