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

// says runs one command without input, which must end with a code, and returns what it printed.
func says(t testing.TB, code int, args ...string) (out, errs string) {
	t.Helper()
	out, errs, got := waymark(t, "", args...)
	require.Equal(t, code, got, "%v: %s%s", args, out, errs)
	return out, errs
}

// given runs one command with an input, which must succeed, and returns what it printed.
func given(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, errs, code := waymark(t, stdin, args...)
	require.Zero(t, code, "%v: %s%s", args, out, errs)
	return out
}

// sent sends a request and returns its answer.
func sent(t testing.TB, req *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

const threeEpisodes = `{"id":"1","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}],"outcome":"success"}
{"id":"2","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}],"outcome":"success"}
{"id":"3","steps":[{"tool":"fs:read_file"},{"tool":"mail:send"}],"outcome":"success"}
`

// A directory has one owner: other processes send requests to it, or get an error that names it. A note that a crash left behind points
// nowhere; the lock decides.
func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	assert.Contains(t, given(t, threeEpisodes, "record", "-", "--data", dir), "accepted 3")
	out, _ := says(t, 0, "next", "--after", "fs:read_file", "--data", dir)
	assert.Contains(t, out, "json:parse")
	for _, args := range [][]string{{"rebuild"}, {"rebuild", "--verify"}, {"diff", "previous", "current"}, {"workspace", "list"}} {
		says(t, 0, append(args, "--data", dir)...)
	}
	_, errs := says(t, exitFailed, "serve", "--data", dir, "--addr", "127.0.0.1:0")
	assert.Regexp(t, `^waymark: data directory is in use: .*, by process \d+ \(waymark serve .*\)`, errs)

	// An owner that does not answer is named too.
	owner, err := readOwner(dir)
	require.NoError(t, err)
	owner.Addr = ""
	require.NoError(t, writeOwner(dir, owner))
	_, errs = says(t, exitFailed, "next", "--data", dir)
	assert.Regexp(t, `by process \d+ \(waymark serve .*\), which takes no requests`, errs)

	assert.Zero(t, s.stop(t), s.stderr)
	_, err = readOwner(dir)
	assert.ErrorIs(t, err, fs.ErrNotExist, "the owner note must go with the owner")
	require.NoError(t, writeOwner(dir, owner))
	out, _ = says(t, 0, "next", "--after", "fs:read_file", "--data", dir)
	assert.Contains(t, out, "json:parse")
}

// Damage is told, with where, and never served by accident; served on purpose, the rest is there.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := startServer(t, dir)
	for episode := range strings.Lines(threeEpisodes) { // one commit each: damage takes a whole one
		given(t, episode, "record", "-", "--data", dir)
	}
	mark := func() string { // may not be there yet
		b, _ := os.ReadFile(filepath.Join(dir, "highwater"))
		return string(b)
	}
	before := mark()
	says(t, 0, "keys", "create", "--name", "later", "--data", dir)
	require.Eventually(t, func() bool { return mark() != before }, 2*time.Minute, 20*time.Millisecond, "a mark from now on counts the episodes")
	require.NoError(t, s.cmd.Process.Kill()) // so that the last events are in the write-ahead log alone
	s.cmd.Wait()
	damaged := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "db"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if n := bytes.Count(b, []byte("mail:send")); err == nil && n > 0 { // in the last episode, and perhaps a snapshot after it
			damaged += n
			err = os.WriteFile(path, bytes.ReplaceAll(b, []byte("mail:send"), []byte("lail:send")), 0o600)
		}
		return err
	}))
	require.Positive(t, damaged, "the test damages nothing")
	_, errs := says(t, exitFailed, "next", "--data", dir)
	assert.Contains(t, errs, "data is damaged")
	out, _ := says(t, exitNegative, "doctor", "--data", dir)
	assert.Contains(t, out, "restore a backup")
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
				address, body := s.URLs.API+"/score/hypothesis", question
				if road == "MCP" {
					address, body = s.URLs.MCP, call
				}
				req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
				require.NoError(t, err)
				for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
					"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "score"} {
					req.Header.Set(name, value)
				}
				go func() {
					<-asked
					s.cmd.Process.Signal(syscall.SIGTERM)
					if ends {
						awaitClosed(s) // shutdown has begun
						close(answer)
					}
				}()
				resp, text := sent(t, req)
				if ends {
					assert.Equal(t, http.StatusOK, resp.StatusCode, text)
					assert.Contains(t, text, "unscored")
				} else {
					assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode, text)
					assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
					assert.NotEmpty(t, resp.Header.Get("Retry-After"))
				}
				require.NoError(t, s.cmd.Wait(), s.stderr)
			})
		}
	}
}

