package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/sample"
	"waymark/suggest"
)

// oldProgram, if set, is the path of a program that writes the fixtures of this file; testdata/oldstore/README.md has
// the command. It is read here because TestMain clears the settings.
var oldProgram = os.Getenv("WAYMARK_OLD_PROGRAM")

const oldStore = "testdata/oldstore"

// oldModelDiffers says why the content hash of the model of the old store is another one today; empty: it must be
// the same. A reason stands in CHANGELOG.md too.
const oldModelDiffers = "few capabilities are clustered by modularity, no longer one cluster each"

// What of an answer must be as the old program gave it.
const (
	compareAll    = "all"    // everything the old answer held; fields may be added
	compareIDs    = "ids"    // which ids, in which order
	compareAnswer = "answer" // that there is one with at least one id
)

// exportOfKey is the question that is asked with the key of workspace other.
const exportOfKey = "export of workspace other"

type oldQuestion struct {
	name, method, path, body string
	compare                  string
	reason                   string
}

// oldQuestions are asked of the old store. A question that is not compared in full says why.
var oldQuestions = []oldQuestion{
	{"next, seed, one tool", "POST", "/next", `{"context":["metrics:list_alerts"],"profile":"seed","limit":5}`, compareIDs, "scores may be rounded differently"},
	{"next, seed, three tools", "POST", "/next", `{"context":["metrics:list_alerts","metrics:query_metrics","metrics:search_logs"],"profile":"seed","limit":5}`, compareIDs, "scores may be rounded differently"},
	{"next, seed, intent", "POST", "/next", `{"context":["forge:get_pull_request"],"intent":"review the open pull requests","profile":"seed","limit":5}`, compareIDs, "scores may be rounded differently"},
	{"next, seed, no context", "POST", "/next", `{"profile":"seed","limit":5}`, compareAnswer, "few capabilities are clustered otherwise, and exploration shows the hubs of the clusters"},
	{"next, learned", "POST", "/next", `{"context":["metrics:list_alerts"],"profile":"learned","limit":5}`, compareAnswer, "the learned profile may rank better"},
	{"next, learned, intent", "POST", "/next", `{"context":["forge:list_pull_requests"],"intent":"merge what is approved","profile":"learned","limit":5}`, compareAnswer, "the learned profile may rank better"},
	{"search, seed", "POST", "/search", `{"query":"open an issue","profile":"seed","limit":5}`, compareAnswer, "the text index may rank better"},
	{"search, learned", "POST", "/search", `{"query":"why is the service slow","profile":"learned","limit":5}`, compareAnswer, "the text index and the learned profile may rank better"},
	{"search, exact id", "POST", "/search", `{"query":"chat:post_message","limit":1}`, compareIDs, "scores may be rounded differently"},
	{"dag, learned", "POST", "/dag", `{"intent":"find out why checkout is slow and tell the team","profile":"learned"}`, compareAnswer, "the learned profile may plan better"},
	{"dag, seed", "POST", "/dag", `{"intent":"find out why checkout is slow and tell the team","profile":"seed"}`, compareAnswer, "the text index, which finds the targets, may rank better"},
	{"explain, seed", "POST", "/explain", `{"id":"metrics:query_metrics","context":["metrics:list_alerts"],"profile":"seed"}`, compareIDs, "scores may be rounded differently"},
	{"export", "GET", "/export", "", compareAll, ""},
	{exportOfKey, "GET", "/export", "", compareAll, ""},
	{"capabilities", "GET", "/capabilities?limit=100", "", compareAll, ""},
	{"keys", "GET", "/keys", "", compareAll, ""},
	{"workspaces", "GET", "/workspaces", "", compareAll, ""},
	{"model", "GET", "/stats", "", compareAll, oldModelDiffers},
}

// oldAnswers is expected.json.
type oldAnswers struct {
	Key     string         `json:"key"`     // of workspace other; it opens nothing but this store
	Answers map[string]any `json:"answers"` // by name of the question
}

