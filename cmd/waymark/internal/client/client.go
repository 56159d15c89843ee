// Package client calls the HTTP API of a Waymark server for commands. A refusal is a [*Problem].
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"waymark/internal/bounded"
)

// Client calls one server as one user of one workspace. It may be used by several goroutines.
type Client struct {
	HTTP      *http.Client
	Base      string // http://host:port, without a path
	Token     string // API key; empty sends none
	Workspace string // workspace to use; the server ignores it without the token of its owner
	Source    string // who speaks, for what is recorded; the server ignores it without the token of its owner
}

// Request is one call. Body may be nil.
type Request struct {
	Method      string
	Path        string // with the query
	Body        io.Reader
	ContentType string
	Accept      string
	Source      string // overrides the client's source for this call
}

// Do sends a request and returns the answer, whose body the caller closes. An answer that is not a
// success comes back as a *Problem.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, c.Base+r.Path, r.Body)
	if err != nil {
		return nil, err
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
		if c.Workspace != "" {
			req.Header.Set("Waymark-Workspace", c.Workspace)
		}
		if source := cmp.Or(r.Source, c.Source); source != "" {
			req.Header.Set("Waymark-Source", source)
		}
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

// Call sends in as JSON (nil sends no body) and returns the body of the answer as it came.
func (c *Client) Call(ctx context.Context, method, path string, in any) (json.RawMessage, error) {
	r := Request{Method: method, Path: path, Accept: "application/json"}
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request for %s: %w", path, err)
		}
		r.Body, r.ContentType = bytes.NewReader(b), "application/json"
	}
	return c.Send(ctx, r)
}

// Send is [Client.Do] of a request whose answer is read whole.
func (c *Client) Send(ctx context.Context, r Request) (json.RawMessage, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := bounded.ReadAll(ctx, resp.Body, "the answer", maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", r.Path, err)
	}
	return b, nil
}

// maxAnswer is the longest answer that is read whole, in bytes.
const maxAnswer = 256 << 20

// Problem is an answer in application/problem+json (RFC 9457).
type Problem struct {
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail"`
	Errors []ProblemPart `json:"errors"`
}

// ProblemPart is one thing wrong with a request: where, and what.
type ProblemPart struct {
	Message  string `json:"message"`
	Location string `json:"location"`
	Value    any    `json:"value"`
}

// Error says in one line what was refused: the detail, then each part with the field it is about.
func (p *Problem) Error() string {
	head := field(cmp.Or(p.Detail, p.Title, http.StatusText(p.Status)))
	var parts []string
	for _, e := range p.Errors {
		if !strings.Contains(p.Detail, e.Message) { // else the detail has said it
			parts = append(parts, field(e.Location+": "+e.Message))
		}
	}
	all := strings.Join(parts, "; ")
	switch {
	case len(parts) == 0:
		all = head
	case head != "validation failed" && head != "": // which say less than the parts
		all = head + " (" + all + ")"
	}
	return oneLine(all)
}

// field is a text that may begin with a location, as in body.limit, which then begins with the name of the field.
func field(text string) string {
	for _, place := range []string{"body.", "query.", "body: ", ": "} {
		text = strings.TrimPrefix(text, place)
	}
	return text
}

// problemOf reads a refusal. Whatever is no problem document still gives its first line.
func problemOf(resp *http.Response) *Problem {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // a refusal cut short is still a refusal
	p := &Problem{}
	if json.Unmarshal(b, p) != nil || (p.Detail == "" && p.Title == "" && len(p.Errors) == 0) {
		*p = Problem{Detail: strings.TrimSpace(string(b))}
	}
	p.Status = resp.StatusCode
	return p
}

// oneLine keeps an error on one line: text of others may hold anything.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
