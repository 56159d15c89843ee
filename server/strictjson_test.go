package server

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/server/internal/api"
	"waymark/suggest"
)

// What parsers disagree about (RFC 8259 calls it interoperability) is refused, and the place is named.
var badJSON = []struct{ name, body, mention string }{
	{"trailing data", `{"limit":3} x`, "after the end"},
	{"second document", `{"limit":3}{"limit":4}`, "after the end"},
	{"second null", `{} null`, "after the end"},
	{"duplicate name", `{"limit":3,"limit":4}`, "limit: "},
	{"duplicate name, escaped", `{"limit":3,"li\u006dit":4}`, "limit: "},
	{"duplicate name, deep", `{"context":[{"a":1,"a":2}]}`, "context[0].a"},
	{"invalid UTF-8", "{\"intent\":\"\xff\"}", "UTF-8"},
	{"overlong UTF-8", "{\"intent\":\"\xc0\x80\"}", "UTF-8"},
	{"lone surrogate", `{"intent":"\ud800"}`, "surrogate"},
	{"raw control character", "{\"intent\":\"a\nb\"}", "invalid"},
	{"NaN", `{"limit":NaN}`, "invalid"},
	{"Infinity", `{"limit":Infinity}`, "invalid"},
	{"single quotes", `{'limit':3}`, "invalid"},
	{"trailing comma", `{"limit":3,}`, "invalid"},
	{"comment", `{"limit":3/*x*/}`, "invalid"},
	{"leading zero", `{"limit":03}`, "invalid"},
	{"plus sign", `{"limit":+3}`, "invalid"},
	{"hexadecimal", `{"limit":0x3}`, "invalid"},
	{"byte order mark", "\ufeff{}", "invalid"},
	{"cut off", `{"limit":`, "ends early"},
	{"nothing but space", "  \n", "ends early"},
	{"65 levels", `{"context":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "64 levels"},
	{"10,001 elements", `{"context":[` + strings.Repeat("1,", 10_000) + `1]}`, "10000 elements"},
}

func TestBadJSON(t *testing.T) {
	w := newWeb(t)
	for _, c := range badJSON {
		t.Run(c.name, func(t *testing.T) {
			var refused *api.BodyError
			_, err := api.Decode[any]([]byte(c.body))
			require.True(t, errors.As(err, &refused), "%v", err)
			assert.Contains(t, err.Error(), c.mention)
			assert.Equal(t, http.StatusBadRequest, refused.Status)
			requireProblem(t, 400, "", w.ask("POST", "/v1/next", c.body))
			requireProblem(t, 400, "", w.ask("PUT", "/v1/tools", c.body))
		})
	}
	assert.NoError(t, codec.Check([]byte(strings.Repeat("[", 64)+strings.Repeat("]", 64))))
	assert.NoError(t, codec.Check([]byte(`[`+strings.Repeat("1,", 9_999)+`1]`)))
	assert.NoError(t, codec.Check([]byte(` {"a":{"a":1},"A":2} `)))
}

// encoding/json would take each of these for a field: it folds case, ſ (U+017F) and K (U+212A).
func TestNamesAreSpelledExactly(t *testing.T) {
	w := newWeb(t)
	requireProblem(t, 422, "CONTEXT", w.ask("POST", "/v1/next", `{"CONTEXT":[]}`))
	requireProblem(t, 422, "max_ſteps", w.ask("POST", "/v1/dag", `{"max_\u017fteps":3}`))
	requireProblem(t, 422, "\u212Ainds", w.ask("POST", "/v1/search", `{"query":"x","\u212Ainds":[]}`))
}

func TestContentTypes(t *testing.T) {
	w := newWeb(t)
	for kind, status := range map[string]int{
		"application/json":                  200,
		"application/json; charset=utf-8":   200,
		"APPLICATION/JSON":                  200,
		"application/json; charset=utf-16":  415,
		"text/plain":                        415,
		"application/x-www-form-urlencoded": 415,
		"application/problem+json":          415,
		"application/x-ndjson":              415, // on a route that takes one object
		"nonsense/":                         415,
		"":                                  415,
	} {
		r := w.ask("POST", "/v1/next", `{}`, "Content-Type: "+kind)
		assert.Equal(t, status, r.status, "%q: %s", kind, r.body)
	}
	requireProblem(t, 415, "compressed", w.ask("POST", "/v1/next", `{}`, "Content-Encoding: gzip"))
	requireProblem(t, 415, "x-ndjson", w.ask("POST", "/v1/episodes", `{}`, "Content-Type: text/plain"))
}

// The oracle is encoding/json for what both take; jsontext is stricter, never laxer.
func FuzzDecodeStrict(f *testing.F) {
	for _, c := range badJSON {
		if len(c.body) < 1000 {
			f.Add([]byte(c.body))
		}
	}
	f.Add([]byte(`{"id":"e","time":"2026-01-02T03:04:05Z","steps":[{"id":"a","tool":"x","depends_on":[]},{"tool":"y","depends_on":null,"outcome":"success"}]}`))
	f.Add([]byte(`{"id":"e","steps":[{"tool":"x","duration_ms":-1e3}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := api.Decode[episodic.Episode](data)
		if err != nil {
			var refused *api.BodyError
			require.True(t, errors.As(err, &refused), "%v", err)
			require.Contains(t, []int{400, 422}, refused.Status)
			require.True(t, utf8.ValidString(refused.Error()))
			require.Less(t, len(refused.Detail), 200+len(data)) // and it never quotes more than came in
			return
		}
		require.True(t, utf8.Valid(data))
		dec := stdjson.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		var want episodic.Episode
		require.NoError(t, dec.Decode(&want))
		require.Equal(t, want.ID, got.ID)
		require.Equal(t, len(want.Steps), len(got.Steps))
		for i := range want.Steps { // absent and empty depends_on mean different things
			require.Equal(t, want.Steps[i].DependsOn == nil, got.Steps[i].DependsOn == nil)
		}
	})
}

// A number that is none never leaves as a 200 (gin's c.JSON sends status 200 and no body).
func TestNotANumberIsAnError(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := api.Encode(suggest.NextAnswer{Stop: bad})
		assert.Error(t, err)
	}
	w := newWeb(t)
	api.Add(w.testAPI(), api.Rule{Scope: api.ScopeRead}, testOperation("nan", "/v1/test/nan"), testHandler(func() (suggest.NextAnswer, error) {
		return suggest.NextAnswer{Stop: math.NaN()}, nil
	}))
	r := w.ask("GET", "/v1/test/nan", "")
	assert.Equal(t, 500, r.status)
	assert.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	assert.Contains(t, r.body, "cannot be written")
}
