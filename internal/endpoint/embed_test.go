package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vectorOf is what the test servers answer: two dimensions that tell texts apart.
func vectorOf(text string) []float32 { return []float32{float32(len(text)), 1} }

// testServer answers like a real server, and before that lets each request be spoilt: trouble is given
// the number of the request, from 1, and reports whether it has answered.
type testServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests [][]string
	keys     []string
}

func serve(t *testing.T, trouble func(n int, w http.ResponseWriter, texts []string) bool) *testServer {
	e := &testServer{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input []string
			Model string
		}
		raw, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/embeddings" || json.Unmarshal(raw, &body) != nil || body.Model != "small" {
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}
		e.mu.Lock()
		e.requests = append(e.requests, body.Input)
		e.keys = append(e.keys, r.Header.Get("Authorization"))
		n := len(e.requests)
		e.mu.Unlock()
		if trouble != nil && trouble(n, w, body.Input) {
			return
		}
		answer(w, body.Input, func(i int) int { return i }, len(body.Input))
	}))
	t.Cleanup(e.Close)
	return e
}

// answer writes n vectors, the i-th of them for text index(i).
func answer(w http.ResponseWriter, texts []string, index func(int) int, n int) {
	var data []map[string]any
	for i := range n {
		data = append(data, map[string]any{"object": "embedding", "index": index(i), "embedding": vectorOf(texts[index(i)%len(texts)])})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "small"})
}

// asked is the batches asked for so far.
func (e *testServer) asked() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

func embedder(t *testing.T, e *testServer, change func(*Options)) *Embedder {
	o := Options{BaseURL: e.URL + "/v1", Model: "small", AllowPrivate: true, FirstDelay: time.Millisecond, Timeout: 2 * time.Second}
	if change != nil {
		change(&o)
	}
	c, err := NewEmbedder(o)
	require.NoError(t, err)
	return c
}

func TestEmbedPlacesByIndex(t *testing.T) {
	e := serve(t, func(_ int, w http.ResponseWriter, texts []string) bool {
		answer(w, texts, func(i int) int { return len(texts) - 1 - i }, len(texts)) // last first
		return true
	})
	c := embedder(t, e, func(o *Options) { o.APIKey = "sesame" })
	texts := []string{"a", "", "ccccc", " \n"}
	want := [][]float32{vectorOf("a"), nil, vectorOf("ccccc"), nil}
	for i := range batch {
		texts, want = append(texts, strings.Repeat("x", 10+i)), append(want, vectorOf(strings.Repeat("x", 10+i)))
	}
	got, err := c.Embed(t.Context(), texts)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	require.Len(t, e.asked(), 2, "in batches")
	assert.Len(t, e.asked()[1], 2, "no blank ones")
	assert.Equal(t, []string{"Bearer sesame", "Bearer sesame"}, e.keys)

	again, err := c.Embed(t.Context(), []string{"ccccc", "a"})
	require.NoError(t, err)
	assert.Equal(t, [][]float32{vectorOf("ccccc"), vectorOf("a")}, again)
	assert.Len(t, e.asked(), 2, "from the cache")
}

// Each row is a thing that real endpoints do. requests is how many are made in all.
func TestTroubles(t *testing.T) {
	write := func(status int, body string) func(int, http.ResponseWriter, []string) bool {
		return func(_ int, w http.ResponseWriter, _ []string) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	first := func(f func(int, http.ResponseWriter, []string) bool) func(int, http.ResponseWriter, []string) bool {
		return func(n int, w http.ResponseWriter, texts []string) bool { return n == 1 && f(n, w, texts) }
	}
	data := func(vectors ...string) string {
		return `{"object":"list","data":[` + strings.Join(vectors, ",") + `]}`
	}
	for _, row := range []struct {
		name     string
		trouble  func(int, http.ResponseWriter, []string) bool
		requests int
		err      string // empty: succeeds in the end
	}{
		{"500 then well", first(write(500, `{"error":{"message":"out of memory"}}`)), 2, ""},
		{"429 with Retry-After", first(func(_ int, w http.ResponseWriter, _ []string) bool {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(429)
			return true
		}), 2, ""},
		{"cut-off answer", first(write(200, `{"object":"list","data":[{"index":0,"embed`)), 2, ""},
		{"closed connection", first(func(_ int, w http.ResponseWriter, _ []string) bool { panic(http.ErrAbortHandler) }), 2, ""},
		{"500 for ever", write(500, ""), 4, "endpoint answers 500 Internal Server Error"},
		{"401 repeating the key", write(401, `{"error":{"message":"Incorrect API key provided: sesame","code":"invalid_api_key"}}`), 1, "endpoint answers 401 Unauthorized"},
		{"404 in plain text repeating the key", write(404, "no model for sesame\n\n here"), 1, "endpoint answers 404 Not Found"},
		{"missing vector", write(200, data(`{"index":0,"embedding":[1,2]}`)), 1, "the answer has no vector for each of 2 texts"},
		{"index too large", write(200, data(`{"index":7,"embedding":[1,2]}`)), 1, "the answer has no vector for each of 2 texts"},
		{"nothing", write(200, `{}`), 1, "the answer has no vector for each of 2 texts"},
		{"empty vector", write(200, data(`{"index":0,"embedding":[]}`)), 1, "the answer has no vector for each of 2 texts"},
		{"NaN", write(200, data(`{"index":0,"embedding":[NaN,0]}`)), 4, "invalid character 'N'"},
		{"number beyond float32", write(200, data(`{"index":0,"embedding":[1e39,0]}`)), 4, "cannot unmarshal number 1e39"},
		{"oversize", write(200, data(`{"index":0,"embedding":[1`+strings.Repeat(",1", 5000)+`]}`)), 1, "answer is larger than 4096 bytes"},
		{"redirect", func(_ int, w http.ResponseWriter, _ []string) bool {
			w.Header().Set("Location", "http://169.254.169.254/latest")
			w.WriteHeader(307)
			return true
		}, 1, "endpoint redirects, which is not followed"},
		{"Retry-After beyond the budget", func(_ int, w http.ResponseWriter, _ []string) bool {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
			return true
		}, 1, "endpoint answers 429 Too Many Requests"},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := serve(t, row.trouble)
			e.Config.ErrorLog = nil
			c := embedder(t, e, func(o *Options) { o.MaxAnswer = 4096; o.APIKey = "sesame" })
			got, err := c.Embed(t.Context(), []string{"a", "bb"})
			assert.Len(t, e.asked(), row.requests)
			if row.err == "" {
				require.NoError(t, err)
				assert.Equal(t, [][]float32{vectorOf("a"), vectorOf("bb")}, got)
				return
			}
			require.ErrorContains(t, err, row.err)
			assert.ErrorContains(t, err, `embed 2 texts with "small": `)
			assert.NotContains(t, err.Error(), "sesame")
			assert.Nil(t, got)
		})
	}
}

