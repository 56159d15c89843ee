package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
)

// serving is a running server.
type serving struct {
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	dir    string
	URLs   struct {
		API  string `json:"api"`
		MCP  string `json:"mcp"`
		Page string `json:"page"`

		SignIn string `json:"sign_in"`
	}
}

// startServer runs waymark serve until the test ends.
func startServer(t testing.TB, dir string, args ...string) *serving {
	t.Helper()
	s := &serving{dir: dir, stderr: new(bytes.Buffer)}
	s.cmd = exec.Command(program, append([]string{"serve", "--json", "--data", dir, "--addr", "127.0.0.1:0"}, args...)...)
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() { s.cmd.Process.Kill(); s.cmd.Wait() })
	late := time.AfterFunc(5*time.Minute, func() { s.cmd.Process.Signal(syscall.SIGQUIT) }) // it prints where it waits
	defer late.Stop()
	if err := json.NewDecoder(out).Decode(&s.URLs); err != nil {
		s.cmd.Wait()
		require.NoError(t, err, "the server did not start: %s", s.stderr)
	}
	go io.Copy(io.Discard, out)
	return s
}

// stop ends the server as a supervisor would and returns its exit code.
func (s *serving) stop(t testing.TB) int {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// waymark runs one command and returns what it printed.
func waymark(t testing.TB, stdin string, args ...string) (out, errs string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

const threeEpisodes = `{"id":"1","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}],"outcome":"success"}
{"id":"2","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}],"outcome":"success"}
{"id":"3","steps":[{"tool":"fs:read_file"},{"tool":"mail:send"}],"outcome":"success"}
`

// builtAt is when a process made its model: the one part of an answer that is no function of the log.
// A directory has one owner: others go through it, or are told who it is.
func TestDirectoryInUse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)

	out, errs, code := waymark(t, threeEpisodes, "record", "-", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "accepted 3")
	out, errs, code = waymark(t, "", "next", "--after", "fs:read_file", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "json:parse")
	for _, args := range [][]string{{"rebuild"}, {"rebuild", "--verify"}, {"backup", filepath.Join(t.TempDir(), "b")}, {"diff", "previous", "current"}, {"workspace", "list"}} {
		_, errs, code = waymark(t, "", append(args, "--data", dir)...)
		require.Zero(t, code, "%v: %s", args, errs)
	}

	_, errs, code = waymark(t, "", "serve", "--data", dir, "--addr", "127.0.0.1:0")
	assert.Equal(t, exitFailed, code)
	assert.Regexp(t, `^waymark: data directory .* is in use by process \d+ \(waymark serve .*\)`, errs)

	// An owner that does not answer is named too.
	owner, err := readOwner(dir)
	require.NoError(t, err)
	owner.Addr = ""
	require.NoError(t, writeOwner(dir, owner))
	_, errs, code = waymark(t, "", "next", "--data", dir)
	assert.Equal(t, exitFailed, code)
	assert.Regexp(t, `in use by process \d+ \(waymark serve .*\), which takes no requests`, errs)

	assert.Zero(t, s.stop(t), s.stderr)
	_, err = readOwner(dir)
	assert.ErrorIs(t, err, fs.ErrNotExist, "the owner note must go with the owner")
	out, errs, code = waymark(t, "", "next", "--after", "fs:read_file", "--data", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "json:parse")
}

// A note that a crash left behind points nowhere; the lock decides.
func TestStaleOwnerNote(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	require.NoError(t, s.cmd.Process.Kill())
	s.cmd.Wait()
	_, err := readOwner(dir)
	require.NoError(t, err, "the test needs a stale note")
	_, errs, code := waymark(t, threeEpisodes, "record", "-", "--data", dir)
	require.Zero(t, code, errs)
}

// Damage is told, with where, and never served by accident; served on purpose, the rest is there.
func TestDamagedLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	var out, errs string
	var code int
	for episode := range strings.Lines(threeEpisodes) { // one commit each: damage takes a whole one
		_, errs, code = waymark(t, episode, "record", "-", "--data", dir)
		require.Zero(t, code, errs)
	}
	mark := func() string { // may not be there yet
		b, _ := os.ReadFile(filepath.Join(dir, "highwater"))
		return string(b)
	}
	before := mark()
	_, errs, code = waymark(t, "", "keys", "create", "--name", "later", "--data", dir)
	require.Zero(t, code, errs)
	require.Eventually(t, func() bool { return mark() != before }, 2*time.Minute, 20*time.Millisecond, "a mark from now on counts the episodes")
	require.NoError(t, s.cmd.Process.Kill()) // so that the last events are in the write-ahead log alone
	s.cmd.Wait()
	damaged := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "db"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if i := bytes.LastIndex(b, []byte("mail:send")); err == nil && i >= 0 { // in the last episode
			b[i] ^= 1
			damaged++
			err = os.WriteFile(path, b, 0o600)
		}
		return err
	}))
	require.Positive(t, damaged, "the test damages nothing")
	_, errs, code = waymark(t, "", "next", "--data", dir)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, "data is damaged")
	out, _, code = waymark(t, "", "doctor", "--data", dir)
	assert.Equal(t, exitNegative, code)
	assert.Contains(t, out, "restore a backup")
}

