package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
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

// longLoad is the duration of the long form of the load tests, the only one that asserts latencies: other work on the
// machine must not fail a test. Unset, the short form runs. It is read before TestMain clears the settings.
var longLoad, _ = time.ParseDuration(os.Getenv("WAYMARK_LOAD_TIME"))

// controlVariable makes the test binary a server that answers every request with the value.
const controlVariable = "CONTROL_TEST_SERVER"

func beControl() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	answer := os.Getenv(controlVariable)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
}

// startControl returns the URL of a server that does nothing but answer, in a process of its own.
func startControl(t *testing.T, answer string) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), controlVariable+"="+answer)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// stream sends POST requests, each of which is due at a time that does not depend on the answers before it.
type stream struct {
	client    *http.Client
	url, key  string
	perSecond int
	body      func(i int) string

	sent int
	mu   sync.Mutex
	late []time.Duration // from when a request was due to the end of its answer
	bad  []string
}

// loadClient has fewer connections than one address may have: after a pause of the machine, requests wait in the client
// and are not refused.
func loadClient() *http.Client {
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256, IdleConnTimeout: 30 * time.Second}}
}

// post sends one request and returns its answer.
func (s *stream) post(i int) (string, error) {
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(s.body(i)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return string(answer), err
}

// send sends the next request when it is due, in the background.
func (s *stream) send(wg *sync.WaitGroup, due time.Time) {
	time.Sleep(time.Until(due))
	i := s.sent
	s.sent++
	wg.Go(func() {
		_, err := s.post(i)
		late := time.Since(due)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.late = append(s.late, late)
		if err != nil {
			s.bad = append(s.bad, err.Error())
		}
	})
}

// drive sends the requests of all streams that are due in a time and waits for their answers.
func drive(d time.Duration, streams ...*stream) {
	var wg sync.WaitGroup
	began := time.Now()
	for _, s := range streams {
		wg.Go(func() {
			for after := time.Duration(0); after < d; after += time.Second / time.Duration(s.perSecond) {
				s.send(&wg, began.Add(after))
			}
		})
	}
	wg.Wait()
}

func (s *stream) quantile(q float64) time.Duration {
	slices.Sort(s.late)
	return s.late[int(q*float64(len(s.late)-1))].Round(10 * time.Microsecond)
}

func (s *stream) String() string {
	return fmt.Sprintf("%d, p50 %v, p99 %v, %d errors", s.sent, s.quantile(0.5), s.quantile(0.99), len(s.bad))
}

// nextBodies are questions from the sample.
func nextBodies(t testing.TB) func(i int) string {
	episodes, err := sample.Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	return func(i int) string {
		return fmt.Sprintf(`{"context":[%q],"limit":5}`, episodes[i%256*7%len(episodes)].Steps[0].Tool)
	}
}

// Questions and durable writes at fixed rates: none fails, and each acknowledged episode is kept. A server that only
// answers gets the same rate in turns, so that whatever else the machine does delays both.
func TestLoad(t *testing.T) {
	nexts, writes, d, turn := 200, 40, 2*time.Second, time.Second
	if longLoad > 0 {
		nexts, writes, d, turn = 1000, 200, longLoad, 5*time.Second
	}
	s := startServer(t, sampleStore(t))
	next := &stream{client: loadClient(), url: s.URLs.API + "/next", perSecond: nexts, body: nextBodies(t)}
	write := &stream{client: next.client, url: s.URLs.API + "/episodes", perSecond: writes, body: func(i int) string {
		return fmt.Sprintf(`{"id":"load-%d","steps":[{"tool":"forge:get_issue"},{"tool":"forge:create_pull_request"}],"outcome":"success"}`, i)
	}}
	answer, err := next.post(0)
	require.NoError(t, err)
	control := &stream{client: next.client, url: startControl(t, answer), perSecond: nexts + writes, body: next.body}
	_, err = control.post(0)
	require.NoError(t, err)
	stored := func(s *serving) int {
		resp, err := http.Get(s.URLs.API + "/stats")
		require.NoError(t, err)
		defer resp.Body.Close()
		var stats struct{ Episodes int }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&stats))
		return stats.Episodes
	}

	before := stored(s)
	require.Positive(t, before)
	// grow drives streams for a time, in turns with the control, and returns the growth of resident memory in its second
	// half, MiB a minute: 0 on systems without /proc.
	grow := func(d time.Duration, streams ...*stream) (growth float64) {
		var minutes, resident []float64
		for began := time.Now(); time.Since(began) < d; {
			drive(turn, streams...)
			drive(turn/5, control)
			if at := time.Since(began); at > d/2 {
				text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
				var size, pages float64
				_, _ = fmt.Sscan(string(text), &size, &pages)
				minutes, resident = append(minutes, at.Minutes()), append(resident, pages*float64(os.Getpagesize())/(1<<20))
			}
		}
		_, growth = stat.LinearRegression(minutes, resident, nil, false)
		return growth
	}
	grown := grow(d, next, write)
	figures := fmt.Sprintf("next: %v; writes: %v; control: %v", next, write, control)
	if longLoad > 0 {
		assert.LessOrEqual(t, next.quantile(0.99), control.quantile(0.99)*3/2+10*time.Millisecond)
		alone := grow(d/2, next)
		perEpisode := grown * (1 << 20) / (float64(write.sent) / d.Minutes())
		figures += fmt.Sprintf("; resident memory: %.0f bytes an episode, %+.2f MiB a minute without writes", perEpisode, alone)
		if longLoad >= 10*time.Minute { // before, caches still fill
			assert.LessOrEqual(t, perEpisode, 2048.0) // 500 to 960 measured: a build in the second half is a step
			assert.LessOrEqual(t, alone, 0.5, "MiB a minute")
		}
	}
	t.Log(figures)
	assert.Empty(t, slices.Concat(next.bad, write.bad, control.bad))
	assert.Equal(t, before+write.sent, stored(s))
	require.Zero(t, s.stop(t), s.stderr)
	assert.Equal(t, before+write.sent, stored(startServer(t, s.dir)), "after a restart")
}

