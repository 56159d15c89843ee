package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// examplesFile holds an exchange of every operation, which the description of the API shows.
const examplesFile = "../../server/examples.json"

// recorded is the first request of an operation that was answered well.
type recorded struct {
	Path   map[string]string `json:"path,omitempty"`
	Body   any               `json:"body,omitempty"`
	Answer any               `json:"answer,omitempty"`
}

// exemplify keeps the first exchange of an operation whose answer says something.
func (s *session) exemplify(operation, path, body string, status int, kind string, answer []byte) {
	if _, known := s.examples[operation]; known || operation == "" || status >= 300 {
		return
	}
	x := recorded{Path: map[string]string{}, Body: s.exampleOf("", body)}
	_, pattern, _ := strings.Cut(operation, " ")
	plain, _, _ := strings.Cut(path, "?")
	parts := strings.Split(plain, "/")
	for i, name := range strings.Split(pattern, "/") {
		if strings.HasPrefix(name, "{") {
			x.Path[strings.Trim(name, "{}")] = s.fixed("", parts[i]).(string)
		}
	}
	if kind != "application/octet-stream" {
		x.Answer = s.exampleOf(kind, string(answer))
	}
	s.examples[operation] = x
}

func (s *session) exampleOf(kind, text string) any {
	if kind == "text/event-stream" { // the last event: how many there are depends on who is faster
		blocks := strings.Split(strings.TrimSpace(text), "\n\n")
		event := map[string]any{"id": 1}
		for field := range strings.Lines(blocks[len(blocks)-1]) {
			switch name, value, _ := strings.Cut(strings.TrimSpace(field), ": "); name {
			case "event":
				event["event"] = value
			case "data":
				event["data"] = s.exampleOf("", value)
			}
		}
		return []any{event}
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err == nil && !d.More() {
		return s.fixed("", v)
	}
	if strings.HasPrefix(text, "{") { // a value a line
		first, _, _ := strings.Cut(text, "\n")
		return string(jsonOf(s.exampleOf("", first))) + "\n"
	}
	return nil
}

// mostElements of a list are shown.
const mostElements = 2

// typed are texts that no two runs share, and what an example has in their places: of the same form.
var typed = []struct {
	pattern *regexp.Regexp
	to      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "2026-07-01T09:00:00Z"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`), "2026-07-01 09:00:00 UTC"},
	{regexp.MustCompile(`^c2NvcmVz[A-Za-z0-9_-]+$`), "c2NvcmVzLzE"}, // the cursor of a list of scores: its key
	{regexp.MustCompile(`wmk_[0-9a-zA-Z_-]+`), "wmk_ID_SECRET"},
	{regexp.MustCompile(`code=[A-Z2-7]{26}`), "code=CODE"},
	{regexp.MustCompile(`(^|[^.0-9a-f])[0-9a-f]{64}\b`), "${1}" + strings.Repeat("0123456789abcdef", 4)},
	{regexp.MustCompile(`(^|[^.0-9a-f])[0-9a-f]{16,63}\b`), "${1}0123456789abcdef01234567"},
	{regexp.MustCompile(`run-[0-9a-f]+-[a-z0-9]+`), "run-0123456789ab-0"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:7070"},
	{regexp.MustCompile(`\b(event|at) \d+( of \d+)?`), "$1 24"},
	{regexp.MustCompile(`\b\d+ events\b`), "24 events"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(µs|ms|s)\b`), "1 s"},
	{regexp.MustCompile(`(^| )\d+(?:\.\d+)? (MiB|bytes)\b`), "${1}12 $2"},
	{regexp.MustCompile(`\d+ event\(s\) ago; .*`), "1 event(s) ago"},
	{regexp.MustCompile(`^[A-Za-z0-9+/_-]{43}=?$`), "KEY"},
	{regexp.MustCompile(`\bgo1\.\d+(\.\d+)?\b`), "go1.26.0"},
}

// fixed is decoded JSON of an example, the same in every run.
func (s *session) fixed(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range slices.Collect(maps.Keys(v)) {
			v[member] = s.fixed(member, v[member])
			if renamed := s.fixed("", member).(string); renamed != member {
				v[renamed] = v[member]
				delete(v, member)
			}
		}
	case []any:
		v = v[:min(len(v), mostElements)]
		for i := range v {
			v[i] = s.fixed("", v[i])
		}
		return v
	case string:
		for path, to := range map[string]string{s.dir: "/var/lib", s.home: "/home/user", os.Args[0]: "/usr/bin/server", program: "/usr/bin/waymark"} {
			v = strings.ReplaceAll(v, path, to)
		}
		for _, t := range typed {
			v = t.pattern.ReplaceAllString(v, t.to)
		}
		return v
	case json.Number:
		if volatile.MatchString(name) || strings.HasSuffix(name, "_ms") {
			return json.Number("24")
		}
		return json.Number(long.ReplaceAllStringFunc(v.String(), rounded))
	}
	return v
}

// compareExamples compares the exchanges of this run with those of the description: requests, and the members of
// answers. It writes them with -update.
func (s *session) compareExamples() {
	var unshown map[string]recorded // operations that this session does well in no request
	require.NoError(s, json.Unmarshal([]byte(s.file("@unshown.json")), &unshown))
	for operation, x := range unshown {
		assert.NotContains(s, s.examples, operation)
		s.examples[operation] = x
	}
	if *update {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		require.NoError(s, e.Encode(s.examples))
		require.NoError(s, os.WriteFile(examplesFile, b.Bytes(), 0o644))
	}
	text, err := os.ReadFile(examplesFile)
	require.NoError(s, err)
	var want map[string]recorded
	require.NoError(s, json.Unmarshal(text, &want))
	assert.ElementsMatch(s, slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(s.examples)))
	members := func(v any) []string {
		object, _ := v.(map[string]any)
		names := slices.Sorted(maps.Keys(object))
		return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_ms") }) // left out where it is 0
	}
	for operation, x := range s.examples {
		assert.JSONEq(s, string(jsonOf(want[operation].Body)), string(jsonOf(x.Body)), "%s: make golden writes it anew", operation)
		assert.Equal(s, members(want[operation].Answer), members(x.Answer), "%s: make golden writes it anew", operation)
	}
}
