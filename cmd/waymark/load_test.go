package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"

	sample "waymark/cmd/waymark/sampledata"
	"waymark/episodic"
)

// longLoad is the duration of the long form of the load tests. Unset, the short form runs. It is read before TestMain
// clears the settings.
var longLoad, _ = time.ParseDuration(os.Getenv("WAYMARK_LOAD_TIME"))

// stream sends POST requests, each of which is due at a time that does not depend on the answers before it.
type stream struct {
	client    *http.Client
	url, key  string
	perSecond int
	body      func(i int) string

	sent int
	mu   sync.Mutex
	bad  []string
}

// loadClient has fewer connections than one address may have: after a pause of the machine, requests wait in the client
// and are not refused.
func loadClient() *http.Client {
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256, IdleConnTimeout: 30 * time.Second}}
}

// post sends one request and returns what is wrong with its answer.
func (s *stream) post(i int) error {
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(s.body(i)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return err
}

// drive sends the requests of all streams that are due in a time, in the background, and waits for their answers.
func drive(d time.Duration, streams ...*stream) {
	var wg sync.WaitGroup
	began := time.Now()
	for _, s := range streams {
		wg.Go(func() {
			for after := time.Duration(0); after < d; after += time.Second / time.Duration(s.perSecond) {
				time.Sleep(time.Until(began.Add(after)))
				i := s.sent
				s.sent++
				wg.Go(func() {
					if err := s.post(i); err != nil {
						s.mu.Lock()
						defer s.mu.Unlock()
						s.bad = append(s.bad, err.Error())
					}
				})
			}
		})
	}
	wg.Wait()
}

// nextBodies are questions from the sample.
func nextBodies(t testing.TB) func(i int) string {
	episodes, err := sample.Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	return func(i int) string {
		return fmt.Sprintf(`{"context":[%q],"limit":5}`, episodes[i%256*7%len(episodes)].Steps[0].Tool)
	}
}

// Questions and durable writes at fixed rates: none fails, and each acknowledged episode is kept. The long form demands
// that memory grows with what is written only.
func TestLoad(t *testing.T) {
	t.Parallel()
	nexts, writes, d := 200, 40, 2*time.Second
	if longLoad > 0 {
		nexts, writes, d = 1000, 200, longLoad
	}
	s := startServer(t, loadStore(t))
	next := &stream{client: loadClient(), url: s.URLs.API + "/next", perSecond: nexts, body: nextBodies(t)}
	write := &stream{client: next.client, url: s.URLs.API + "/episodes", perSecond: writes, body: func(i int) string {
		return fmt.Sprintf(`{"id":"load-%d","steps":[{"tool":"forge:get_issue"},{"tool":"forge:create_pull_request"}],"outcome":"success"}`, i)
	}}
	kept := func(dir string) int {
		out, _ := says(t, 0, "export", "--format", "waymark", "--data", dir)
		return strings.Count(out, `"id":"load-`)
	}
	// grow drives streams for a time and returns the growth of resident memory in its second half, MiB a minute: 0 on
	// systems without /proc.
	grow := func(d time.Duration, streams ...*stream) (growth float64) {
		var minutes, resident []float64
		for began := time.Now(); time.Since(began) < d; {
			drive(min(d, 5*time.Second), streams...)
			if at := time.Since(began); at > d/2 {
				minutes, resident = append(minutes, at.Minutes()), append(resident, s.resident())
			}
		}
		_, growth = stat.LinearRegression(minutes, resident, nil, false)
		return growth
	}
	grown := grow(d, next, write)
	if longLoad >= 10*time.Minute { // before, caches still fill
		perEpisode := grown * (1 << 20) / (float64(write.sent) / d.Minutes())
		assert.LessOrEqual(t, perEpisode, 2048.0) // 500 to 960 measured: a build in the second half is a step
		assert.LessOrEqual(t, grow(d/2, next), 0.5, "MiB a minute without writes")
	}
	assert.Empty(t, slices.Concat(next.bad, write.bad))
	assert.Equal(t, write.sent, kept(s.dir))
	require.Zero(t, s.stop(t), s.stderr)
	assert.Equal(t, write.sent, kept(s.dir), "without the server")
}

// loadStore returns a data directory with a part of the bundled history.
func loadStore(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "data")
	says(t, 0, "import", sampleCut(t, 60, "forge", "metrics", "tracker", "chat"), "--data", dir)
	return dir
}

// resident is the memory of a server in MiB: 0 on systems without /proc.
func (s *serving) resident() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	var size, pages float64
	_, _ = fmt.Sscan(string(text), &size, &pages)
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// A client with a key and an address of its own that takes all it can get makes no request of another client fail. Who
// is refused because of the load gets a Retry-After header, and memory stays bounded.
func TestAttacksOnOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the attacker needs an address of its own on this machine: 127.0.0.2")
	}
	t.Parallel()
	d := max(longLoad/20, time.Second)
	dir := loadStore(t)
	keyOf := func(workspace string) string {
		key, _ := says(t, 0, "keys", "create", "--data", dir, "--workspace", workspace)
		return strings.TrimSpace(key)
	}
	head := "Host: localhost\r\nAuthorization: Bearer " + keyOf("attacker") + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	other := keyOf("default")
	s := startServer(t, dir, "--addr", "0.0.0.0:0") // there every request needs a key
	page, err := url.Parse(s.URLs.Page)
	require.NoError(t, err)
	addr := "127.0.0.1:" + page.Port()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`

	const plan = `{"intent":"find out why checkout is slow and tell the team"}`
	for _, attack := range []struct {
		name        string
		connections int
		request     string
		more        string // sent every two seconds until there is an answer
		idle        bool   // after one answer
	}{
		{"slow bodies", 64, "POST /v1/episodes HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", false},
		{"idle connections", 1024, "GET /v1/stats HTTP/1.1\r\n" + head + "\r\n", "", true},
		{"plans", 400, fmt.Sprintf("POST /v1/dag HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(plan), plan), "", false},
		{"MCP sessions", 4, fmt.Sprintf("POST /mcp HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(hello), hello), "", false},
	} {
		t.Run(attack.name, func(t *testing.T) {
			var answers atomic.Int64
			ask := func(ctx context.Context, conn net.Conn, r *bufio.Reader) (more bool) {
				var resp *http.Response
				err, text := os.ErrDeadlineExceeded, attack.request
				for errors.Is(err, os.ErrDeadlineExceeded) {
					_, _ = io.WriteString(conn, text) // the answer shows whether it failed
					text = attack.more
					_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
					resp, err = http.ReadResponse(r, nil)
				}
				if err == nil {
					answers.Add(1)
					if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
						assert.NotEmpty(t, resp.Header.Get("Retry-After"))
					}
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if attack.idle {
					<-ctx.Done()
				}
				return err == nil && !resp.Close
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range attack.connections {
				wg.Go(func() {
					for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
						if conn, err := dialer.DialContext(ctx, "tcp", addr); err == nil {
							stop := context.AfterFunc(ctx, func() { conn.Close() })
							for r := bufio.NewReader(conn); ask(ctx, conn, r); {
							}
							stop()
							conn.Close()
						}
					}
				})
			}
			assert.Eventually(t, func() bool { return answers.Load() > 0 }, 2*time.Minute, time.Millisecond, "the attack does not begin")
			under := &stream{client: loadClient(), url: "http://" + addr + "/v1/next", key: other, perSecond: 200, body: nextBodies(t)}
			drive(d, under)
			cancel()
			wg.Wait()
			assert.Empty(t, under.bad)
			assert.LessOrEqual(t, s.resident(), 512.0, "MiB")
		})
	}
}
