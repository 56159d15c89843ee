// Package record records calls: a [Recorder] wraps a [run.Caller], and every call that passes through it becomes a
// step of its session's episode.
//
//	host ──▶ Recorder ──▶ gateway ──▶ server
//	            │
//	            └──▶ store: durable before the answer is returned
//
// The result of a call decides whether it is a step and which outcome it has:
//
//	it worked                          success
//	tool, argument, timeout            failure: counts against the tool
//	auth, unavailable                  unknown, with its kind: no evidence about the tool
//	no result is known                 unknown, kind "canceled" or "unknown": it may have happened
//	policy, unknown tool               no step: no server received the call
//	input is needed first              no step: the later call with the input is the step
//
// The shape of arguments and keyed digests of arguments and results are stored, never the values. [episodic.Session]
// decides which calls belong together, as in importers.
package record

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waymark/episodic"
	"waymark/live"
	"waymark/run"
	"waymark/suggest"
)

// Store stores what is performed: a [live.Engine].
type Store interface {
	Perform(ctx context.Context, source string, p live.Performed) (seq uint64, err error)
	Growing(ctx context.Context, source, session string) (p episodic.Place, steps []string, last time.Time, ok bool)
	DigestKey(ctx context.Context) (episodic.DigestKey, error)
}

// Options of a recorder.
type Options struct {
	DropDigests bool             // no digests of values are kept
	Now         func() time.Time // time.Now unless set
	Logger      *slog.Logger
}

// Recorder is a [run.Caller] that records its calls. All methods may be called concurrently.
type Recorder struct {
	open   func(context.Context) (Store, error)
	caller run.Caller
	opts   Options
	alone  string // session of calls that name none

	mu       sync.Mutex
	sessions map[[2]string]*passing // by source and session
	calls    uint64
}

// passing is a session whose calls pass through a recorder.
type passing struct {
	*episodic.Session
	episode *episode // the newest one
}

// episode is the state of an episode while calls may be added.
type episode struct {
	id, intent string
	taken      map[string]bool   // ids of steps
	steps      map[string]string // the last recorded step of each call id
	tools      []string          // of its newest steps
	seq        uint64            // event of the last step
	failing    failing
}

// newEpisode returns an episode with the steps that were recorded before.
func newEpisode(p episodic.Place, steps ...string) *episode {
	e := &episode{id: p.Episode, intent: p.Intent, taken: map[string]bool{}, steps: map[string]string{}}
	for _, id := range steps {
		call := id
		if i := strings.LastIndexByte(id, again); i > 0 {
			call = id[:i]
		}
		e.taken[id], e.steps[id], e.steps[call] = true, id, id
	}
	return e
}

// calling is a running call.
type calling struct {
	run.Call
	of      *passing
	id      string // for the [episodic.Session]
	place   episodic.Place
	episode *episode
}

// New returns a recorder of the calls of caller. open is called each time that the store is needed.
func New(open func(context.Context) (Store, error), caller run.Caller, opts Options) *Recorder {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	alone := "process-" + strconv.FormatInt(opts.Now().UnixNano(), 36)
	return &Recorder{open: open, caller: caller, opts: opts, alone: alone, sessions: map[[2]string]*passing{}}
}

// Call forwards a call and records it. The step is durable before Call returns. If it cannot be stored, Call still
// returns the result, with the reason in Unrecorded, because a failed write does not undo the effect of the tool.
func (r *Recorder) Call(ctx context.Context, c run.Call) (run.Result, error) {
	c.Source, c.Session = r.named(c.Source, c.Session)
	began := r.opts.Now()
	this := r.begin(ctx, c, began)
	if refusal, refused := r.loops(this, began); refused {
		r.endCall(this, began, false)
		return refusal, nil
	}
	result, err := r.caller.Call(ctx, c)
	ended := r.opts.Now()
	r.noteFailure(this, &result, err, ended)
	step, made := r.step(ctx, &c, &result, err)
	r.endCall(this, ended, made)
	if made {
		step.DurationMS = max(0, ended.Sub(began).Milliseconds())
		if failed := r.record(context.WithoutCancel(ctx), this, step); failed != nil {
			result.Unrecorded = failed.Error()
			r.opts.Logger.Error("a call was made but is not recorded", "tool", c.Tool, "session", c.Session, "error", failed)
		}
	}
	return result, err
}

// begin assigns a call to its session and episode.
func (r *Recorder) begin(ctx context.Context, c run.Call, at time.Time) *calling {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls%256 == 0 {
		maps.DeleteFunc(r.sessions, func(_ [2]string, s *passing) bool { return s.Rests(at) })
	}
	id := "n" + strconv.FormatInt(at.UnixNano(), 36) + "-" + strconv.FormatUint(r.calls, 36)
	key := [2]string{c.Source, c.Session}
	s := r.sessions[key]
	if s == nil {
		s = &passing{Session: episodic.NewSession(c.Source, c.Session)}
		if c.ID != "" { // a run continues after a restart, a host's session does not
			r.mu.Unlock()
			if store, err := r.open(ctx); err == nil {
				if place, steps, last, ok := store.Growing(ctx, c.Source, c.Session); ok {
					s.Resume(place, last)
					s.episode = newEpisode(place, steps...)
				}
			}
			r.mu.Lock()
		}
		if other := r.sessions[key]; other != nil { // started meanwhile
			s = other
		}
		r.sessions[key] = s
	}
	this := &calling{Call: c, of: s, id: id}
	this.place = s.Begin(episodic.Call{ID: this.id, Intent: c.Intent, Group: c.Group, Start: at})
	if s.episode == nil || s.episode.id != this.place.Episode {
		s.episode = newEpisode(this.place)
	}
	this.episode = s.episode
	return this
}

