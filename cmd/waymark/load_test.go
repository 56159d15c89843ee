package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/sample"
)

// loadTime is the duration of the long form of the load tests; unset, the short form runs. It is read before TestMain
// clears the settings. Latencies are asserted in the long form only: other work on the machine must not fail a test.
var loadTime = os.Getenv("WAYMARK_LOAD_TIME")

func longLoad(t *testing.T) time.Duration {
	if loadTime == "" {
		return 0
	}
	d, err := time.ParseDuration(loadTime)
	require.NoError(t, err, "WAYMARK_LOAD_TIME")
	return d
}

// controlVariable makes the test binary a server that answers every request with the value.
const controlVariable = "CONTROL_TEST_SERVER"

func init() {
	answer := os.Getenv(controlVariable)
	if answer == "" {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("http://" + l.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the end of the parent is the end of this process
		os.Exit(0)
	}()
	panic(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})))
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

// loadClient has fewer connections than one address may have: a pause of the machine fills the queue of the client and
// does not make the server refuse requests.
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

// send sends the next request at its time, in the background.
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
	episodes, err := sample.Episodes()
	require.NoError(t, err)
	return func(i int) string {
		return fmt.Sprintf(`{"context":[%q],"limit":5}`, episodes[i%256*7%len(episodes)].Steps[0].Tool)
	}
}

// BenchmarkServedNext asks the real server over loopback for the next tool, 500 times a second. Run it with
// -benchtime 5000x or more; the percentiles are the result, not ns/op.
func BenchmarkServedNext(b *testing.B) {
	s := startServer(b, filepath.Join(b.TempDir(), "data"), "--sample")
	next := &stream{client: loadClient(), url: s.URLs.API + "/next", body: nextBodies(b)}
	_, err := next.post(0)
	require.NoError(b, err)
	var wg sync.WaitGroup
	began := time.Now()
	for b.Loop() {
		next.send(&wg, began.Add(time.Duration(next.sent)*2*time.Millisecond))
	}
	wg.Wait()
	require.Empty(b, next.bad)
	b.ReportMetric(float64(next.sent)/time.Since(began).Seconds(), "req/s")
	b.ReportMetric(float64(next.quantile(0.5).Microseconds()), "p50-µs")
	b.ReportMetric(float64(next.quantile(0.99).Microseconds()), "p99-µs")
}

// Questions and durable writes at fixed rates: none fails, each acknowledged episode is kept. A server that only answers
// gets the same rate in turns, so that what else the machine does shows in both.
func TestLoad(t *testing.T) {
	long := longLoad(t)
	nexts, writes, d, turn := 200, 40, 2*time.Second, time.Second
	if long > 0 {
		nexts, writes, d, turn = 1000, 200, long, 5*time.Second
	}
	s := startServer(t, filepath.Join(t.TempDir(), "data"), "--sample")
	client := loadClient()
	next := &stream{client: client, url: s.URLs.API + "/next", perSecond: nexts, body: nextBodies(t)}
	write := &stream{client: client, url: s.URLs.API + "/episodes", perSecond: writes, body: func(i int) string {
		return fmt.Sprintf(`{"id":"load-%d","steps":[{"tool":"forge:get_issue"},{"tool":"forge:create_pull_request"}],"outcome":"success"}`, i)
	}}
	answer, err := next.post(0)
	require.NoError(t, err)
	control := &stream{client: client, url: startControl(t, answer), perSecond: nexts + writes, body: next.body}
	_, err = control.post(0)
	require.NoError(t, err)

	before := storedEpisodes(t, s)
	var minutes, resident []float64
	began := time.Now()
	for time.Since(began) < d {
		drive(turn, next, write)
		drive(turn/5, control)
		if at := time.Since(began); at > d/2 { // the heap has reached its size
			minutes, resident = append(minutes, at.Minutes()), append(resident, residentMiB(t, s))
		}
	}
	growth := slope(minutes, resident)
	assert.Empty(t, next.bad)
	assert.Empty(t, write.bad)
	assert.Empty(t, control.bad)
	assert.Equal(t, before+write.sent, storedEpisodes(t, s))
	require.Zero(t, s.stop(t), s.stderr)
	assert.Equal(t, before+write.sent, storedEpisodes(t, startServer(t, s.dir)), "after a restart")
	if long > 0 {
		assert.LessOrEqual(t, next.quantile(0.99), control.quantile(0.99)*3/2+10*time.Millisecond)
	}
	if long >= 10*time.Minute {
		assert.LessOrEqual(t, growth, 0.5, "MiB a minute")
	}
	t.Logf("next: %v; writes: %v; control: %v; all writes kept; resident memory %.0f MiB, %+.2f a minute in the second half",
		next, write, control, resident[len(resident)-1], growth)
}

