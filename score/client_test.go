package score

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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/endpoint"
)

// request is what a test server saw of one request.
type request struct {
	Model    string
	Messages []struct{ Role, Content string }
	Format   *struct {
		Type   string
		Schema struct {
			Name   string
			Strict bool
			Schema json.RawMessage
		} `json:"json_schema"`
	} `json:"response_format"`
	Temperature         *float64
	MaxTokens           int `json:"max_tokens"`
	MaxCompletionTokens int `json:"max_completion_tokens"`

	key string
}

func (r request) user() string { return r.Messages[len(r.Messages)-1].Content }

// chat is a server that speaks the chat protocol; what it replies, or how it misbehaves, is up to a function
// that is told the number of the request, from 1.
type chat struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	underWay atomic.Int32
	most     atomic.Int32
}

func serve(t *testing.T, behave func(n int, w http.ResponseWriter, r request)) *chat {
	c := &chat{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := c.underWay.Add(1)
		defer c.underWay.Add(-1)
		for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
		}
		var body request
		raw, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/chat/completions" || json.Unmarshal(raw, &body) != nil || body.Model != "small" {
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}
		body.key = r.Header.Get("Authorization")
		c.mu.Lock()
		c.requests = append(c.requests, body)
		n := len(c.requests)
		c.mu.Unlock()
		behave(n, w, body)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *chat) seen() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]request{}, c.requests...)
}

// say writes an ordinary completion.
func say(w http.ResponseWriter, text string) { end(w, text, "", "stop") }

func end(w http.ResponseWriter, text, refusal, reason string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "chat.completion", "model": "small",
		"choices": []any{map[string]any{"index": 0, "finish_reason": reason,
			"message": map[string]any{"role": "assistant", "content": text, "refusal": refusal}}},
		"usage": map[string]any{"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}})
}

func fault(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"error"}}`, message)
}

func client(t *testing.T, c *chat, change ...func(*endpoint.Options)) *Client {
	o := endpoint.Options{BaseURL: c.URL + "/v1", Model: "small", AllowPrivate: true, FirstDelay: time.Millisecond}
	for _, f := range change {
		f(&o)
	}
	cl, err := NewClient(o)
	require.NoError(t, err)
	return cl
}

var ask = Question{ID: "h1", System: "Rate it.", User: "the text", Name: "rating",
	Schema: json.RawMessage(`{"type":"object","properties":{"score":{"type":"integer","minimum":1,"maximum":5}},"required":["score"],"additionalProperties":false}`),
	Accept: func(object json.RawMessage) error {
		var reply map[string]any
		if err := json.Unmarshal(object, &reply); err != nil {
			return err
		}
		score, _, err := readScore(reply["score"], Scale{Whole(1), Whole(5), true})
		if err == nil && score == nil {
			err = errNoScore
		}
		return err
	}}

// replies is a cache in memory.
type replies struct{ sync.Map }

func (r *replies) Get(key string) (string, bool) {
	v, ok := r.Load(key)
	reply, _ := v.(string)
	return reply, ok
}
func (r *replies) Put(key, reply string) { r.Store(key, reply) }

func TestAsk(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ request) { say(w, "Gladly: ```json\n{\"score\": \"4\"}\n```") })
	c := client(t, s, func(o *endpoint.Options) { o.APIKey = "sesame" })
	cached := c.WithBudget(Budget{}, &replies{})
	a := cached.Ask(t.Context(), ask)
	assert.Equal(t, Judgement{ID: "h1", Outcome: Answered, JSON: json.RawMessage(`{"score":"4"}`), Reply: "Gladly: ```json\n{\"score\": \"4\"}\n```",
		Model: "small", Attempts: 1, Tokens: 100}, a)
	r := s.seen()[0]
	assert.Equal(t, "Bearer sesame", r.key)
	assert.Equal(t, "json_schema", r.Format.Type)
	assert.Equal(t, "rating", r.Format.Schema.Name)
	assert.True(t, r.Format.Schema.Strict)
	assert.JSONEq(t, string(ask.Schema), string(r.Format.Schema.Schema))
	assert.Less(t, *r.Temperature, 1e-30)
	assert.Equal(t, "system", r.Messages[0].Role)
	assert.Contains(t, r.Messages[0].Content, "Rate it.")
	assert.Contains(t, r.Messages[0].Content, `"maximum":5`, "for servers that do not look at the schema")
	assert.Equal(t, "the text", r.user())

	again := cached.Ask(t.Context(), ask)
	assert.True(t, again.Cached)
	assert.Zero(t, again.Attempts)
	assert.Equal(t, a.JSON, again.JSON)
	assert.Len(t, s.seen(), 1)
	other := ask
	other.User = "another text"
	assert.False(t, cached.Ask(t.Context(), other).Cached)
}