// endCall ends a call in its session, or drops it if it was not made.
func (r *Recorder) endCall(this *calling, at time.Time, made bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if made {
		this.of.End(this.id, at)
	} else {
		this.of.Drop(this.id)
	}
}

// step returns the step to record for a call; made is false if the call never reached the tool.
func (r *Recorder) step(ctx context.Context, c *run.Call, result *run.Result, err error) (s episodic.Step, made bool) {
	switch {
	case result.NeedsInput != nil, result.Failure == run.FailedPolicy, result.Failure == run.FailedUnknown:
		return s, false
	case err != nil && ctx.Err() != nil:
		s.Outcome, s.ErrorKind = episodic.Unknown, "canceled"
	case err != nil:
		s.Outcome, s.ErrorKind, s.Error = episodic.Unknown, "unknown", err.Error()
	case result.Failure == "":
		s.Outcome = episodic.Success
	default:
		s.Outcome, s.ErrorKind, s.Error = episodic.Unknown, string(result.Failure), result.Message
		if result.Failure.Held() {
			s.Outcome = episodic.Failure
		}
	}
	s.Tool, s.Shape = c.Tool, episodic.Shape(c.Arguments)
	if r.opts.DropDigests {
		return s, true
	}
	var key episodic.DigestKey
	store, err := r.open(context.WithoutCancel(ctx))
	if err == nil {
		key, err = store.DigestKey(context.WithoutCancel(ctx))
	}
	if err != nil {
		r.opts.Logger.Warn("values have no digests: there is no key", "error", err)
		return s, true
	}
	s.Inputs = key.Digests(c.Arguments)
	switch {
	case s.Outcome != episodic.Success:
	case len(result.Structured) > 0:
		s.Outputs = key.Digests(result.Structured)
	default:
		s.Outputs = key.Content(result.Content)
	}
	return s, true
}

// record stores a step.
func (r *Recorder) record(ctx context.Context, this *calling, step episodic.Step) error {
	e := this.episode
	r.mu.Lock()
	step.ID = e.free(this.ID, this.place.Number)
	if this.After != nil {
		step.DependsOn = []string{}
		for _, call := range this.After {
			if id, ok := e.steps[call]; ok { // calls that were never recorded are no dependencies
				step.DependsOn = append(step.DependsOn, id)
			}
		}
	}
	r.mu.Unlock()
	store, err := r.open(ctx)
	if err != nil {
		return err
	}
	seq, err := store.Perform(ctx, this.Source, live.Performed{Place: this.place, Step: step})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.add(this.ID, step, seq)
	return nil
}

// contextLength is how many of the last tools of an episode are kept as context for [Recorder.Next].
const contextLength = 32

func (e *episode) add(call string, step episodic.Step, seq uint64) {
	if call != "" {
		e.steps[call] = step.ID
	}
	e.seq = max(e.seq, seq)
	e.tools = append(e.tools, step.Tool)
	e.tools = slices.Delete(e.tools, 0, max(0, len(e.tools)-contextLength))
}

// again separates the id of a call from the number of its repetition: t1, t1#2.
const again = '#'

// free returns a step id that no other step of the episode has, and marks it as taken.
func (e *episode) free(call string, number int) string {
	if call == "" {
		call = "call-" + strconv.Itoa(number)
	}
	id := call
	for n := 2; e.taken[id]; n++ {
		id = call + string(again) + strconv.Itoa(n)
	}
	e.taken[id] = true
	return id
}

// named returns defaults for a source and a session that a call does not name.
func (r *Recorder) named(source, session string) (string, string) {
	return cmp.Or(source, "gateway"), cmp.Or(session, r.alone)
}

// Ended records the outcome of the newest episode of a session, for example of a run that is over.
func (r *Recorder) Ended(ctx context.Context, source, session string, o episodic.Outcome) error {
	source, session = r.named(source, session)
	store, err := r.open(ctx)
	if err != nil || !o.Known() {
		return err
	}
	if p, _, _, ok := store.Growing(ctx, source, session); ok {
		_, err = store.Perform(ctx, source, live.Performed{Place: p, Outcome: o})
	}
	return err
}

// nextWait is how long [Recorder.Next] waits for a model that counts the last call.
const nextWait = 300 * time.Millisecond

// Next returns suggestions for a session after all calls of its newest episode. ok is false if there are none, or if
// the model does not count the last call within [nextWait].
func (r *Recorder) Next(ctx context.Context, e *live.Engine, source, session string, limit int) (a suggest.NextAnswer, ok bool) {
	source, session = r.named(source, session)
	q := suggest.NextRequest{Limit: limit, Explain: new(bool)}
	seq := uint64(0)
	r.mu.Lock()
	if s := r.sessions[[2]string{source, session}]; s != nil && s.episode != nil {
		q.Context, q.Intent, seq = slices.Clone(s.episode.tools), s.episode.intent, s.episode.seq
	}
	r.mu.Unlock()
	if len(q.Context) == 0 {
		return a, false
	}
	ctx, cancel := context.WithTimeout(ctx, nextWait)
	defer cancel()
	if e.Wait(ctx, seq) != nil {
		return a, false
	}
	a, err := e.Next(e.Model(), nil, q)
	return a, err == nil
}