// SIGTERM lets an open request finish, and the process ends with 0.
func TestServeEndsGracefully(t *testing.T) {
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	r, w := io.Pipe()
	answered := make(chan error, 1)
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	go func() {
		req, _ := http.NewRequest(http.MethodPost, s.URLs.API+"/episodes", r)
		req.Header.Set("Content-Type", "application/x-ndjson")
		req.Header.Set("Expect", "100-continue") // the body is sent once the handler reads it
		resp, err := client.Do(req)
		if err == nil {
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
		}
		answered <- err
	}()
	_, err := io.WriteString(w, `{"id":"open","steps":[{"tool":"a:b"}]}`+"\n")
	require.NoError(t, err)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	page, err := url.Parse(s.URLs.Page)
	require.NoError(t, err)
	require.Eventually(t, func() bool { // it has closed its port
		conn, err := net.Dial("tcp", page.Host)
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, 30*time.Second, time.Millisecond)
	require.NoError(t, w.Close())
	require.NoError(t, <-answered)
	require.NoError(t, s.cmd.Wait(), s.stderr)
	out, errs, code := waymark(t, "", "export", "--format", "waymark", "--data", s.dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, `"id":"open"`)
}

// A request in flight at SIGTERM is answered, over HTTP and MCP: one that ends in time with its answer, another with a
// problem document.
func TestRequestsInFlightAtSIGTERM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals are sent to other processes")
	}
	const question = `{"hypotheses":[{"id":"h","statement":"the moon is cheese"}],"judge":{}}`
	const call = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"score","arguments":{"rubric":"hypothesis","input":` + question + `},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, road := range []string{"v1", "MCP"} {
		for _, ends := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, ends: %v", road, ends), func(t *testing.T) {
				t.Parallel()
				asked, answer := make(chan struct{}, 10), make(chan struct{})
				model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					asked <- struct{}{}
					select {
					case <-answer:
						http.Error(w, "no", http.StatusBadRequest)
					case <-r.Context().Done():
					}
				}))
				t.Cleanup(model.Close)
				s := startServer(t, filepath.Join(t.TempDir(), "data"), "--judge-url", model.URL+"/v1", "--judge-model", "m")
				url, body := s.URLs.API+"/score/hypothesis", question
				if road == "MCP" {
					url, body = s.URLs.MCP, call
				}
				req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
				require.NoError(t, err)
				for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
					"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "score"} {
					req.Header.Set(name, value)
				}
				go func() {
					<-asked
					s.cmd.Process.Signal(syscall.SIGTERM)
					if ends {
						time.Sleep(100 * time.Millisecond) // shutdown has begun
						close(answer)
					}
				}()
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				defer resp.Body.Close()
				data, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				if ends {
					assert.Equal(t, http.StatusOK, resp.StatusCode, string(data))
					assert.Contains(t, string(data), "unscored")
				} else {
					assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, string(data))
					assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
					assert.NotEmpty(t, resp.Header.Get("Retry-After"))
				}
				require.NoError(t, s.cmd.Wait(), s.stderr)
			})
		}
	}
}

// Off loopback every request needs a key, so there has to be one first.
func TestServeBeyondThisMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, errs, code := waymark(t, "", "serve", "--data", dir, "--addr", "0.0.0.0:0")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, errs, "waymark keys create")

	key, errs, code := waymark(t, "", "keys", "create", "--data", dir, "--workspace", "team")
	require.Zero(t, code, errs)
	s := startServer(t, dir, "--addr", "0.0.0.0:0")
	get := func(key string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URLs.API+"/stats", nil)
		require.NoError(t, err)
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	assert.Equal(t, http.StatusUnauthorized, get(""))
	assert.Equal(t, http.StatusOK, get(key))

	// The command line of the same user needs none, and a revoked key fails at once.
	list, errs, code := waymark(t, "", "keys", "list", "--data", dir)
	require.Zero(t, code, errs)
	id := strings.Fields(strings.Split(list, "\n")[1])[0]
	_, errs, code = waymark(t, "", "keys", "revoke", id, "--data", dir)
	require.Zero(t, code, errs)
	assert.Equal(t, http.StatusUnauthorized, get(key))
}

