// Package client calls the HTTP API of a Waymark server. It depends on the standard library alone.
//
//	c := client.New("http://127.0.0.1:7070", os.Getenv("WAYMARK_KEY"))
//	answer, err := c.Next(ctx, client.NextRequest{Context: []string{"github:list_issues"}, Intent: "triage new bugs"})
//
// The questions are [Client.Next], [Client.Search] and [Client.DAG]; [Client.Record] and [Client.Feedback] tell the
// server what happened, [Client.PutTools] what there is. [Client.Call] reaches every other route of the OpenAPI
// description at /openapi.json. A refusal is a [*Problem].
//
// Methods that ask for an answer are repeated after 429 and 503, as often as [Client.Retries] says and after the time
// that the server names. So are Record and PutTools: an episode or a tool that is sent twice is stored once.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// New returns a client of the server at base, such as http://127.0.0.1:7070, with an API key; empty where the server
// asks for none. It gives up on a request after 30 seconds and repeats an overloaded one up to three times.
func New(base, key string) *Client {
	return &Client{HTTP: &http.Client{Timeout: 30 * time.Second}, Base: strings.TrimSuffix(base, "/"), Token: key, Retries: 3}
}

// Next suggests the tools that come next.
func (c *Client) Next(ctx context.Context, r NextRequest) (*NextAnswer, error) {
	return ask[NextAnswer](ctx, c, http.MethodPost, "/v1/next", r)
}

// Search finds tools and capabilities by words.
func (c *Client) Search(ctx context.Context, r SearchRequest) (*SearchAnswer, error) {
	return ask[SearchAnswer](ctx, c, http.MethodPost, "/v1/search", r)
}

// DAG suggests a plan of tools for an intent.
func (c *Client) DAG(ctx context.Context, r DAGRequest) (*DAGAnswer, error) {
	return ask[DAGAnswer](ctx, c, http.MethodPost, "/v1/dag", r)
}

// Record stores episodes. When it returns, the accepted ones are durable; Rejected lists the others with reasons.
// An episode with a known id and the same or less content is a duplicate, one with more steps replaces the former.
func (c *Client) Record(ctx context.Context, episodes ...Episode) (*RecordResult, error) {
	return ask[RecordResult](ctx, c, http.MethodPost, "/v1/episodes", struct {
		Episodes []Episode `json:"episodes"`
	}{episodes})
}

// Feedback reports whether a suggestion was used. It returns the sequence number of the event. It is not repeated
// after a refusal, since each call counts.
func (c *Client) Feedback(ctx context.Context, f Feedback) (seq uint64, err error) {
	once := *c
	once.Retries = 0
	answer, err := ask[struct {
		Seq uint64 `json:"seq"`
	}](ctx, &once, http.MethodPost, "/v1/feedback", f)
	if err != nil {
		return 0, err
	}
	return answer.Seq, nil
}

// PutTools adds tools to the catalog or replaces those with the same ids.
func (c *Client) PutTools(ctx context.Context, tools ...Tool) (*PutResult, error) {
	return ask[PutResult](ctx, c, http.MethodPut, "/v1/tools", tools)
}

// Rebuild starts the replay of the whole history. [Client.Wait] waits for its end.
func (c *Client) Rebuild(ctx context.Context) (*Job, error) {
	once := *c
	once.Retries = 0
	return ask[Job](ctx, &once, http.MethodPost, "/v1/rebuild", struct{}{})
}

// Wait asks for a job every pause, or every second if pause is 0, until it has ended. An end other than done is an
// error; the job is returned too.
func (c *Client) Wait(ctx context.Context, id string, pause time.Duration) (*Job, error) {
	if pause <= 0 {
		pause = time.Second
	}
	for {
		job, err := ask[Job](ctx, c, http.MethodGet, "/v1/jobs/"+url.PathEscape(id), nil)
		switch {
		case err != nil:
			return nil, err
		case job.State == "done":
			return job, nil
		case job.State != "running":
			return job, fmt.Errorf("job %s is %s: %s", id, job.State, job.Error)
		}
		if err := sleep(ctx, pause); err != nil {
			return job, err
		}
	}
}

// ask sends a request, again after 429 and 503, and decodes the answer. Unknown fields of the answer are ignored, so
// that an older client understands a newer server.
func ask[T any](ctx context.Context, c *Client, method, path string, in any) (*T, error) {
	for try := 0; ; try++ {
		b, err := c.Call(ctx, method, path, in)
		var refused *Problem
		if errors.As(err, &refused) && try < c.Retries && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable) {
			if err := sleep(ctx, max(refused.RetryAfter, 100*time.Millisecond<<try)); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		out := new(T)
		if err := json.NewDecoder(bytes.NewReader(b)).Decode(out); err != nil {
			return nil, fmt.Errorf("decode the answer of %s: %w", path, err)
		}
		return out, nil
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retryAfter reads the header of a refusal: seconds; 0 where there is none.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