func storedEpisodes(t *testing.T, s *serving) int {
	var stats struct{ Episodes int }
	require.NoError(t, json.Unmarshal([]byte(getText(t, s.URLs.API+"/stats")), &stats))
	return stats.Episodes
}

// residentMiB is 0 on systems where the program does not report it.
func residentMiB(t *testing.T, s *serving) float64 {
	var bytes float64
	_, rest, _ := strings.Cut(getText(t, s.URLs.Page+"metrics"), "\nprocess_resident_memory_bytes ")
	_, _ = fmt.Sscan(rest, &bytes)
	return bytes / (1 << 20)
}

func getText(t *testing.T, url string) string {
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", url, text)
	return string(text)
}

// slope is the growth of y for each unit of x, by least squares.
func slope(x, y []float64) float64 {
	var mx, my, xy, xx float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(y))
	}
	for i := range x {
		xy, xx = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}

// tally counts answers by status.
type tally struct {
	mu sync.Mutex
	of map[int]int
}

func (c *tally) add(resp *http.Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[resp.StatusCode]++
	_, err := io.Copy(io.Discard, resp.Body)
	return err
}

func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, status := range slices.Sorted(maps.Keys(c.of)) {
		all = append(all, fmt.Sprintf("%d times %d", c.of[status], status))
	}
	return strings.Join(all, ", ")
}

// One client that takes all it can get, with a key and an address of its own, makes no request of another client fail.
func TestAttacksOnOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the attacker needs an address of its own on this machine: 127.0.0.2")
	}
	long := longLoad(t)
	d := max(long/20, time.Second)
	dir := filepath.Join(t.TempDir(), "data")
	keyOf := func(workspace string) string {
		key, errs, code := waymark(t, "", "keys", "create", "--data", dir, "--workspace", workspace)
		require.Zero(t, code, errs)
		return strings.TrimSpace(key)
	}
	attacker, other := keyOf("attacker"), keyOf("default")
	s := startServer(t, dir, "--sample", "--addr", "0.0.0.0:0") // there every request needs a key
	page, err := url.Parse(s.URLs.Page)
	require.NoError(t, err)
	addr := "127.0.0.1:" + page.Port()
	head := "Host: localhost\r\nAuthorization: Bearer " + attacker + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`

	for _, attack := range []struct {
		name        string
		connections int
		do          func(ctx context.Context, conn net.Conn, got *tally) error // until the connection is closed
	}{
		{"slow bodies", 64, func(_ context.Context, conn net.Conn, got *tally) error {
			_, err := io.WriteString(conn, "POST /v1/episodes HTTP/1.1\r\n"+head+"Transfer-Encoding: chunked\r\n\r\n")
			for r := bufio.NewReader(conn); err == nil; {
				if _, err = io.WriteString(conn, "1\r\n \r\n"); err != nil {
					break
				}
				_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
				resp, failed := http.ReadResponse(r, nil)
				switch {
				case failed == nil:
					got.add(resp)
					return io.EOF
				case !errors.Is(failed, os.ErrDeadlineExceeded):
					return failed
				}
			}
			return err
		}},
		{"idle connections", 1024, func(ctx context.Context, conn net.Conn, got *tally) error {
			_, _ = io.WriteString(conn, "GET /v1/stats HTTP/1.1\r\n"+head+"\r\n")
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				got.add(resp)
			}
			<-ctx.Done()
			return nil
		}},
		{"MCP sessions", 4, func(_ context.Context, conn net.Conn, got *tally) error {
			r := bufio.NewReader(conn)
			for {
				_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(hello), hello)
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					return err
				}
				if err := got.add(resp); err != nil || resp.Close {
					return err
				}
			}
		}},
	} {
		t.Run(attack.name, func(t *testing.T) {
			b := func() *stream {
				return &stream{client: loadClient(), url: "http://" + addr + "/v1/next", key: other, perSecond: 200, body: nextBodies(t)}
			}
			calm, under, got := b(), b(), &tally{of: map[int]int{}}
			drive(d, calm)

			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
			for range attack.connections {
				wg.Go(func() {
					for ctx.Err() == nil {
						if conn, err := dialer.DialContext(ctx, "tcp", addr); err == nil {
							stop := context.AfterFunc(ctx, func() { conn.Close() })
							_ = attack.do(ctx, conn, got)
							stop()
							conn.Close()
						}
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
			require.Eventually(t, func() bool { return got.String() != "" }, 2*time.Minute, time.Millisecond, "the attack does not begin")
			drive(d, under)
			cancel()
			wg.Wait()
			t.Logf("calm: %v; under attack: %v; the attacker is answered %v", calm, under, got)
			assert.Empty(t, under.bad)
			if long > 0 {
				assert.LessOrEqual(t, under.quantile(0.99), 2*calm.quantile(0.99)+10*time.Millisecond)
			}
		})
	}
}
