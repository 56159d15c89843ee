package live

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"waymark/episodic"
	"waymark/storage"
	"waymark/suggest"
)

// served is an answer as it is logged. No model depends on it: the version of a model and its answers do not change
// with it.
type served struct {
	ID       string   `json:"id"` // suggestion_id; one id always stands for the same list
	Question string   `json:"question"`
	Context  []string `json:"context,omitempty"`
	Ranked   []string `json:"ranked"` // as shown, the first of them
	Arm      string   `json:"arm,omitempty"`
	Alone    bool     `json:"alone,omitempty"`  // the first profile answered because the second could not
	Profile  string   `json:"profile"`          // that answered
	Logged   float64  `json:"logged"`           // share of all answers that were logged
	Source   string   `json:"source,omitempty"` // who asked first
	Model    string   `json:"model"`

	// Shadow is the list of a second profile that answered unseen, as versions before this one logged it. The arm of
	// such an answer was not drawn.
	Shadow json.RawMessage `json:"shadow,omitempty"`
}

// The questions.
const (
	askedNext   = "next"
	askedSearch = "search"
	askedDAG    = "dag"
)

// mostLogged is how many suggestions of an answer are logged.
const mostLogged = 20

// servedLimit is how many answers are remembered for feedback by their id, logged or not.
const servedLimit = 4096

// servedAnswers remembers the last answers given, in memory, and finds those logged.
type servedAnswers struct {
	mu   sync.Mutex
	by   map[string]*served
	ring []string
	next int

	index  sync.Mutex
	upTo   uint64            // the log is indexed up to this event
	logged map[string]uint64 // by id, its event
}

func (s *servedAnswers) remember(a *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by, s.ring = make(map[string]*served, servedLimit), make([]string, servedLimit)
	}
	if _, known := s.by[a.ID]; known {
		return
	}
	delete(s.by, s.ring[s.next])
	s.ring[s.next] = a.ID
	s.next = (s.next + 1) % servedLimit
	s.by[a.ID] = a
}

func (s *servedAnswers) get(id string) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[id]
}

// answered finds an answer by its id: among the last ones of this process, else in the log. Nil: it is
// not known.
func (e *Engine) answered(ctx context.Context, id string) (*served, error) {
	if a := e.answers.served.get(id); a != nil {
		return a, nil
	}
	s := &e.answers.served
	s.index.Lock()
	defer s.index.Unlock()
	if s.logged == nil {
		s.logged = map[string]uint64{}
	}
	for ev, err := range e.log.Read(ctx, s.upTo) {
		if err != nil {
			return nil, fmt.Errorf("read the log of workspace %q: %w", e.name, err)
		}
		if !ev.Erased && len(ev.Payload) > 0 && ev.Payload[0] == kindServed {
			_, v, err := decode(ev.Payload)
			if err != nil {
				return nil, fmt.Errorf("event %d of workspace %q: %w: %w", ev.Seq, e.name, storage.ErrDamaged, err)
			}
			s.logged[v.(*served).ID] = ev.Seq
		}
		s.upTo = ev.Seq
	}
	seq, ok := s.logged[id]
	if !ok {
		return nil, nil
	}
	for ev, err := range e.log.Read(ctx, seq-1) {
		if err != nil {
			return nil, fmt.Errorf("read the log of workspace %q: %w", e.name, err)
		}
		if ev.Erased {
			return nil, nil
		}
		_, v, err := decode(ev.Payload)
		if err != nil {
			return nil, fmt.Errorf("event %d of workspace %q: %w: %w", ev.Seq, e.name, storage.ErrDamaged, err)
		}
		return v.(*served), nil
	}
	return nil, nil
}

// serve remembers an answer for feedback and, if it is among those to log, queues it: the caller does not wait.
func (e *Engine) serve(m *suggest.Model, who Asker, a served, by *suggest.Drawn) {
	x := e.opts.Experiment
	a.Context, a.Ranked = slices.Clone(a.Context), a.Ranked[:min(len(a.Ranked), mostLogged)]
	a.Logged, a.Source, a.Model = x.Log, who.Source, m.Info().Version
	if by != nil {
		a.Arm, a.Alone = by.Arm, by.Alone
	}
	known := e.answers.served.get(a.ID) != nil
	e.answers.served.remember(&a)
	if known || x.Log == 0 || uniform("log", a.ID) >= x.Log {
		return
	}
	e.answers.logging.RLock()
	defer e.answers.logging.RUnlock()
	if e.answers.toLog == nil {
		return
	}
	select {
	case e.answers.toLog <- answerToLog{m, a}:
	default:
		e.answers.unlogged.Add(1)
	}
}

