package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"waymark/live"
	"waymark/live/state"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
)

// A write with an Idempotency-Key happens once: its answer is kept for a day and given again to
// whoever repeats the request. The body is compared by its hash, which is taken while the body
// streams by, so that an import of any length can be repeated too.
// onceHeaders are kept beside status and body.
var onceHeaders = []string{"Content-Type", "Location", "ETag"}

// onceOnly holds the keys being worked on: the second request with a key waits for the first.
type onceOnly struct {
	process string // names this one among those that share a log

	mu    sync.Mutex
	busy  map[string]chan struct{}
	swept map[string]time.Time // by workspace
}

// enter waits until nobody else works on the key.
func (o *onceOnly) enter(ctx context.Context, key string) error {
	for {
		o.mu.Lock()
		wait, taken := o.busy[key]
		if !taken {
			if o.busy == nil {
				o.busy = map[string]chan struct{}{}
			}
			o.busy[key] = make(chan struct{})
			o.mu.Unlock()
			return nil
		}
		o.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return problem.New(http.StatusConflict, "another request with this Idempotency-Key is still running")
		}
	}
}

func (o *onceOnly) leave(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.busy[key])
	delete(o.busy, key)
}

// due reports, at most once an hour and workspace, that old answers should be swept.
func (o *onceOnly) due(workspace string, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, ok := o.swept[workspace]; ok && now.Sub(last) < time.Hour {
		return false
	}
	if o.swept == nil {
		o.swept = map[string]time.Time{}
	}
	o.swept[workspace] = now
	return true
}

// idempotent is the middleware.
func (s *Server) idempotent(c *gin.Context) {
	ru, routed := s.ruleOf(c)
	keys := c.Request.Header.Values("Idempotency-Key")
	if len(keys) == 0 || !routed || c.Request.Method == http.MethodGet || strings.HasPrefix(c.FullPath(), "/mcp") {
		c.Next()
		return
	}
	if !ru.Once {
		problem.Fail(c, problem.New(http.StatusBadRequest, "this route takes no Idempotency-Key"))
		return
	}
	if len(keys) != 1 || keys[0] == "" || len(keys[0]) > 255 {
		problem.Fail(c, problem.New(http.StatusBadRequest, "an Idempotency-Key has 1 to 255 characters"))
		return
	}
	ctx, a := c.Request.Context(), request.From(c.Request.Context())
	named := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", a.Source, c.Request.Method, c.Request.URL.RequestURI(), keys[0]))
	name := hex.EncodeToString(named[:])
	busyKey := a.Workspace + "/" + name
	if err := s.once.enter(ctx, busyKey); err != nil {
		problem.Fail(c, err)
		return
	}
	hold := &onceHold{finished: make(chan bool, 1)}
	defer func() {
		if !hold.taken {
			s.once.leave(busyKey)
		}
	}()
	table, err := s.cfg.Store.Table(a.Workspace)
	if err != nil {
		problem.Fail(c, err)
		return
	}

	sum := sha256.New()
	answers := state.Answers{Table: table}
	shared, fleet := table.(interface {
		Sync(ctx context.Context) error
	})
	var kept *state.Answer
	if fleet {
		if err = shared.Sync(ctx); err == nil {
			if kept, err = answers.Claim(ctx, name, s.once.process, s.cfg.Now()); err != nil { // it may be stored
				s.releaseClaim(shared, answers, name, busyKey)
			}
		}
	} else {
		kept, err = answers.Get(ctx, name, s.cfg.Now())
	}
	switch {
	case err != nil:
		problem.Fail(c, err)
	case kept != nil && kept.Claim != "":
		problem.Fail(c, problem.New(http.StatusConflict, "another replica began a request with this Idempotency-Key: it is still running, or the replica ended in the middle of it"))
	case kept != nil:
		if _, err := io.Copy(sum, c.Request.Body); err != nil {
			problem.Fail(c, errors.Join(err, problem.New(http.StatusBadRequest, "the body could not be read")))
			return
		}
		replay(c, kept, hex.EncodeToString(sum.Sum(nil)))
	default:
		final := false
		if fleet {
			defer func() {
				if !final && !hold.taken {
					s.releaseClaim(shared, answers, name, busyKey)
				}
			}()
		}
		body := c.Request.Body
		c.Request = c.Request.WithContext(context.WithValue(live.WithOnce(ctx, name), onceHoldKey{}, hold))
		final = s.answerAndKeep(c, answers, name, sum)
		if hold.taken {
			if body != nil {
				_, _ = io.Copy(sum, body) // a body cut off matches no other
			}
			go s.keepCarriedOut(hold, busyKey, answers, name, hex.EncodeToString(sum.Sum(nil)))
		}
	}
}

// syncer is a table whose rows other processes change too.
type syncer interface {
	Sync(ctx context.Context) error
}

// releaseClaim lets a request that has no answer to keep be repeated on any replica. While the log does not answer that
// is tried again; this process takes the request meanwhile.
func (s *Server) releaseClaim(shared syncer, answers state.Answers, name, busyKey string) {
	release := func() error {
		if err := shared.Sync(context.Background()); err != nil { // whether there is a claim may be unknown
			return err
		}
		return answers.Release(context.Background(), name, s.once.process, s.cfg.Now())
	}
	err := release()
	if err == nil {
		return
	}
	s.cfg.Logger.Warn("an Idempotency-Key could not be released; this is tried again", "error", err)
	go func() {
		for err != nil {
			select {
			case <-s.draining:
				return
			case <-time.After(time.Second):
			}
			if s.once.enter(context.Background(), busyKey) == nil {
				err = release()
				s.once.leave(busyKey)
			}
		}
	}()
}