// awaitClosed waits until a server has closed its port.
func awaitClosed(s *serving) {
	page, _ := url.Parse(s.URLs.Page) // the server wrote it
	for conn, err := net.Dial("tcp", page.Host); err == nil; conn, err = net.Dial("tcp", page.Host) {
		conn.Close()
		time.Sleep(time.Millisecond)
	}
}

// Off loopback every request needs a key, so there has to be one first.
func TestServeBeyondThisMachine(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	_, errs := says(t, exitFailed, "serve", "--data", dir, "--addr", "0.0.0.0:0")
	assert.Contains(t, errs, "waymark keys create")

	key := newKey(t, dir)
	s := startServer(t, dir, "--addr", "0.0.0.0:0")
	assert.Equal(t, http.StatusUnauthorized, createdKey{}.asks(t, s.URLs.API))
	assert.Equal(t, http.StatusOK, key.asks(t, s.URLs.API))

	// The command line of the same user needs none, and a revoked key fails at once.
	says(t, 0, "keys", "revoke", key.ID, "--data", dir)
	assert.Equal(t, http.StatusUnauthorized, key.asks(t, s.URLs.API))
}

// With an endpoint, the texts of the catalog are embedded there, under the key from the environment, which is shown
// nowhere.
func TestServeWithEmbeddings(t *testing.T) {
	asked := make(chan [2]string, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&q) // the test compares what it holds
		select {
		case asked <- [2]string{q.Model, r.Header.Get("Authorization")}:
		default:
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer endpoint.Close()
	t.Setenv("WAYMARK_EMBEDDINGS_KEY", "sesame")
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--embeddings-url", endpoint.URL+"/v1", "--embeddings-model", "little")
	given(t, `{"kind":"tool","id":"fs:read_file","name":"read_file","description":"Reads a file."}`+"\n", "import", "-", "--format", "waymark", "--data", s.dir)
	assert.Equal(t, [2]string{"little", "Bearer sesame"}, <-asked) // beside the import
	assert.Zero(t, s.stop(t))
	assert.NotContains(t, s.stderr.String(), "sesame")
}

// A running server answers with its own settings, so flags of a command beside it that change them are refused; those of the
// environment are for every process.
func TestSettingsBesideAServer(t *testing.T) {
	s := startServer(t, filepath.Join(t.TempDir(), "data"))
	for _, args := range [][]string{{"search", "zorble", "--thesaurus", "none.txt"}, {"score", "hypothesis", "-", "--record-scores=false"}} {
		_, errs, code := waymark(t, `{"hypotheses":[]}`, append(args, "--data", s.dir)...)
		assert.Equal(t, exitUsage, code)
		assert.Regexp(t, `--(thesaurus|record-scores) has no effect: the server at http://`, errs)
	}
	t.Setenv("WAYMARK_THESAURUS", "none.txt")
	_, errs := says(t, 0, "search", "zorble", "--data", s.dir)
	assert.NotContains(t, errs, "no effect")
	out, _ := says(t, 0, "doctor", "--data", s.dir)
	assert.Regexp(t, `(?m)^addr +127\.0\.0\.1:0 +flag +--addr`, out)
	assert.NotContains(t, out, "none.txt")
	assert.Zero(t, s.stop(t))
}

// A first start imports the sample, or names the next step. The sample's model is that of the README's session.
func TestFirstServe(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	model := regexp.MustCompile(`(?m)^model +sha256:\w+ at \d+$`).FindString(string(readme))
	require.NotEmpty(t, model)
	for _, first := range []struct{ flags, want, never string }{
		{"--sample", model, "Nothing is recorded yet"},
		{"--sample=false", "Nothing is recorded yet. Begin with waymark import sample --data ", model},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // against a hang
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "serve", "--data", filepath.Join(t.TempDir(), "data"), "--addr", "127.0.0.1:0", first.flags)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		pipe, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		said := ""
		for lines := bufio.NewScanner(pipe); !strings.Contains(said, "Tell a host") && lines.Scan(); {
			said += lines.Text() + "\n"
		}
		assert.Contains(t, said, first.want, &stderr)
		assert.NotContains(t, said, first.never)
		assert.Contains(t, said, "/mcp")
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		io.Copy(io.Discard, pipe)
		require.NoError(t, cmd.Wait(), &stderr)
	}
}

// An interrupted rebuild is canceled where it runs.
func TestInterruptedRebuild(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts are sent to other processes")
	}
	t.Parallel()
	s := startServer(t, loadStore(t))
	canceled := func(id string) bool {
		var job live.Job
		require.Eventually(t, func() bool {
			askOver(t, http.MethodGet, s.URLs.API+"/jobs/"+id, "", http.StatusOK, &job)
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