// With an endpoint, the texts of the catalog are embedded there, under the key from the environment;
// a wrong one is wrong usage.
func TestServeWithEmbeddings(t *testing.T) {
	_, errs, code := waymark(t, "", "serve", "--data", filepath.Join(t.TempDir(), "data"), "--addr", "127.0.0.1:0", "--embeddings-url", "127.0.0.1:1", "--embeddings-model", "m")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "base URL")

	var asked atomic.Int64
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Input []string `json:"input"`
			Model string   `json:"model"`
		}
		if json.NewDecoder(r.Body).Decode(&q) != nil || q.Model != "little" || r.Header.Get("Authorization") != "Bearer sesame" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		asked.Add(int64(len(q.Input)))
		type vector struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		var answer struct {
			Data []vector `json:"data"`
		}
		for i, text := range q.Input { // as in: how long, how many words
			answer.Data = append(answer.Data, vector{i, []float32{float32(len(text)), float32(strings.Count(text, " ")), 1}})
		}
		json.NewEncoder(w).Encode(answer)
	}))
	defer endpoint.Close()
	t.Setenv("WAYMARK_EMBEDDINGS_KEY", "sesame")
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--embeddings-url", endpoint.URL+"/v1", "--embeddings-model", "little")
	_, errs, code = waymark(t, `{"kind":"tool","id":"fs:read_file","name":"read_file","description":"Reads a file."}`+"\n", "import", "-", "--format", "waymark", "--data", s.dir)
	require.Zero(t, code, errs)
	require.Eventually(t, func() bool { return asked.Load() > 0 }, 2*time.Minute, 5*time.Millisecond, "the endpoint was never asked") // beside the import
	_, errs, code = waymark(t, "", "rebuild", "--verify", "--data", s.dir)
	require.Zero(t, code, errs)
	assert.Zero(t, s.stop(t))
	assert.NotContains(t, s.stderr.String(), "sesame")
}

// A running server answers with its own settings, so flags of a command beside it that change them are refused; those of the
// environment are for every process.
func TestSettingsBesideAServer(t *testing.T) {
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	for _, flag := range []string{"--thesaurus=none.txt", "--judge-url=http://127.0.0.1:1/v1", "--judge-model=m", "--record-scores=false"} {
		args := []string{"score", "hypothesis", "-", flag}
		if strings.HasPrefix(flag, "--thesaurus") {
			args = []string{"search", "zorble", flag}
		}
		_, errs, code := waymark(t, `{"hypotheses":[]}`, append(args, "--data", s.dir)...)
		assert.Equal(t, exitUsage, code, errs)
		name, _, _ := strings.Cut(flag, "=")
		assert.Contains(t, errs, name+" has no effect: the server at http://")
	}
	t.Setenv("WAYMARK_THESAURUS", "none.txt")
	_, errs, code := waymark(t, "", "search", "zorble", "--data", s.dir)
	assert.Zero(t, code, errs)
	assert.NotContains(t, errs, "no effect")
	out, _, _ := waymark(t, "", "doctor", "--data", s.dir)
	assert.Regexp(t, `(?m)^addr +127\.0\.0\.1:0 +flag +--addr`, out)
	assert.NotContains(t, out, "none.txt")
	assert.Zero(t, s.stop(t))
}

// A first start imports the sample; a second one reuses the store. Its model is that of the README's session.
func TestServeSample(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	model := regexp.MustCompile(`(?m)^model +sha256:\w+ at \d+$`).FindString(string(readme))
	require.NotEmpty(t, model)
	for start := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // against a hang
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "serve", "--data", dir, "--addr", "127.0.0.1:0", "--sample")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		var out bytes.Buffer
		b := make([]byte, 4096)
		for !strings.Contains(out.String(), "Tell a host") {
			n, err := pipe.Read(b)
			out.Write(b[:n])
			require.NoError(t, err, "%s%s", &out, &stderr)
		}
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		io.Copy(&out, pipe)
		require.NoError(t, cmd.Wait(), stderr.String())
		assert.Equal(t, start == 0, strings.Contains(out.String(), model), out.String())
		assert.Contains(t, out.String(), "/mcp")
	}
}

// An interrupted rebuild is canceled where it runs.
func TestInterruptedRebuild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts are sent to other processes")
	}
	s := startServer(t, sampleStore(t))
	canceled := func(id string) bool {
		var job live.Job
		require.Eventually(t, func() bool {
			resp, err := http.Get(s.URLs.API + "/jobs/" + id)
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode, resp.Request.URL)
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&job))
			return job.State != live.JobRunning
		}, 2*time.Minute, 10*time.Millisecond)
		return job.State == live.JobCanceled
	}
	for i := 1; ; i++ { // a rebuild may be done before it is interrupted
		require.Less(t, i, 30, "no rebuild was canceled")
		cmd := exec.Command(program, "rebuild", "--data", s.dir, "--progress", "plain")
		errs, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		bufio.NewReader(errs).ReadString('\n') // it has begun
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		io.Copy(io.Discard, errs)
		failed := cmd.Wait() != nil
		if canceled(fmt.Sprintf("rebuild-%d", i)) {
			assert.True(t, failed)
			return
		}
	}
}
