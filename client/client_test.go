package client

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The types have the fields of the published schemas, with fitting JSON types.
func TestTypesAreThoseOfTheAPI(t *testing.T) {
	b, err := os.ReadFile("../server/testdata/openapi.json")
	require.NoError(t, err)
	var api struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(b, &api))
	for name, v := range map[string]any{
		"NextBody": NextRequest{}, "NextAnswer": NextAnswer{}, "Suggestion": Suggestion{}, "Evidence": Evidence{}, "Term": Term{},
		"UnknownID": UnknownID{}, "ModelInfo": Model{}, "SearchBody": SearchRequest{}, "SearchAnswer": SearchAnswer{},
		"SearchResult": SearchResult{}, "DagBody": DAGRequest{}, "DAGAnswer": DAGAnswer{}, "DAG": DAG{}, "Task": Task{},
		"Argument": Argument{}, "Wired": Wired{}, "Path": Path{}, "Alternative": Alternative{}, "RejectedEdge": RejectedEdge{},
		"Episode": Episode{}, "Step": Step{}, "RecordResult": RecordResult{}, "Rejection": Rejection{}, "Feedback": Feedback{},
		"Tool": Tool{}, "PutResult": PutResult{}, "Flagged": Flagged{}, "Job": Job{},
	} {
		s, ok := api.Components.Schemas[name]
		require.True(t, ok, name)
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			field, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			p, ok := s.Properties[field]
			if !assert.True(t, ok, "%s has no field %s", name, field) {
				continue
			}
			assert.True(t, p.fits(typ.Field(i).Type), "%s.%s is a %s, the schema wants %v", name, field, typ.Field(i).Type, p.Type)
			assert.Equal(t, slices.Contains(s.Required, field), options == "", "%s.%s is required or may be left out", name, field)
			delete(s.Properties, field)
		}
		for field := range s.Properties {
			assert.Contains(t, leftOut[name], field, "%s lacks the field", name)
		}
	}
}

// leftOut are fields that few clients need. Call gives them.
var leftOut = map[string][]string{
	"NextAnswer": {"experiment"}, "SearchAnswer": {"experiment"}, "DAGAnswer": {"experiment"}, "ModelInfo": {"auto"},
	"SearchBody": {"profile"}, // accepted, but searches rank the same in every profile
	"Job":        {"at", "auto", "forced", "gate", "mined", "purge", "verify"},
}

type schema struct {
	Type       any               `json:"type"`
	Ref        string            `json:"$ref"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
}

// fits reports whether a value of the type is encoded as the schema says. References and free schemas fit any type.
func (s schema) fits(t reflect.Type) bool {
	var names []string
	switch v := s.Type.(type) {
	case nil:
		return true
	case string:
		names = []string{v}
	case []any: // with null
		for _, n := range v {
			names = append(names, n.(string))
		}
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Uint64: "integer", reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object",
	}[t.Kind()]
	if t == reflect.TypeFor[time.Time]() {
		want = "string"
	}
	return t == reflect.TypeFor[json.RawMessage]() || slices.Contains(names, want)
}

// An overloaded server is asked again after the time that it names; what is not idempotent is not sent again.
func TestRetries(t *testing.T) {
	var calls int
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		if calls++; calls < 3 {
			w.Header().Set("Retry-After", "0")
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[calls-1])
			_, _ = io.WriteString(w, `{"status":429,"detail":"too many requests"}`)
			return
		}
		_, _ = io.WriteString(w, `{"suggestion_id":"s","suggestions":[{"id":"a:b","confidence":0.5}],"new_field":1}`)
	}))
	defer s.Close()
	c := New(s.URL+"/", "k")
	answer, err := c.Next(t.Context(), NextRequest{Context: []string{"a:a"}})
	require.NoError(t, err)
	assert.Equal(t, "a:b", answer.Suggestions[0].ID)
	assert.Equal(t, slices.Repeat([]string{`{"context":["a:a"]}`}, 3), bodies)

	for name, send := range map[string]func() error{
		"feedback": func() error { _, err := c.Feedback(t.Context(), Feedback{ID: "a:b", Used: true}); return err },
		"rebuild":  func() error { _, err := c.Rebuild(t.Context()); return err },
		"no retries": func() error {
			_, err := (&Client{HTTP: c.HTTP, Base: c.Base}).Next(t.Context(), NextRequest{})
			return err
		},
		"ended first": func() error { c := *c; c.Retries = 1; _, err := c.Next(t.Context(), NextRequest{}); return err },
	} {
		calls = 0
		var refused *Problem
		require.ErrorAs(t, send(), &refused, name)
		assert.Equal(t, map[bool]int{true: 2, false: 1}[name == "ended first"], calls, name)
	}
	calls = 100
	_, err = c.Next(t.Context(), NextRequest{})
	require.NoError(t, err)
}

func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999": 0} {
		assert.Equal(t, want, retryAfter(http.Header{"Retry-After": {header}}), header)
	}
}