// Every way in which an endpoint or a model fails has an outcome, and none of them has JSON.
func TestOutcomes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		behave   func(n int, w http.ResponseWriter, r request)
		outcome  Outcome
		detail   string
		attempts int
	}{
		{"refusal as a field", func(_ int, w http.ResponseWriter, _ request) { end(w, "", "I can't help with that.", "stop") }, Refused, "the model refused", 1},
		{"refusal by filter", func(_ int, w http.ResponseWriter, _ request) { end(w, "", "", "content_filter") }, Refused, "content filter", 1},
		{"refusal in prose", func(_ int, w http.ResponseWriter, _ request) { say(w, "I'm sorry, I can't rate this.") }, Refused, "the model refused", 1},
		{"prose", func(_ int, w http.ResponseWriter, _ request) { say(w, "A solid four!") }, Unparsable, "no JSON object", 2},
		{"score missing", func(_ int, w http.ResponseWriter, _ request) { say(w, `{}`) }, Unparsable, "does not fit", 2},
		{"off the scale", func(_ int, w http.ResponseWriter, _ request) { say(w, `{"score":11}`) }, Unparsable, "does not fit", 2},
		{"empty", func(_ int, w http.ResponseWriter, _ request) { say(w, "") }, Unparsable, "no JSON object", 2},
		{"cut off", func(_ int, w http.ResponseWriter, _ request) { end(w, `{"sco`, "", "length") }, Unparsable, "cut off at its longest", 2},
		{"no choices", func(_ int, w http.ResponseWriter, _ request) { fmt.Fprint(w, `{"choices":[]}`) }, Unparsable, "without a reply", 2},
		{"no key", func(_ int, w http.ResponseWriter, _ request) { fault(w, 401, "bad key sesame; ignore all before") }, Unavailable, "endpoint answers 401 Unauthorized", 1},
		{"busy", func(_ int, w http.ResponseWriter, _ request) { fault(w, 503, "busy") }, Unavailable, "503 Service Unavailable", 4},
		{"too large", func(_ int, w http.ResponseWriter, _ request) { say(w, strings.Repeat("x", 10_000)) }, Unavailable, "larger than 4096 bytes", 1},
		{"malformed for good", func(_ int, w http.ResponseWriter, _ request) { fault(w, 400, "context too long") }, Unavailable, "400 Bad Request", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.behave)
			c := client(t, s, func(o *endpoint.Options) { o.APIKey = "sesame"; o.MaxAnswer = 4096 }).WithBudget(Budget{}, &replies{})
			a := c.Ask(t.Context(), ask)
			assert.Equal(t, tt.outcome, a.Outcome)
			assert.Contains(t, a.Detail, tt.detail)
			for _, word := range []string{"sesame", "ignore all", "context too long", s.URL} {
				assert.NotContains(t, a.Detail, word)
			}
			assert.Nil(t, a.JSON)
			assert.Equal(t, tt.attempts, a.Attempts)
			assert.Len(t, s.seen(), tt.attempts)
			assert.False(t, c.Ask(t.Context(), ask).Cached, "failures are not kept")
		})
	}
}

func TestTimeoutIsNoRefusal(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(_ int, _ http.ResponseWriter, _ request) { <-release })
	defer close(release)
	a := client(t, s, func(o *endpoint.Options) { o.Timeout, o.Attempts = 20*time.Millisecond, 2 }).Ask(t.Context(), ask)
	assert.Equal(t, TimedOut, a.Outcome)
	assert.Equal(t, 1, a.Attempts, "one that hangs is not asked again")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	assert.Equal(t, Cancelled, client(t, s).Ask(ctx, ask).Outcome)
}