// answerToLog is an answer on its way into the log.
type answerToLog struct {
	model *suggest.Model
	served
}

// Answers are logged in groups: one commit for what came within logDelay, or for logBatch of them. As
// many as logQueue wait; what comes on top is not logged, and counted.
const (
	logDelay = 100 * time.Millisecond
	logBatch = 64
	logQueue = 1024
)

// logServed logs answers until there are no more to come.
func (e *Engine) logServed(answers <-chan answerToLog) {
	defer close(e.answers.logged)
	for {
		a, ok := <-answers
		if !ok {
			return
		}
		entries := []entry{}
		late := time.After(logDelay)
	collect:
		for {
			if one, err := e.servedEntry(a); err == nil {
				entries = append(entries, one)
			} else {
				e.answers.unlogged.Add(1)
				e.opts.Logger.Warn("an answer was not logged", "workspace", e.name, "error", err)
			}
			if len(entries) == logBatch {
				break
			}
			select {
			case a, ok = <-answers:
				if !ok {
					break collect
				}
			case <-late:
				break collect
			}
		}
		var failed error
		err := e.submit(context.WithoutCancel(e.life.ctx), &op{
			prepare: func(*writer) []entry { return entries },
			finish:  func(_ *writer, _ []storage.Receipt, err error) { failed = err },
			apart:   true,
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			e.answers.unlogged.Add(uint64(len(entries)))
			e.opts.Logger.Warn("answers were not logged", "workspace", e.name, "answers", len(entries), "error", err)
		}
	}
}

// servedEntry is the event of an answer; its key keeps it from being logged twice.
func (e *Engine) servedEntry(a answerToLog) (entry, error) {
	a.Context = slices.Clone(a.Context)
	for i := range a.Context {
		a.Context[i] = resolved(a.model, a.Context[i])
	}
	payload, err := encode(kindServed, a.served)
	if err == nil && len(payload) > storage.MaxPayload {
		err = fmt.Errorf("it has %d bytes, at most %d", len(payload), storage.MaxPayload)
	}
	return entry{kindServed, "served/" + a.ID, payload, &a.served}, err
}

// stopLogging logs what waits and ends. No answers may be given any more.
func (e *Engine) stopLogging() {
	e.answers.logging.Lock()
	answers := e.answers.toLog
	e.answers.toLog = nil
	e.answers.logging.Unlock()
	if answers != nil {
		close(answers)
		<-e.answers.logged
	}
}

// noteShown says of the step that was chosen from the suggestions of an answer at which place it stood
// there, if the answer is known.
func (e *Engine) noteShown(ctx context.Context, ep *episodic.Episode) error {
	if ep.SuggestionID == "" {
		return nil
	}
	a, err := e.answered(ctx, ep.SuggestionID)
	if err != nil || a == nil || a.Question != askedNext {
		return err
	}
	m := e.Model()
	if i, ok := a.followedBy(ep, m); ok {
		ep.Steps[i].Shown = slices.Index(a.ranked(m), resolved(m, ep.Steps[i].Tool)) + 1
	}
	return nil
}

// resolved is the canonical id of a spelling, or the spelling where it has none.
func resolved(m *suggest.Model, spelling string) string {
	if id, err := m.Resolve(spelling); err == nil {
		return id
	}
	return spelling
}

// ranked lists what was shown, under the ids that count today.
func (a *served) ranked(m *suggest.Model) []string {
	ids := make([]string, len(a.Ranked))
	for i, id := range a.Ranked {
		ids[i] = resolved(m, id)
	}
	return ids
}

// followedBy finds the step of an episode that was done after an answer was given: after its context. An
// episode that has nothing of the context began after the answer. There is none where the context is all
// that was done.
func (a *served) followedBy(ep *episodic.Episode, m *suggest.Model) (step int, ok bool) {
	order := ep.Order()
	if len(order) == 0 {
		return 0, false
	}
	if len(a.Context) == 0 {
		return order[0], true
	}
	context, done := make([]string, len(a.Context)), make([]string, len(order))
	for i, id := range a.Context {
		context[i] = resolved(m, id)
	}
	for i, step := range order {
		done[i] = resolved(m, ep.Steps[step].Tool)
	}
	at := len(context) // of what came next
	if len(done) < at || !slices.Equal(context, done[:at]) {
		at = slices.Index(done, context[len(context)-1]) + 1
	}
	if at == len(done) {
		return 0, false
	}
	return order[at], true
}