// 400 clients ask for plans as fast as they are answered. Whoever gets no plan gets 429 or 503 and is told when to come
// back, and afterwards questions are answered as before.
func TestOverload(t *testing.T) {
	d := max(longLoad/10, 2*time.Second)
	s := startServer(t, sampleStore(t))
	quiet := func() *stream {
		return &stream{client: loadClient(), url: s.URLs.API + "/next", perSecond: 200, body: nextBodies(t)}
	}
	before, after := quiet(), quiet()
	drive(d/2, before)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 400, MaxConnsPerHost: 400}}
	var answered, refused, other, silent atomic.Int64
	var wg sync.WaitGroup
	for i := range 400 {
		wg.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URLs.API+"/dag", strings.NewReader(`{"intent":"find out why checkout is slow and tell the team"}`))
				if err != nil {
					panic(err)
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				switch {
				case ctx.Err() != nil:
				case err != nil:
					silent.Add(1)
				case resp.StatusCode == http.StatusOK:
					answered.Add(1)
				case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
					refused.Add(1)
					assert.NotEmpty(t, resp.Header.Get("Retry-After"), "client %d", i)
				default:
					other.Add(1)
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	if longLoad > 0 {
		time.Sleep(10 * time.Second) // when it has to be over
	}
	drive(d/2, after)
	figures := fmt.Sprintf("%d plans, %d refused with Retry-After, %d without an answer; next before: %v; after: %v", answered.Load(), refused.Load(), silent.Load(), before, after)
	t.Log(figures)
	assert.Positive(t, answered.Load())
	assert.Zero(t, other.Load(), "answers other than 200, 429 and 503")
	assert.Empty(t, slices.Concat(before.bad, after.bad))
	if longLoad > 0 {
		assert.LessOrEqual(t, after.quantile(0.99), before.quantile(0.99)*3/2+10*time.Millisecond)
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	var size, pages int
	if n, _ := fmt.Sscan(string(text), &size, &pages); n == 2 {
		assert.LessOrEqual(t, pages*os.Getpagesize()>>20, 512, "MiB resident")
	}
}

// A client with a key and an address of its own that takes all it can get makes no request of another client fail.
func TestAttacksOnOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the attacker needs an address of its own on this machine: 127.0.0.2")
	}
	d := max(longLoad/20, time.Second)
	dir := sampleStore(t)
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

	var figures []string
	for _, attack := range []struct {
		name        string
		connections int
		request     string
		more        string // sent every two seconds until there is an answer
		idle        bool   // after one answer
	}{
		{"slow bodies", 64, "POST /v1/episodes HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", false},
		{"idle connections", 1024, "GET /v1/stats HTTP/1.1\r\n" + head + "\r\n", "", true},
		{"MCP sessions", 4, fmt.Sprintf("POST /mcp HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(hello), hello), "", false},
	} {
		t.Run(attack.name, func(t *testing.T) {
			var answers, refused atomic.Int64
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
					if resp.StatusCode != http.StatusOK {
						refused.Add(1)
					}
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if attack.idle {
					<-ctx.Done()
				}
				return err == nil && !resp.Close
			}
			b := func() *stream {
				return &stream{client: loadClient(), url: "http://" + addr + "/v1/next", key: other, perSecond: 200, body: nextBodies(t)}
			}
			calm, under := b(), b()
			drive(d, calm)
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
			drive(d, under)
			cancel()
			wg.Wait()
			figures = append(figures, fmt.Sprintf("%s (%d answers, %d refusals): next %v; without: %v", attack.name, answers.Load(), refused.Load(), under, calm))
			assert.Empty(t, slices.Concat(calm.bad, under.bad))
			if longLoad > 0 {
				assert.LessOrEqual(t, under.quantile(0.99), 2*calm.quantile(0.99)+10*time.Millisecond)
			}
		})
	}
	t.Log(strings.Join(figures, "; "))
}