// onceHold keeps an Idempotency-Key busy while work continues without its request: a repetition waits for it and does
// not run beside it.
type onceHold struct {
	taken    bool      // set before the request is answered
	finished chan bool // receives whether the work succeeded
}

type onceHoldKey struct{}

// takeOnce keeps the key of a request busy until the function it returns is called with the result of the work.
func takeOnce(ctx context.Context) (finished func(ok bool)) {
	hold, ok := ctx.Value(onceHoldKey{}).(*onceHold)
	if !ok {
		return func(bool) {}
	}
	hold.taken = true
	return func(ok bool) { hold.finished <- ok }
}

// keepCarriedOut waits for the work that continued without its request. If it succeeded, a repetition is refused: its
// answer was never encoded.
func (s *Server) keepCarriedOut(hold *onceHold, busyKey string, answers state.Answers, name, bodySHA256 string) {
	defer s.once.leave(busyKey)
	if !<-hold.finished {
		if err := answers.Release(context.Background(), name, s.once.process, s.cfg.Now()); err != nil {
			s.cfg.Logger.Error("an Idempotency-Key could not be released", "error", err)
		}
		return
	}
	carriedOut := state.Answer{BodySHA256: bodySHA256, At: s.cfg.Now().UTC(), TooLong: true}
	if err := answers.Put(context.Background(), name, carriedOut); err != nil {
		s.cfg.Logger.Error("an idempotent answer could not be kept", "error", err)
	}
}

func replay(c *gin.Context, kept *state.Answer, bodySHA256 string) {
	switch {
	case kept.BodySHA256 != bodySHA256:
		problem.Fail(c, problem.New(http.StatusConflict, "this Idempotency-Key was used with another body"))
	case kept.TooLong:
		problem.Fail(c, problem.New(http.StatusConflict, "the request was carried out before; its answer was too long, or too late, to keep"))
	default:
		for _, name := range onceHeaders {
			if v := kept.Headers[name]; v != "" {
				c.Header(name, v)
			}
		}
		c.Header("Idempotency-Replayed", "true")
		c.Status(kept.Status)
		c.Writer.WriteHeaderNow()
		if len(kept.Body) > 0 {
			_, _ = c.Writer.Write(kept.Body)
		}
		c.Abort()
	}
}

// answerAndKeep runs the request and keeps a final answer. An answer that says "try again" (401,
// 403, 408, 429, 5xx) is not final.
func (s *Server) answerAndKeep(c *gin.Context, answers state.Answers, name string, sum hash.Hash) (kept bool) {
	body, w := c.Request.Body, &copyWriter{ResponseWriter: c.Writer}
	if body != nil {
		c.Request.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, sum), keepOpen{}}
	}
	c.Writer = w
	c.Next()
	c.Writer = w.ResponseWriter

	status := w.Status()
	switch {
	case status >= 500, status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status == http.StatusRequestEntityTooLarge:
		return false
	}
	if body != nil { // what the handler had no need of still belongs to the hash
		if _, err := io.Copy(sum, body); err != nil {
			return false
		}
	}
	now := s.cfg.Now()
	answer := state.Answer{BodySHA256: hex.EncodeToString(sum.Sum(nil)), Status: status, Headers: map[string]string{}, At: now.UTC()}
	for _, header := range onceHeaders {
		if v := w.Header().Get(header); v != "" {
			answer.Headers[header] = v
		}
	}
	if answer.Body, answer.TooLong = w.copy.Bytes(), w.tooLong; answer.TooLong {
		answer.Body = nil
	}
	// The work is done and the client has its answer; a caller who hung up must not lose it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), 5*time.Second)
	defer cancel()
	if err := answers.Put(ctx, name, answer); err != nil {
		s.cfg.Logger.Error("an idempotent answer could not be kept", "error", err)
		return false
	}
	if s.once.due(request.From(c.Request.Context()).Workspace, now) {
		if err := answers.Sweep(ctx, now); err != nil {
			s.cfg.Logger.Error("old idempotent answers could not be deleted", "error", err)
		}
	}
	return true
}

// keepOpen leaves the body open for its rest to be hashed; net/http closes it.
type keepOpen struct{}

func (keepOpen) Close() error { return nil }

// copyWriter remembers the body it writes, up to state.MaxAnswer.
type copyWriter struct {
	gin.ResponseWriter
	copy    bytes.Buffer
	tooLong bool
}

func (w *copyWriter) remember(n int) bool {
	w.tooLong = w.tooLong || w.copy.Len()+n > state.MaxAnswer
	return !w.tooLong
}

func (w *copyWriter) Write(p []byte) (int, error) {
	if w.remember(len(p)) {
		w.copy.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

func (w *copyWriter) WriteString(p string) (int, error) {
	if w.remember(len(p)) {
		w.copy.WriteString(p)
	}
	return w.ResponseWriter.WriteString(p)
}

// Unwrap lets a ResponseController through.
func (w *copyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