// A directory and a backup that an earlier program wrote are read in full: episodes, feedback, capabilities, keys,
// workspaces, the judgement of profiles and the snapshot of the model.
func TestOldStoreOpens(t *testing.T) {
	if oldProgram != "" {
		makeOldStore(t)
	}
	var want oldAnswers
	b, err := os.ReadFile(filepath.Join(oldStore, "expected.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &want))
	for _, tt := range []struct {
		name string
		open func(t *testing.T, dir string)
	}{
		{"store", unpackOldStore},
		{"backup", func(t *testing.T, dir string) {
			_, errs, code := waymark(t, "", "restore", filepath.Join(oldStore, "backup"), "--data", dir)
			require.Zero(t, code, errs)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			tt.open(t, dir)
			s := startServer(t, dir)
			for _, q := range oldQuestions {
				got := s.old(t, q, want.Key)
				switch {
				case q.compare == compareAnswer || q.name == "model" && oldModelDiffers != "":
					assert.NotEmpty(t, got, q.name)
				default:
					assert.Empty(t, missing("", want.Answers[q.name], got), "%s: the old program answered otherwise", q.name)
				}
			}
			assert.Equal(t, http.StatusOK, s.withKey(t, want.Key), "the key of then opens the server of today")
			assert.Equal(t, http.StatusUnauthorized, s.withKey(t, want.Key+"x"))
			assert.Zero(t, s.stop(t), s.stderr)
			out, errs, code := waymark(t, "", "rebuild", "--verify", "--data", dir)
			assert.Zero(t, code, "%s%s", out, errs)
		})
	}
}

// The choice of profiles that an earlier program judged answers until a server has judged again, which it does unasked.
// One command returns to it, and it stays over restarts.
func TestOldStoreIsJudgedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	unpackOldStore(t, dir)
	judged := func(s *serving) suggest.Choice {
		resp, err := http.Get(s.URLs.API + "/stats")
		require.NoError(t, err)
		defer resp.Body.Close()
		var stats suggest.Stats
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&stats))
		return stats.Auto
	}
	out, errs, code := waymark(t, "", "doctor", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "judged on 2026-11-22 at event 209 by another version of the program")

	s := startServer(t, dir, "--judge-profiles")
	old := judged(s)
	assert.Zero(t, old.Edition)
	require.Eventually(t, func() bool { return !judged(s).Outdated() }, 2*time.Minute, 50*time.Millisecond, "the profiles were not judged again")
	require.NotEqual(t, old, judged(s))
	_, errs, code = waymark(t, "", "rebuild", "--rollback", "--data", dir)
	require.Zero(t, code, errs)
	assert.Equal(t, old, judged(s))
	assert.Zero(t, s.stop(t), s.stderr)

	s = startServer(t, dir, "--judge-profiles")
	assert.Equal(t, old, judged(s))
	out, errs, code = waymark(t, "", "doctor", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "rolled back at event")
	resp, err := http.Get(s.URLs.API + "/jobs")
	require.NoError(t, err)
	defer resp.Body.Close()
	var jobs struct{ Jobs []live.Job }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&jobs))
	assert.Empty(t, jobs.Jobs, "what was taken back is not judged again by a restart")
	assert.Zero(t, s.stop(t), s.stderr)
}

// missing lists where got lacks something that want holds. Objects may have further fields.
func missing(path string, want, got any) (all []string) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{path + " is no object"}
		}
		for name, v := range want {
			all = append(all, missing(path+"/"+name, v, got[name])...)
		}
		slices.Sort(all)
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return []string{path + " has another length"}
		}
		for i := range want {
			all = append(all, missing(path+"/"+string(jsonOf(i)), want[i], got[i])...)
		}
	default:
		if !bytes.Equal(jsonOf(want), jsonOf(got)) {
			return []string{path + " is " + string(jsonOf(got)) + ", was " + string(jsonOf(want))}
		}
	}
	return all
}

func jsonOf(v any) []byte {
	b, _ := json.Marshal(v) // values that were decoded from JSON, and integers
	return b
}