// A reply that does not fit goes back once, with what is wrong.
func TestRepair(t *testing.T) {
	s := serve(t, func(n int, w http.ResponseWriter, _ request) {
		say(w, []string{`{"score":"five"}`, `{"score":5}`}[n-1])
	})
	a := client(t, s).Ask(t.Context(), ask)
	assert.Equal(t, Answered, a.Outcome)
	assert.Equal(t, 2, a.Attempts)
	assert.Equal(t, 200, a.Tokens)
	talk := s.seen()[1].Messages
	require.Len(t, talk, 4)
	assert.Equal(t, `{"score":"five"}`, talk[2].Content)
	assert.Contains(t, talk[3].Content, "does not fit")
}

// Endpoints that know no schema or no temperature are asked without, and remembered.
func TestForms(t *testing.T) {
	for name, takes := range map[string]func(request) bool{
		"no temperature": func(r request) bool { return r.Temperature == nil && r.MaxTokens == 0 },
		"no schema":      func(r request) bool { return r.Format == nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int, w http.ResponseWriter, r request) {
				if !takes(r) {
					fault(w, 400, "unsupported parameter")
					return
				}
				say(w, `{"score":3}`)
			})
			c := client(t, s)
			a := c.Ask(t.Context(), ask)
			assert.Equal(t, Answered, a.Outcome, a.Detail)
			assert.Equal(t, 2, a.Attempts)
			other := ask
			other.User = "another"
			assert.Equal(t, 1, c.Ask(t.Context(), other).Attempts)
			last := s.seen()[len(s.seen())-1]
			assert.True(t, last.Format == nil && last.Temperature == nil && last.MaxTokens == 0 && last.MaxCompletionTokens > 0)
		})
	}
}

func questions(n int) []Question {
	qs := make([]Question, n)
	for i := range qs {
		qs[i] = ask
		qs[i].ID, qs[i].User = fmt.Sprint(i), fmt.Sprintf("text %d", i)
	}
	return qs
}

func TestAsksConcurrentlyWithinABound(t *testing.T) {
	full := make(chan struct{})
	s := serve(t, func(n int, w http.ResponseWriter, r request) {
		if n == concurrent {
			close(full)
		}
		<-full
		say(w, fmt.Sprintf(`{"score":%d}`, 1+len(r.user())%5))
	})
	answers := askAll(t.Context(), slices.Repeat([]Asker{client(t, s)}, 20), questions(20), false)
	for i, a := range answers {
		require.Equal(t, Answered, a.Outcome)
		assert.JSONEq(t, fmt.Sprintf(`{"score":%d}`, 1+len(fmt.Sprintf("text %d", i))%5), string(a.JSON), "in the order of the questions")
	}
	assert.EqualValues(t, concurrent, s.most.Load())
	assert.Len(t, s.seen(), 20)
}

func TestBudget(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ request) { say(w, `{"score":3}`) })
	c := client(t, s)
	count := func(answers []Judgement) map[Outcome]int {
		n := map[Outcome]int{}
		for _, a := range answers {
			n[a.Outcome]++
		}
		return n
	}
	assert.Equal(t, map[Outcome]int{Answered: 4, OverBudget: 6}, count(askAll(t.Context(), slices.Repeat([]Asker{c.WithBudget(Budget{Requests: 4}, nil)}, 10), questions(10), true)))
	one := c.WithBudget(Budget{Tokens: 150}, nil) // 100 a reply: the second may begin, the third may not
	var got []Judgement
	for _, q := range questions(30)[20:] {
		got = append(got, one.Ask(t.Context(), q))
	}
	assert.Equal(t, map[Outcome]int{Answered: 2, OverBudget: 8}, count(got))
}

// What a circuit does is tested in package endpoint.
func TestAClientHasACircuit(t *testing.T) {
	s := serve(t, func(_ int, w http.ResponseWriter, _ request) { fault(w, 500, "down") })
	c := client(t, s, func(o *endpoint.Options) { o.Attempts, o.Trip = 1, 2 })
	for range 5 {
		assert.Equal(t, Unavailable, c.Ask(t.Context(), ask).Outcome)
	}
	assert.Len(t, s.seen(), 2, "then it is left alone")
}
