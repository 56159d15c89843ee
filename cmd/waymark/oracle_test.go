package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
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
	"github.com/stretchr/testify/require"

	sample "waymark/cmd/waymark/sampledata"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestOracle replays the mission oracle, testdata/oracle/*.txtar, against the program and compares all answers with the
// golden file beside each script. Surface covers what is stored, run and administered, engine the answers on the whole
// sample, scorers the scores, which need no history. Golden files are written anew with
//
//	go test ./cmd/waymark -run TestOracle -update
//
// A line of a script is a request over one of the three surfaces:
//
//	http POST /v1/next {"limit":1}
//	mcp suggest_next {"limit":1}
//	waymark next --limit 1
//
// Words of these forms may stand before it:
//
//	name=path    keeps a value of the answer for later lines, which write {name}; on the command line
//	             path is a regular expression, whose first group is kept
//	path:value   asks again until the answer has this value there
//	by={key}     sends this API key
//
// @file is the content of a file of the archive; "< file" passes it as standard input; INGEST is the folder of the
// importers' test files, DIR the folder of the test.
//
// Answers are written one value a line, each with its path, so that a field that goes takes only its own lines along.
func TestOracle(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	for _, name := range []string{"surface", "engine", "scorers"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := txtar.ParseFile(filepath.Join("testdata", "oracle", name+".txtar"))
			require.NoError(t, err)
			o := &oracle{T: t, home: home, dir: t.TempDir(), script: script, kept: map[string]string{}}
			for _, f := range script.Files {
				require.NoError(t, os.WriteFile(filepath.Join(o.dir, f.Name), f.Data, 0o600))
			}
			o.ingest, err = filepath.Abs(filepath.Join("..", "..", "ingest", "testdata"))
			require.NoError(t, err)
			o.data = filepath.Join(o.dir, "data")
			switch name {
			case "surface":
				says(t, 0, "import", sampleCut(t, 90, "forge", "metrics", "tracker", "chat"), "--data", o.data)
			case "engine":
				o.data = filepath.Join(t.TempDir(), "data")
				require.NoError(t, copySample(o.data))
				says(t, 0, "next", "--profile", "learned", "--data", o.data) // fits once: a server would answer with the seed meanwhile
			}
			o.kept["desk"] = deskConfig(t, map[string]string{"DESK_SAYS": "stamped"})
			says(t, 0, "gateway", "add", o.kept["desk"], "--yes", "--data", o.data)
			server := startServer(t, o.data, "--connect", "--judge-url", aJudge(t), "--judge-model", "small")
			awaitDesk(t, o.data)
			o.api, o.host = strings.TrimSuffix(server.URLs.API, "/v1"), mcpClient(t, &mcp.StreamableClientTransport{Endpoint: server.URLs.MCP})
			o.replay()
			require.NoError(t, o.host.Close())
			require.Zero(t, server.stop(t), server.stderr)
			golden := filepath.Join("testdata", "oracle", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, o.out.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			compareBlocks(t, strings.SplitAfter(string(want), "\n> "), strings.SplitAfter(o.out.String(), "\n> "))
		})
	}
}

// compareBlocks compares recordings request by request and shows the first difference: the requests after one that is
// missing all differ.
func compareBlocks(t *testing.T, want, got []string) {
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i])
	}
	require.Len(t, got, len(want))
}

// oracle is one script that is being replayed.
type oracle struct {
	*testing.T
	home, dir, data, ingest string
	script                  *txtar.Archive
	api                     string // address of the server
	host                    *mcp.ClientSession
	kept                    map[string]string
	out                     bytes.Buffer
}

// line is one request of a script.
type line struct {
	keep, until map[string]string
	by, text    string
}

var (
	directive = regexp.MustCompile(`^(\w+=[^\s"]+|[\w.]+:[\w.:-]+) `)
	variable  = regexp.MustCompile(`\{(\w+)\}`)
)

func (o *oracle) replay() {
	for text := range strings.Lines(string(o.script.Comment)) {
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			fmt.Fprintln(&o.out, text)
			continue
		}
		l := line{keep: map[string]string{}, until: map[string]string{}}
		for word := directive.FindString(text); word != ""; word = directive.FindString(text) {
			text = text[len(word):]
			if name, value, ok := strings.Cut(strings.TrimSpace(word), "="); !ok {
				path, value, _ := strings.Cut(name, ":")
				l.until[path] = value
			} else if name == "by" {
				l.by = o.expand(value)
			} else {
				l.keep[name] = value
			}
		}
		fmt.Fprintln(&o.out, ">", text)
		surface, request, _ := strings.Cut(text, " ")
		l.text = o.expand(request)
		ask := map[string]func(line) bool{"http": o.askHTTP, "mcp": o.askMCP, "waymark": o.run}[surface]
		require.NotNil(o, ask, text)
		deadline := time.Now().Add(10 * time.Minute) // against a hang
		for !ask(l) {
			require.True(o, time.Now().Before(deadline), "%s: no answer with %v", l.text, l.until)
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (o *oracle) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := o.kept[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
}

// file returns the content of a file of the archive where the text names one, else the text.
func (o *oracle) file(text string) string {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(filepath.Join(o.dir, name))
		require.NoError(o, err)
		return o.expand(string(b))
	}
	return text
}

// answered keeps what the line asks to keep, and reports whether the answer has the values that the line waits for.
func (o *oracle) answered(l line, v any) bool {
	for path, want := range l.until {
		if at(v, path) != want {
			return false
		}
	}
	for name, path := range l.keep {
		o.kept[name] = at(v, path)
		require.NotEmpty(o, o.kept[name], "%s: nothing at %s of %s", l.text, path, jsonOf(v))
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
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(node) {
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

// askHTTP sends one request and writes the answer, if it is the one that the line waits for.
func (o *oracle) askHTTP(l line) (done bool) {
	method, rest, _ := strings.Cut(l.text, " ")
	path, body, _ := strings.Cut(rest, " ")
	req, err := http.NewRequest(method, o.api+path, strings.NewReader(o.file(body)))
	require.NoError(o, err)
	switch {
	case strings.HasSuffix(body, ".ndjson"):
		req.Header.Set("Content-Type", "application/x-ndjson")
	case body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	if l.by != "" {
		req.Header.Set("Authorization", "Bearer "+l.by)
	}
	resp, answer := sent(o, req)
	var v any
	_ = json.Unmarshal([]byte(answer), &v) // some answers are no JSON
	if !o.answered(l, v) {
		return false
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	fmt.Fprintln(&o.out, " ", resp.StatusCode, kind)
	if kind == "text/event-stream" { // how many events there are depends on the time; the last one does not
		events := strings.Split(strings.TrimSpace(answer), "\n\n")
		for field := range strings.Lines(events[len(events)-1]) {
			if data, ok := strings.CutPrefix(field, "data:"); ok {
				answer = strings.TrimSpace(data)
			}
		}
	}
	o.write(answer)
	return true
}

// askMCP calls a tool, or lists what a host is offered.
func (o *oracle) askMCP(l line) (done bool) {
	name, arguments, _ := strings.Cut(l.text, " ")
	var answer any
	var err error
	if name == "tools/list" {
		answer, err = o.host.ListTools(o.Context(), nil)
	} else {
		answer, err = o.host.CallTool(o.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(o.file(arguments))})
	}
	if err != nil {
		o.write("error: " + err.Error())
		return true
	}
	text := jsonOf(answer)
	var v map[string]any
	require.NoError(o, json.Unmarshal(text, &v))
	if !o.answered(l, v) {
		return false
	}
	o.write(string(text))
	return true
}

// run runs a command, a process of its own.
func (o *oracle) run(l line) (done bool) {
	text, file, _ := strings.Cut(l.text, " < ")
	stdin := ""
	if file != "" {
		stdin = o.file("@" + file)
	}
	args := commandWords(text)
	for i, arg := range args {
		if _, err := os.Stat(filepath.Join(o.dir, arg)); err == nil && strings.Contains(arg, ".") {
			args[i] = filepath.Join(o.dir, arg)
		}
		args[i] = strings.NewReplacer("DIR", o.dir, "INGEST", o.ingest).Replace(args[i])
	}
	if !slices.Contains(args, "--data") {
		args = append(args, "--data", o.data)
	}
	out, errs, code := waymark(o, stdin, args...)
	for name, pattern := range l.keep {
		found := regexp.MustCompile(pattern).FindStringSubmatch(out)
		require.Len(o, found, 2, "%s: no %s in %s%s", l.text, pattern, out, errs)
		o.kept[name] = found[1]
	}
	fmt.Fprintln(&o.out, "  exit", code)
	o.write(out)
	o.write(errs)
	return true
}

// commandWords splits a command line at spaces outside single quotes.
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

// volatile are fields whose values no two runs of the program share. Which model was published before a rebuild, with which the
// gate compares, depends on the builds that started by themselves.
var volatile = regexp.MustCompile(`(_at|_bytes|_tokens|_seconds|_us|_per_day|_per_episode|_until_full)$|^(time|version|revision|built|uptime|pid|suggestion_id|instance|eta|sha256|digest|from_version|to_version|hash|key|bytes|go|seq|at|event|events|since|next_cursor)$|^gain$|^interval|^published$`)

// varying are texts that no two runs share.
var varying = []struct {
	pattern *regexp.Regexp
	to      string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\b20[2-9]\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?\b`), "DATE"},
	{regexp.MustCompile(`sha256:[0-9a-f]{12,64}`), "sha256:…"},
	{regexp.MustCompile(`sha256:…((, built TIME)?[,;] sha256:…)+`), "sha256:…"}, // how many models are kept depends on when they were made
	{regexp.MustCompile(`sg_[0-9a-f]{24}`), "sg_…"},
	{regexp.MustCompile(` --data /\S+`), " --data DIR"},
	{regexp.MustCompile(`\b(event|at) \d+( of \d+)?`), "$1 N"},
	{regexp.MustCompile(`wmk_[0-9a-zA-Z_-]+`), "wmk_…"},
	{regexp.MustCompile(`code=[A-Z2-7]{26}`), "code=…"},
	{regexp.MustCompile(`(^|[^.0-9a-f])[0-9a-f]{16,64}\b`), "${1}HEX"},
	{regexp.MustCompile(`run-[0-9a-f]+-[a-z0-9]+`), "run-ID"},
	{regexp.MustCompile(`rebuild-\d+`), "rebuild-N"}, // builds start by themselves, too
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\b(\d+m)?\d+(\.\d+)? ?(µs|ms|s)\b`), "DURATION"},
	{regexp.MustCompile(`HOME/[^\s")]+`), "HOME"}, // directories of settings and data differ between systems
	{regexp.MustCompile(`(^| )\d+(?:\.\d+)? (MiB|bytes|rows|days at)\b`), "${1}N $2"},
	{regexp.MustCompile(`^(events|rows|bytes): \d+`), "$1: N"},
	{regexp.MustCompile(` {3,}|-{3,}`), "  "},                                                              // columns are as wide as their longest value
	{regexp.MustCompile(`(state  started at)  duration ms|(done  TIME)  \d+(  1)$`), "$1$2$3"},             // a step of less than a millisecond has none
	{regexp.MustCompile(`waymark (\(devel\)|v[^\s,]+)( · [0-9a-f]{12}(\+modified)?)?`), "waymark VERSION"}, // a clean clone has one
	{regexp.MustCompile(`\bgo1\.\d+(\.\d+)?\b`), "GO"},
	{regexp.MustCompile(`process \d+`), "process PID"},
	// Which builds that started by themselves were finished between requests differs from run to run.
	{regexp.MustCompile(`\d+ event\(s\) ago; .*`), "N event(s) ago; …"},
	{regexp.MustCompile(`\b\d+ events\b`), "N events"},
}

// same replaces what no two runs share.
func (o *oracle) same(text string) string {
	for path, name := range map[string]string{o.dir: "DIR", o.home: "HOME", o.ingest: "INGEST", os.Args[0]: "TESTS", program: "WAYMARK"} {
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

// write writes an answer: JSON or JSON lines as one value a line, other text as it is.
func (o *oracle) write(answer string) {
	if v, ok := decoded(answer); ok {
		o.values("", v)
		return
	}
	for text := range strings.Lines(answer) {
		if v, ok := decoded(text); ok {
			o.values("", v)
		} else {
			fmt.Fprintln(&o.out, " ", strings.TrimRight(o.same(text), " \n"))
		}
	}
}

func decoded(text string) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	ok = (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && d.Decode(&v) == nil && !d.More()
	return v, ok
}

// values writes each value below a path in a line of its own. Elements of lists are named by their id or name where
// they have one, so that the lines of the others stay as they are when one goes.
func (o *oracle) values(path string, v any) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch v := v.(type) {
	case map[string]any:
		if (name == "inputs" || name == "outputs") && v["type"] == nil { // digests by the key of the store
			fmt.Fprintf(&o.out, "  %s …\n", path)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			o.values(path+"."+o.same(name), v[name])
		}
	case []any:
		for i, element := range v {
			switch node := element.(type) {
			case map[string]any:
				label := strconv.Itoa(i)
				for _, name := range []string{"id", "name"} {
					if text, ok := node[name].(string); ok {
						label = o.same(text)
						delete(node, name)
						break
					}
				}
				o.values(path+"["+label+"]", node)
			default:
				o.values(path+"[]", node)
			}
		}
		if len(v) == 0 {
			fmt.Fprintf(&o.out, "  %s []\n", path)
		}
	default:
		value := o.same(string(jsonOf(v)))
		switch {
		case strings.HasSuffix(name, "_ms"): // left out where it is 0
			return
		case volatile.MatchString(name):
			value = "…"
		}
		fmt.Fprintf(&o.out, "  %s %s\n", path, value)
	}
}

// jsonOf encodes what was decoded from JSON, without escapes for HTML.
func jsonOf(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // it was decoded from JSON
	return bytes.TrimSpace(b.Bytes())
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

// sampleCut writes a data set of the first n tasks of the bundled history that use tools of these servers only, with
// those tools and the capabilities made of them.
func sampleCut(t testing.TB, n int, servers ...string) string {
	dir := t.TempDir()
	within := func(id string) bool {
		server, _, _ := strings.Cut(id, ":")
		return slices.Contains(servers, server)
	}
	for _, name := range []string{"tools.jsonl", "capabilities.jsonl", "episodes.jsonl"} {
		all, err := fs.ReadFile(sample.Files(), name)
		require.NoError(t, err)
		var kept bytes.Buffer
		lines := 0
		for line := range bytes.Lines(all) {
			var v struct {
				ID    string
				Tools []string
				Steps []struct{ Tool string }
			}
			require.NoError(t, json.Unmarshal(line, &v))
			for _, s := range v.Steps {
				v.Tools = append(v.Tools, s.Tool)
			}
			if v.Tools == nil {
				v.Tools = []string{v.ID}
			}
			if lines < n && !slices.ContainsFunc(v.Tools, func(id string) bool { return !within(id) }) {
				kept.Write(line)
				lines++
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), kept.Bytes(), 0o600))
	}
	return dir
}
