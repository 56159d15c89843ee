package codec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
)

type inner struct {
	Name string `json:"name"`
}

type outer struct {
	ID    string           `json:"id"`
	Parts []inner          `json:"parts"`
	By    map[string]inner `json:"by"`
	Next  *outer           `json:"next"`
}

// Both readers refuse the same text in the same words; only a field of an unknown name is left to the foreign one.
func TestBothReaders(t *testing.T) {
	for _, tt := range []struct{ text, own, foreign string }{
		{`{"id":"a","parts":[{"name":"x"}],"by":{"Name":{"name":"y"}},"next":{"id":"b"}}`, "", ""},
		{`{"id":"a","color":"red"}`, `/color: unknown field "color"`, ""},
		{`{"id":"a","Id":"b"}`, `/Id: unknown field "Id"; its name is written "id"`, ""},
		{`{"parts":[{"name":"x"},{"NAME":"x"}]}`, `/parts/1/NAME: unknown field "NAME"; its name is written "name"`, ""},
		{`{"by":{"k":{"Name":"x"}}}`, `/by/k/Name: unknown field "Name"; its name is written "name"`, ""},
		{`{"next":{"part\u017f":[]}}`, `/next/partſ: unknown field "partſ"; its name is written "parts"`, ""},
		{`{"id":"a","id":"b"}`, "/id: duplicate object member name (byte 10)", "/id: duplicate object member name (byte 10)"},
		{`{"id":"a"} {"id":"b"}`, "data after the end of the JSON value (byte 12)", "data after the end of the JSON value (byte 12)"},
		{"{\"id\":\"\xff\"}", "/id: invalid UTF-8 (byte 7)", "/id: invalid UTF-8 (byte 7)"},
		{`null`, "a JSON null does not fit here", "a JSON null does not fit here"},
		{`{"id":5}`, "/id: a JSON number does not fit here, want a string", ""},
		{`{"id":[]}`, "/id: a JSON array does not fit here, want a string", "/id: a JSON array does not fit here, want a string"},
		{`{"id":`, "the JSON value ends early (byte 5)", "the JSON value ends early (byte 5)"},
		{strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat("/0", 64) + ": nested more than 64 levels deep", strings.Repeat("/0", 64) + ": nested more than 64 levels deep"},
	} {
		requireSays(t, tt.text, tt.own, codec.Unmarshal([]byte(tt.text), new(outer)))
		requireSays(t, tt.text, tt.foreign, codec.UnmarshalForeign([]byte(tt.text), new(outer)))
	}
}

func requireSays(t *testing.T, text, want string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err, text)
		return
	}
	require.EqualError(t, err, want, text)
}

func TestArraysOfFiles(t *testing.T) {
	long := []byte("[" + strings.Repeat("1,", codec.MaxArray) + "1]")
	require.ErrorContains(t, codec.Check(long), "more than 10000 elements")
	require.NoError(t, codec.CheckFile(long))
}
