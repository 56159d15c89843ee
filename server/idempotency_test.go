package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/live/state"
	"waymark/server/internal/request"
)

func TestIdempotencyKey(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var mu sync.Mutex
	w := newWeb(t, func(c *Config) { c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
	defer defaultEngine(t, w.Server).Hold()() // no build event in between
	head := func() uint64 { return defaultEngine(t, w.Server).Head().Seq }

	const feedback = `{"id":"json:parse","used":true}`
	first := w.ask("POST", "/v1/feedback", feedback, "Idempotency-Key: k1")
	require.Equal(t, 200, first.status, first.body)
	seq := head()
	for range 3 {
		again := w.ask("POST", "/v1/feedback", feedback, "Idempotency-Key: k1")
		assert.Equal(t, first.status, again.status)
		assert.Equal(t, first.body, again.body)
		assert.Equal(t, first.header.Get("Content-Type"), again.header.Get("Content-Type"))
		assert.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	}
	assert.Equal(t, seq, head(), "nothing was written again")
	requireProblem(t, 409, "another body", w.ask("POST", "/v1/feedback", `{"id":"json:parse","used":false}`, "Idempotency-Key: k1"))

	// Another key, another route or another credential is another request.
	w.ask("POST", "/v1/feedback", feedback, "Idempotency-Key: k2")
	assert.Equal(t, seq+1, head())
	assert.Empty(t, w.ask("POST", "/v1/episodes", `{"id":"e","steps":[{"tool":"a"}]}`, "Idempotency-Key: k1").header.Get("Idempotency-Replayed"))
	w.ask("POST", "/v1/feedback", feedback, "Idempotency-Key: k1", bearerOf("local-token"), "Waymark-Source: somebody")
	assert.Equal(t, seq+3, head())

	// A refusal is an answer too; a failure that may pass is not.
	bad := w.ask("POST", "/v1/episodes", `{"id":"e2","steps":[{"tool":"a","depends_on":["zz"]}]}`, "Idempotency-Key: bad")
	requireProblem(t, 422, "", bad)
	again := w.ask("POST", "/v1/episodes", `{"id":"e2","steps":[{"tool":"a","depends_on":["zz"]}]}`, "Idempotency-Key: bad")
	assert.Equal(t, bad.body, again.body)

	// NDJSON of any length, a job with its Location, an empty answer.
	lines := strings.Repeat(`{"id":"n","steps":[{"tool":"a"},{"tool":"b"}]}`+"\n", 20_000)
	require.Greater(t, len(lines), 900_000)
	import1 := w.ask("POST", "/v1/episodes", lines, "Content-Type: application/x-ndjson", "Idempotency-Key: lines")
	assert.Equal(t, 1, parse[recordResult](t, 200, import1).Accepted)
	seq = head()
	import2 := w.ask("POST", "/v1/episodes", lines, "Content-Type: application/x-ndjson", "Idempotency-Key: lines")
	assert.Equal(t, import1.body, import2.body)
	requireProblem(t, 409, "another body", w.ask("POST", "/v1/episodes", lines+"\n", "Content-Type: application/x-ndjson", "Idempotency-Key: lines"))
	assert.Equal(t, seq, head())

	job1 := w.ask("POST", "/v1/rebuild", ``, "Idempotency-Key: job")
	job2 := w.ask("POST", "/v1/rebuild", ``, "Idempotency-Key: job")
	assert.Equal(t, parse[live.Job](t, 202, job1).ID, parse[live.Job](t, 202, job2).ID)
	assert.Equal(t, job1.header.Get("Location"), job2.header.Get("Location"))

	for range 2 {
		r := w.ask("DELETE", "/v1/tools/slack:get_issue", "", "Idempotency-Key: gone")
		assert.Equal(t, 204, r.status)
		assert.Empty(t, r.body)
	}
	requireProblem(t, 404, "", w.ask("DELETE", "/v1/tools/slack:get_issue", ""))

	// After a day the key is free again, and old answers are swept.
	mu.Lock()
	now = now.Add(24 * time.Hour)
	mu.Unlock()
	seq = head()
	assert.Empty(t, w.ask("POST", "/v1/feedback", feedback, "Idempotency-Key: k1").header.Get("Idempotency-Replayed"))
	assert.Greater(t, head(), seq)
	table, err := w.cfg.Store.Table(request.DefaultWorkspace)
	require.NoError(t, err)
	left := 0
	for _, err := range table.List(t.Context(), "once/") {
		require.NoError(t, err)
		left++
	}
	assert.Equal(t, 1, left)

	requireProblem(t, 400, "takes no Idempotency-Key", w.ask("POST", "/v1/next", `{}`, "Idempotency-Key: k"))
	requireProblem(t, 400, "255", w.ask("POST", "/v1/feedback", feedback, "Idempotency-Key: "+strings.Repeat("k", 256)))
}

// Of many at the same time with one key, one writes and all get its answer.
func TestIdempotencyKeyTogether(t *testing.T) {
	w := newWeb(t)
	before := defaultEngine(t, w.Server).Head().Seq
	var wg sync.WaitGroup
	bodies := make([]string, 16)
	for i := range bodies {
		wg.Go(func() {
			bodies[i] = w.ask("POST", "/v1/feedback", `{"id":"json:parse","used":true}`, "Idempotency-Key: same").body
		})
	}
	wg.Wait()
	for _, body := range bodies {
		assert.Equal(t, fmt.Sprintf(`{"seq":%d}`, before+1), body)
	}
}

// An answer too long to keep is not given again, and the request is not carried out again either.
func TestLongAnswerIsNotKept(t *testing.T) {
	w := newWeb(t)
	var tools []string
	for i := range 1500 {
		tools = append(tools, fmt.Sprintf(`{"id":" %d%s"}`, i, strings.Repeat("\\u0000", 40)))
	}
	body := `[{"id":"ok:one"},` + strings.Join(tools, ",") + `]`
	first := w.ask("PUT", "/v1/tools", body, "Idempotency-Key: long")
	require.Equal(t, http.StatusOK, first.status)
	require.Greater(t, len(first.body), state.MaxAnswer)
	requireProblem(t, 409, "too long, or too late, to keep", w.ask("PUT", "/v1/tools", body, "Idempotency-Key: long"))
}