func TestTimeoutOfOneRequestAndOfAll(t *testing.T) {
	release := make(chan struct{})
	slow := func(n int, w http.ResponseWriter, _ []string) bool {
		if n == 1 {
			<-release
		}
		return false
	}
	e := serve(t, slow)
	c := embedder(t, e, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	_, err := c.Embed(t.Context(), []string{"a"})
	require.NoError(t, err, "the second attempt is answered")
	assert.Len(t, e.asked(), 2)

	e2 := serve(t, func(int, http.ResponseWriter, []string) bool { <-release; return false })
	c2 := embedder(t, e2, func(o *Options) { o.Timeout = time.Minute })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = c2.Embed(ctx, []string{"a"})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Len(t, e2.asked(), 1)
	close(release)
}

// What a circuit does is tested by TestCircuit. Calls that are canceled and texts that are refused do not open it.
func TestEmbedHasACircuit(t *testing.T) {
	status := 0
	e := serve(t, func(_ int, w http.ResponseWriter, _ []string) bool {
		if status != 0 {
			w.WriteHeader(status)
		}
		return status != 0
	})
	c := embedder(t, e, func(o *Options) { o.Attempts, o.Trip = 1, 1 })
	ask := func(text string) error { _, err := c.Embed(t.Context(), []string{text}); return err }
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Embed(gone, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
	status = 400
	var refusal *Error
	require.ErrorAs(t, ask("long"), &refusal)
	assert.Equal(t, 400, refusal.Status)
	status = 0
	require.NoError(t, ask("a"))
	status = 503
	require.ErrorContains(t, ask("b"), "503")
	before := len(e.asked())
	require.ErrorIs(t, ask("b"), ErrUnavailable)
	assert.Len(t, e.asked(), before, "the last call asked nobody")
	require.NoError(t, ask("a"), "the cache works while the circuit is open")
}

func TestOptionsAreChecked(t *testing.T) {
	for url, want := range map[string]string{
		"":                          "needs http or https",
		"ftp://x/v1":                "needs http or https",
		"http://localhost:11434":    "no version path",
		"http://me:secret@host/v1":  "must not carry a user",
		"http://host/v1?key=secret": "must not carry a user, a query",
		"http://host\x7f/secret":    "cannot be parsed",
	} {
		_, err := NewEmbedder(Options{BaseURL: url, Model: "m"})
		require.ErrorContains(t, err, want, url)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := NewEmbedder(Options{BaseURL: "http://host/v1"})
	assert.ErrorContains(t, err, "no model")
}

func TestTheKeyNeverPrints(t *testing.T) {
	o := Options{BaseURL: "http://host/v1", Model: "m", APIKey: "sesame"}
	c, err := NewEmbedder(o)
	require.NoError(t, err)
	j, err := json.Marshal(struct{ Key Key }{o.APIKey})
	require.NoError(t, err)
	for _, s := range []string{fmt.Sprintf("%v", o), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), o.APIKey.String(), fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), string(j)} {
		assert.NotContains(t, s, "sesame")
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	e := serve(t, nil)
	c := embedder(t, e, nil)
	long := strings.Repeat("a", maxText-2)
	_, err := c.Embed(t.Context(), []string{long + "é搜", "\xff\xfeab"})
	require.NoError(t, err)
	assert.Equal(t, [][]string{{long + "é", " ab"}}, e.asked())
}

func TestConcurrentCalls(t *testing.T) {
	e := serve(t, nil)
	c := embedder(t, e, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			texts := []string{strings.Repeat("x", i+1), "shared"}
			got, err := c.Embed(t.Context(), texts)
			if assert.NoError(t, err) {
				assert.Equal(t, [][]float32{vectorOf(texts[0]), vectorOf("shared")}, got)
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, len(slices.Concat(e.asked()...)), 16)
}
