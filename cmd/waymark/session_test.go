package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRecordedSession replays testdata/session/*.txtar against the program and compares what it answers with the
// golden file beside each. Every operation of the OpenAPI document, every tool of tools/list and every command of
// the command line occurs in them, so that a move or a change of name cannot lose one. The golden files are
// written anew with
//
//	go test ./cmd/waymark -run TestRecordedSession -update
//
// A line of a script is a request. Words of these forms may stand before it:
//
//	name=path    keeps a value of the answer for later lines, which write {name}; on the command line
//	             path is a regular expression, whose first group is kept
//	path:value   asks again until the answer has this value there: what is written counts a moment later
//	by={key}     asks with this API key
//
// @file is the content of a file of the archive, < file gives it to standard input.
func TestRecordedSession(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	for name, replay := range map[string]func(*session) (want []string){"http": replayHTTP, "mcp": replayMCP, "cli": replayCLI} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := txtar.ParseFile(filepath.Join("testdata", "session", name+".txtar"))
			require.NoError(t, err)
			s := &session{T: t, home: home, dir: t.TempDir(), script: script, kept: map[string]string{}, used: map[string]bool{}, examples: map[string]recorded{}}
			for _, f := range script.Files {
				require.NoError(t, os.WriteFile(filepath.Join(s.dir, f.Name), f.Data, 0o600))
			}
			s.data = filepath.Join(s.dir, "data")
			_, errs, code := waymark(t, "", "import", sampleCut(t, 90, "forge", "metrics", "tracker", "chat"), "--data", s.data)
			require.Zero(t, code, errs)
			for _, one := range replay(s) {
				assert.True(t, s.used[one], "%s is not in testdata/session/%s.txtar", one, name)
			}
			golden := filepath.Join("testdata", "session", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, s.out.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			compareBlocks(t, strings.SplitAfter(string(want), "\n> "), strings.SplitAfter(s.out.String(), "\n> "))
		})
	}
}

// compareBlocks compares recordings request by request and shows the first one that differs: after a request that
// is gone, all others do.
func compareBlocks(t *testing.T, want, got []string) {
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "make golden writes it anew")
	}
	require.Len(t, got, len(want), "make golden writes it anew")
}

// session is one script that is being replayed.
type session struct {
	*testing.T
	home, dir string
	data      string
	script    *txtar.Archive
	kept      map[string]string
	used      map[string]bool // operations, tools and commands that occurred
	out       bytes.Buffer
	last      string // answer
	operation string // of the request
	examples  map[string]recorded
}

// line is one request of a script.
type line struct {
	keep, until map[string]string
	by, text    string
}

var directive = regexp.MustCompile(`^(\w+=[^\s"]+|[\w.]+:[\w.:-]+) `)

// each calls do for every request of the script, with kept values in their places.
func (s *session) each(do func(l line)) {
	for text := range strings.Lines(string(s.script.Comment)) {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			fmt.Fprintln(&s.out, text)
			continue
		}
		l := line{keep: map[string]string{}, until: map[string]string{}}
		for word := directive.FindString(text); word != ""; word = directive.FindString(text) {
			text = text[len(word):]
			if name, value, ok := strings.Cut(strings.TrimSpace(word), "="); !ok {
				path, value, _ := strings.Cut(name, ":")
				l.until[path] = value
			} else if name == "by" {
				l.by = s.expand(value)
			} else {
				l.keep[name] = value
			}
		}
		fmt.Fprintln(&s.out, ">", text)
		l.text = s.expand(text)
		do(l)
	}
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

func (s *session) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := s.kept[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
}

// file returns a file of the archive where the text names one, else the text.
func (s *session) file(text string) string {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		require.NoError(s, err)
		return s.expand(string(b))
	}
	return text
}

// answered keeps what the request asked to keep, and reports whether the answer is the one that it waits for.
func (s *session) answered(l line, v any) bool {
	for path, want := range l.until {
		if at(v, path) != want {
			return false
		}
	}
	for name, path := range l.keep {
		s.kept[name] = at(v, path)
		require.NotEmpty(s, s.kept[name], "%s: nothing at %s of %s", l.text, path, jsonOf(v))
	}
	return true
}

// at is the value at a path of names and numbers, as in runs.0.id.
func at(v any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(node) {
				return ""
			}
			v = node[i]
		}
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// volatile are fields whose values no two runs of the program share.
var volatile = regexp.MustCompile(`(_at|_bytes|_tokens|_seconds|_us|_per_day|_per_episode|_until_full)$|^(time|version|revision|built|uptime|pid|suggestion_id|instance|eta|sha256|digest|from_version|to_version|hash|key|bytes|go|seq|at|event|events|since|next_cursor)$`)

// varying are texts that no two runs share.
var varying = []struct {
	pattern *regexp.Regexp
	to      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\b20[2-9]\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?\b`), "DATE"},
	{regexp.MustCompile(`sha256:[0-9a-f]{12,64}`), "sha256:…"},
	{regexp.MustCompile(`sha256:…(, sha256:…)+`), "sha256:…"}, // how many models are kept depends on when they were made
	{regexp.MustCompile(`\b(event|at) \d+( of \d+)?`), "$1 N"},
	{regexp.MustCompile(`wmk_[0-9a-zA-Z_-]+`), "wmk_…"},
	{regexp.MustCompile(`code=[A-Z2-7]{26}`), "code=…"},
	{regexp.MustCompile(`(^|[^.0-9a-f])[0-9a-f]{16,64}\b`), "${1}HEX"},
	{regexp.MustCompile(`run-[0-9a-f]+-[a-z0-9]+`), "run-ID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(µs|ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`HOME/[^\s")]+`), "HOME"}, // directories of settings and data differ between systems
	{regexp.MustCompile(`(^| )\d+(?:\.\d+)? (MiB|bytes|days at)\b`), "${1}N $2"},
	{regexp.MustCompile(`\d+\.\d episodes and`), "N episodes and"},
	{regexp.MustCompile(`\.copy\.\d+`), ".copy.N"},
	{regexp.MustCompile(` {3,}|-{3,}`), "  "},                                                              // columns are as wide as what stands in them,
	{regexp.MustCompile(`waymark (\(devel\)|v[^\s,]+)( · [0-9a-f]{12}(\+modified)?)?`), "waymark VERSION"}, // a clean clone has one
	{regexp.MustCompile(`\bgo1\.\d+(\.\d+)?\b`), "GO"},
	{regexp.MustCompile(`process \d+`), "process PID"},
	// Which builds that started by themselves were finished between commands, and so which one was current before a
	// rebuild, differs from run to run.
	{regexp.MustCompile(`\d+ event\(s\) ago; .*`), "N event(s) ago; …"},
	{regexp.MustCompile(`\b\d+ events\b`), "N events"},
	{regexp.MustCompile(`(?m)^( *(?:after a context|with the intent|for an intent)  +(?:mrr|ndcg@10)).*$`), "$1 …"},
	{regexp.MustCompile(`(no worse|worse|better) (after a context|with the intent|for an intent) \([^)]*\)`), "judged $2 (…)"},
	{regexp.MustCompile(`(?m)^( *run  \w+  done)  DURATION$`), "$1"},
}

// same replaces what no two runs share.
func (s *session) same(text string) string {
	for path, name := range map[string]string{s.dir: "DIR", s.home: "HOME", os.Args[0]: "TESTS", program: "WAYMARK"} {
		text = strings.ReplaceAll(text, path, name)
	}
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.to)
	}
	return long.ReplaceAllStringFunc(text, rounded)
}

// long are numbers with more digits than are compared.
var long = regexp.MustCompile(`-?\d+\.\d{7,}(e-?\d+)?`)

func rounded(number string) string {
	f, _ := strconv.ParseFloat(number, 64) // it matches long
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// sameIn does so in decoded JSON.
func (s *session) sameIn(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			if strings.HasSuffix(name, "_ms") { // left out where it is 0
				delete(v, name)
				continue
			}
			switch value := v[name].(type) {
			case map[string]any: // schemas have such names, too
				if (name == "inputs" || name == "outputs") && value["type"] == nil { // digests by the key of the store
					v[name] = "…"
					continue
				}
			case []any:
			default:
				if volatile.MatchString(name) {
					v[name] = "…"
					continue
				}
			}
			value := s.sameIn(v[name])
			delete(v, name)
			v[s.same(name)] = value
		}
	case []any:
		for i := range v {
			v[i] = s.sameIn(v[i])
		}
	case string:
		return s.same(v)
	case json.Number:
		return json.Number(long.ReplaceAllStringFunc(v.String(), rounded))
	}
	return v
}

// write writes an answer: JSON, or JSON lines, with what no two runs share replaced; other text as it is.
func (s *session) write(answer string) {
	decode := func(text string) (v any, ok bool) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		ok = (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && d.Decode(&v) == nil && !d.More()
		return v, ok
	}
	if v, ok := decode(answer); ok {
		s.out.WriteString(layout(s.sameIn(v), "  ") + "\n")
		return
	}
	for text := range strings.Lines(answer) {
		if v, ok := decode(text); ok {
			text = string(jsonOf(s.sameIn(v)))
		}
		s.out.WriteString("  " + strings.TrimRight(s.same(text), " \n") + "\n")
	}
}

// layout is JSON with a member or element a line, except for what fits on one.
func layout(v any, indent string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // decoded JSON
	short := strings.TrimSpace(b.String())
	if len(indent)+len(short) <= 160 {
		return indent + short
	}
	var lines []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, indent+" "+string(jsonOf(name))+": "+strings.TrimLeft(layout(v[name], indent+" "), " "))
		}
		return indent + "{\n" + strings.Join(lines, ",\n") + "\n" + indent + "}"
	case []any:
		for _, element := range v {
			lines = append(lines, layout(element, indent+" "))
		}
		return indent + "[\n" + strings.Join(lines, ",\n") + "\n" + indent + "]"
	}
	return indent + short
}

// aJudge is an endpoint of models that gives hypotheses and scores whatever it is asked.
func aJudge(t *testing.T) string {
	const hypotheses = `{"hypotheses":[{"text":"Scour washed out the pier","rationale":"Fast water digs","key_fact":"A hole"},{"text":"Fatigue cracked the rods","rationale":"Old iron","key_fact":"Cracks"},` +
		`{"text":"A truck broke the deck","rationale":"Heavy traffic","key_fact":"A truck"},{"text":"An earthquake shook it","rationale":"A fault is near","key_fact":"A quake"},{"text":"Frost split the stones","rationale":"A cold winter","key_fact":"Split stones"}]}`
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": hypotheses}}}})
	}))
	t.Cleanup(judge.Close)
	return judge.URL + "/v1"
}

// awaitTools waits until the model knows the tools of the desk.
func (s *session) awaitTools() {
	awaitDesk(s.T, s.data)
	require.Eventually(s, func() bool {
		out, _ := says(s.T, 0, "search", "My-Desk:shred", "--limit", "1", "--data", s.data)
		return strings.Contains(out, "Destroy a letter")
	}, time.Minute, 50*time.Millisecond)
}

// replayHTTP replays requests to a server with a judge and the servers of deskConfig. It returns all operations of
// the OpenAPI document.
func replayHTTP(s *session) (want []string) {
	says(s.T, 0, "gateway", "add", deskConfig(s.T, map[string]string{"DESK_SAYS": "stamped"}), "--yes", "--data", s.data)
	server := startServer(s, s.data, "--connect", "--judge-url", aJudge(s.T), "--judge-model", "small")
	s.awaitTools()
	base := strings.TrimSuffix(server.URLs.API, "/v1")
	resp, err := http.Get(base + "/openapi.json")
	require.NoError(s, err)
	defer resp.Body.Close()
	var spec struct{ Paths map[string]map[string]any }
	require.NoError(s, json.NewDecoder(resp.Body).Decode(&spec))
	operations := map[string]*regexp.Regexp{}
	for path, methods := range spec.Paths {
		for method := range methods {
			name := strings.ToUpper(method) + " " + path
			operations[name] = regexp.MustCompile("^" + variable.ReplaceAllString(name, `[^/]+`) + "$")
		}
	}
	s.each(func(l line) {
		method, rest, _ := strings.Cut(l.text, " ")
		path, body, _ := strings.Cut(rest, " ")
		plain, _, _ := strings.Cut(path, "?")
		best := "" // {id} takes any word, so the operation with the fewest of them is meant
		for name, pattern := range operations {
			if pattern.MatchString(method+" "+plain) && (best == "" || strings.Count(name, "{") < strings.Count(best, "{")) {
				best = name
			}
		}
		s.used[best], s.operation = true, best
		deadline := time.Now().Add(time.Minute) // against a hang
		for !s.request(l, base, method, path, body) {
			require.True(s, time.Now().Before(deadline), "%s: waited a minute for %v, got %s", l.text, l.until, s.last)
			time.Sleep(20 * time.Millisecond)
		}
	})
	require.Zero(s, server.stop(s), server.stderr)
	s.compareExamples()
	return slices.Sorted(maps.Keys(operations))
}

// request sends one request and writes the answer, if it is the one that the line waits for.
func (s *session) request(l line, base, method, path, body string) (done bool) {
	req, err := http.NewRequest(method, base+path, strings.NewReader(s.file(body)))
	require.NoError(s, err)
	switch {
	case strings.HasSuffix(body, ".ndjson"):
		req.Header.Set("Content-Type", "application/x-ndjson")
	case body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	if l.by != "" {
		req.Header.Set("Authorization", "Bearer "+l.by)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(s, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(s, err)
	var v any
	_ = json.Unmarshal(answer, &v) // some answers are no JSON
	if s.last = string(answer); !s.answered(l, v) {
		return false
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	fmt.Fprintln(&s.out, " ", resp.StatusCode, kind)
	s.exemplify(s.operation, path, s.file(body), resp.StatusCode, kind, answer)
	switch {
	case kind == "application/octet-stream": // it begins differently each time, too
	case kind == "text/event-stream": // how many events there are depends on who is faster; the last one does not
		events := strings.Split(strings.TrimSpace(string(answer)), "\n\n")
		last := ""
		for field := range strings.Lines(events[len(events)-1]) {
			if data, ok := strings.CutPrefix(field, "data:"); ok {
				last = strings.TrimSpace(data)
			}
		}
		s.write(last)
	default:
		s.write(string(answer))
	}
	return true
}

// replayMCP replays calls of a host over stdio. It returns the names of all tools.
func replayMCP(s *session) (want []string) {
	says(s.T, 0, "gateway", "add", deskConfig(s.T, map[string]string{"DESK_SAYS": "stamped"}), "--yes", "--data", s.data)
	client := host(s.T, s.data, "--connect", "--judge-url", aJudge(s.T), "--judge-model", "small", "--tool-mode", "deferred")
	s.awaitTools()
	tools, err := client.ListTools(s.Context(), nil)
	require.NoError(s, err)
	for _, tool := range tools.Tools {
		want = append(want, tool.Name)
	}
	s.each(func(l line) {
		name, arguments, _ := strings.Cut(l.text, " ")
		var answer any
		var err error
		switch name {
		case "tools/list":
			answer = tools
		case "resources/list":
			answer, err = client.ListResources(s.Context(), nil)
		case "resources/templates/list":
			answer, err = client.ListResourceTemplates(s.Context(), nil)
		case "resources/read":
			answer, err = client.ReadResource(s.Context(), &mcp.ReadResourceParams{URI: arguments})
		default:
			s.used[name] = true
			answer, err = client.CallTool(s.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(s.file(arguments))})
		}
		if err != nil {
			s.write("error: " + err.Error())
			return
		}
		text := jsonOf(answer)
		var v map[string]any
		require.NoError(s, json.Unmarshal(text, &v))
		require.True(s, s.answered(l, v), l.text)
		if _, structured := v["structuredContent"]; structured {
			delete(v, "content") // the same as text
		}
		s.write(string(jsonOf(v)))
	})
	return want
}

// replayCLI replays command lines, each a process of its own. It returns all commands.
func replayCLI(s *session) (want []string) {
	root := (&app{}).command()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	want = commands(root, "")
	s.kept["desk"] = deskConfig(s.T, map[string]string{"DESK_SAYS": "stamped"})
	s.each(func(l line) {
		text, file, _ := strings.Cut(l.text, " < ")
		stdin := ""
		if file != "" {
			stdin = s.file("@" + file)
		}
		args := commandWords(text)
		cmd, _, err := root.Find(args)
		require.NoError(s, err)
		s.used[strings.TrimPrefix(cmd.CommandPath(), "waymark ")] = true
		for i, arg := range args {
			if _, err := os.Stat(filepath.Join(s.dir, arg)); err == nil && strings.Contains(arg, ".") {
				args[i] = filepath.Join(s.dir, arg)
			}
			args[i] = strings.ReplaceAll(args[i], "DIR", s.dir)
		}
		if !slices.Contains(args, "--data") {
			args = append(args, "--data", s.data)
		}
		out, errs, code := waymark(s, stdin, args...)
		for name, pattern := range l.keep {
			found := regexp.MustCompile(pattern).FindStringSubmatch(out)
			require.Len(s, found, 2, "%s: no %s in %s%s", l.text, pattern, out, errs)
			s.kept[name] = found[1]
		}
		fmt.Fprintln(&s.out, "  exit", code)
		s.write(out)
		s.write(errs)
	})
	return want
}

// commands are the paths of all commands that do something of their own.
func commands(c *cobra.Command, path string) (all []string) {
	if path != "" && !c.HasSubCommands() {
		all = append(all, path)
	}
	for _, sub := range c.Commands() {
		all = append(all, commands(sub, strings.TrimSpace(path+" "+sub.Name()))...)
	}
	return all
}

// words splits a command line at spaces outside single quotes.
func commandWords(text string) (all []string) {
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