// old asks a running server and returns the part of the answer that is compared.
func (s *serving) old(t *testing.T, q oldQuestion, key string) any {
	t.Helper()
	req, err := http.NewRequest(q.method, s.URLs.API+q.path, strings.NewReader(q.body))
	require.NoError(t, err)
	if q.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.name == exportOfKey {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", q.name, text)
	if q.path == "/export" {
		lines := []any{}
		for line := range bytes.Lines(text) {
			var v any
			require.NoError(t, json.Unmarshal(line, &v))
			lines = append(lines, v)
		}
		return lines
	}
	var v map[string]any
	require.NoError(t, json.Unmarshal(text, &v))
	switch {
	case q.path == "/stats":
		return v["model"].(map[string]any)["version"]
	case q.compare == compareAll:
		delete(v, "model")
		return v
	}
	ids := []any{}
	if id, ok := v["id"]; ok { // explain
		ids = append(ids, id, v["rank"])
	}
	for _, list := range []any{v["suggestions"], v["results"], v["dag"]} {
		if dag, ok := list.(map[string]any); ok {
			list = dag["tasks"]
		}
		items, _ := list.([]any)
		for _, item := range items {
			item := item.(map[string]any)
			if tool, ok := item["tool"]; ok {
				ids = append(ids, tool)
			} else {
				ids = append(ids, item["id"])
			}
		}
	}
	return ids
}

// withKey returns the status of a question asked with an API key.
func (s *serving) withKey(t *testing.T, key string) int {
	req, err := http.NewRequest("GET", s.URLs.API+"/stats", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

func unpackOldStore(t *testing.T, dir string) {
	f, err := os.Open(filepath.Join(oldStore, "store.tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	files := tar.NewReader(z)
	for {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		b, err := io.ReadAll(files)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
}

// packStore writes the files of a directory without times and owners.
func packStore(t *testing.T, dir, file string) {
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	z, _ := gzip.NewWriterLevel(f, gzip.BestCompression) // a level there is
	files := tar.NewWriter(z)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if err := files.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(b))}); err != nil {
			return err
		}
		_, err = files.Write(b)
		return err
	}))
	require.NoError(t, files.Close())
	require.NoError(t, z.Close())
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

// makeOldStore writes the fixtures with the program that oldProgram names.
func makeOldStore(t *testing.T) {
	today := program
	program = oldProgram
	defer func() { program = today }()
	dir := filepath.Join(t.TempDir(), "data")
	run := func(stdin string, args ...string) string {
		out, errs, code := waymark(t, stdin, append(args, "--data", dir)...)
		require.Zero(t, code, "%v: %s", args, errs)
		return out
	}
	run("", "import", sampleCut(t, 150, "forge", "metrics", "tracker", "chat"))
	run(`{"id":"own-1","intent":"tell the team what broke","time":"2026-07-01T09:00:00Z","session":"own","steps":[{"tool":"metrics:list_alerts","outcome":"success"},{"tool":"chat:post_message","outcome":"success"}],"outcome":"success"}
{"id":"own-2","intent":"see whether the alert is gone","time":"2026-07-01T10:00:00Z","session":"own","steps":[{"tool":"metrics:list_alerts","outcome":"failure","error_kind":"timeout"},{"tool":"metrics:query_metrics","outcome":"success"}],"outcome":"success"}
`, "record", "-")
	caps := filepath.Join(t.TempDir(), "cap.json")
	require.NoError(t, os.WriteFile(caps, []byte(`{"id":"cap:tell_the_team","name":"Tell the team","description":"Looks at the alerts and tells the team.","intent":"tell the team about alerts","tools":["metrics:list_alerts","chat:post_message"],"tasks":[{"id":"t1","tool":"metrics:list_alerts"},{"id":"t2","tool":"chat:post_message","depends_on":["t1"]}]}`), 0o600))
	run("", "capability", "import", caps)
	run(threeEpisodes, "record", "-", "--workspace", "other")
	key := strings.TrimSpace(run("", "keys", "create", "--workspace", "other", "--name", "fixture", "--scopes", "read,admin"))
	s := startServer(t, dir)
	for _, body := range []string{
		`{"context":["metrics:list_alerts"],"id":"metrics:query_metrics","used":true,"outcome":"success"}`,
		`{"context":["metrics:list_alerts"],"id":"tracker:create_issue","used":false}`,
	} {
		s.old(t, oldQuestion{name: "feedback", method: "POST", path: "/feedback", body: body, compare: compareAll}, "")
	}
	require.Zero(t, s.stop(t), s.stderr)
	run("", "rebuild")
	run("", "rebuild", "--verify")
	require.NoError(t, os.MkdirAll(oldStore, 0o755))
	backup := filepath.Join(oldStore, "backup")
	os.Remove(backup) // may not be there
	run("", "backup", backup)
	older, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "*.snapshot"))
	require.NoError(t, err)
	for i, file := range older { // one of each workspace is enough
		if i+1 < len(older) && filepath.Dir(older[i+1]) == filepath.Dir(file) {
			require.NoError(t, os.Remove(file))
		}
	}
	packStore(t, dir, filepath.Join(oldStore, "store.tar.gz"))

	var b bytes.Buffer // one answer a line
	fmt.Fprintf(&b, "{\"key\": %q, \"answers\": {\n", key)
	s = startServer(t, dir)
	for i, q := range oldQuestions {
		comma := ","
		if i == len(oldQuestions)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, "%s: %s%s\n", jsonOf(q.name), jsonOf(s.old(t, q, key)), comma)
	}
	b.WriteString("}}\n")
	require.Zero(t, s.stop(t), s.stderr)
	require.NoError(t, os.WriteFile(filepath.Join(oldStore, "expected.json"), b.Bytes(), 0o644))
}
