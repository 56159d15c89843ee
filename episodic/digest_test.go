package episodic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDigestsOfADocument(t *testing.T) {
	key := DigestKey{1}
	of := func(text string) string { return key.Digests(json.RawMessage(fmt.Sprintf("%q", text)))[""][0] }
	for _, tt := range []struct {
		name, doc string
		want      Digests
	}{
		{"fields and items", `{"user":{"login":"ann"},"items":[{"id":"i-17"},{"id":"i-18"},{"id":"i-17"}]}`,
			Digests{"user.login": {of("ann")}, "items[].id": {of("i-17"), of("i-18")}}},
		{"what is equal by chance", `{"a":true,"b":null,"c":"ab","d":7,"e":-99.5,"f":" x ","g":""}`, nil},
		{"numbers are their text", `{"a":1017,"b":1.017e3,"c":"1017","d":123.50}`,
			Digests{"a": {of("1017")}, "b": {of("1017")}, "c": {of("1017")}, "d": {of("123.5")}}},
		{"no value is a name", `{"ann@example.org":"yes!","2":{"three":"four"}}`, Digests{"*": {of("yes!")}, "*.three": {of("four")}}},
		{"lists of lists", `[["abc"],["def"]]`, Digests{"[][]": {of("abc"), of("def")}}},
		{"white space around", `" ann "`, Digests{"": {of("ann")}}},
		{"no JSON", `{"a":"abc"`, nil},
		{"nothing", ``, nil},
		{"numbers nobody writes out", `{"a":1e999999999,"b":1e-999}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := key.Digests(json.RawMessage(tt.doc))
			assert.Equal(t, tt.want, got)
			require.NoError(t, got.normalise("inputs"))
		})
	}
	assert.NotEqual(t, key.Digests(json.RawMessage(`"abc"`)), DigestKey{2}.Digests(json.RawMessage(`"abc"`)), "another workspace's")
	assert.Len(t, of("abc"), 12)
}

func TestDigestsOfResults(t *testing.T) {
	var key DigestKey
	for _, tt := range []struct{ name, content, like string }{
		{"a text", `"ann"`, `"ann"`},
		{"a text that is JSON", `"{\"id\":\"i-17\"}"`, `{"id":"i-17"}`},
		{"blocks", `[{"type":"text","text":"{\"id\":\"i-17\"}"},{"type":"image","data":"AAAA"}]`, `{"id":"i-17"}`},
		{"a text that looks like JSON", `"[see below]"`, `"[see below]"`},
		{"a long text", `"` + strings.Repeat("word ", 100) + `"`, ``},
		{"something else", `{"a":"abc"}`, ``},
		{"no JSON", `{`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, key.Digests(json.RawMessage(tt.like)), key.Content(json.RawMessage(tt.content)))
		})
	}
}

// Whatever a tool returns, what is kept of it is bounded, and valid.
func TestDigestsAreBounded(t *testing.T) {
	var doc strings.Builder
	doc.WriteString(`{"first":[`)
	for i := range 100_000 {
		fmt.Fprintf(&doc, `{"id":"item-%d"},`, i)
	}
	doc.WriteString(`{}],"last":"value"}`)
	got := DigestKey{}.Digests(json.RawMessage(doc.String()))
	require.Len(t, got["first[].id"], maxValues)
	assert.NotContains(t, got, "last", "beyond what is read")

	wide := map[string]map[string]string{}
	for i := range 500 {
		wide[fmt.Sprintf("f%03d", i)] = map[string]string{"x": fmt.Sprintf("value %d", i), "y": fmt.Sprintf("other %d", i)}
	}
	b, err := json.Marshal(wide)
	require.NoError(t, err)
	got = DigestKey{}.Digests(b)
	assert.Len(t, got, maxPaths)
	require.NoError(t, got.normalise("outputs"))

	deep := strings.Repeat(`{"a":`, 5000) + `"abc"` + strings.Repeat(`}`, 5000)
	assert.Empty(t, DigestKey{}.Digests(json.RawMessage(deep)))
}

func TestDigestsFromOutsideAreChecked(t *testing.T) {
	good := DigestKey{}.Digests(json.RawMessage(`["abc","def","ghi"]`))
	e := Episode{ID: "e", Steps: []Step{{Tool: "t", Inputs: good}}}
	require.NoError(t, e.Normalise())
	for name, bad := range map[string]Digests{
		"a value":             {"path": {"secret"}},
		"a long one":          {"path": {strings.Repeat("A", 16)}},
		"a control character": {"pa\x00th": good["[]"]},
	} {
		e := Episode{ID: "e", Steps: []Step{{Tool: "t", Outputs: bad}}}
		assert.Error(t, e.Normalise(), name)
	}
}

func TestEpisodesFit(t *testing.T) {
	var doc strings.Builder
	for i := range 120 {
		fmt.Fprintf(&doc, `,"f%d":"value %d"`, i%30, i)
	}
	outputs := DigestKey{}.Digests(json.RawMessage(`{"a":"abc"` + doc.String() + `}`))
	e := Episode{ID: "e"}
	for range 1000 {
		e.Steps = append(e.Steps, Step{Tool: "t", Inputs: Digests{"a": outputs["a"]}, Outputs: outputs})
	}
	require.Greater(t, len(Canonical(e)), maxEntry)
	require.NoError(t, e.Normalise())
	assert.Nil(t, e.Steps[0].Inputs)
	assert.Nil(t, e.Steps[0].Outputs)
}

func FuzzDigests(f *testing.F) {
	for _, seed := range []string{`{"a":[1234,"abc"]}`, `[[[["abc"]]]]`, `"x"`, `{"a":1e400}`, `{"a":-0.00012e7}`, `[`, `{"\u0000":"abc"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		d := DigestKey{}.Digests(doc)
		if err := d.normalise("inputs"); err != nil {
			t.Fatal(err)
		}
		DigestKey{}.Content(doc)
	})
}
