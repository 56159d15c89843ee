package episodic

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// IdleGap is how long a session may rest before what follows is another task.
const IdleGap = 30 * time.Minute

// Sessions cuts the calls of one source into episodes. The rule is one for all that report calls, live
// or from a file:
//
//	a new episode begins   with the first call of a session, after a user's message, with another intent,
//	                       after IdleGap without a call, and where an episode is full
//	calls are parallel     if they name the same group, one after the other, or, where they name none, if
//	                       each began before any of them ended
//
// A layer of parallel calls is over as soon as one of its calls has ended: what begins then may know the
// result. So one call that runs for long does not make everything beside it parallel.
//
//	a ├────┤                     layer 1: a, b     (b began before a ended)
//	b   ├──────────────┤
//	c         ├───┤              layer 2: c        (a had ended)
//	d               ├──┤         layer 3: d
//
// Begin and End are to be told in the order in which they happened; times matter for the gap alone. A
// Sessions is for one goroutine at a time.
type Sessions struct {
	source string
	open   map[string]*session
}

// Call is the beginning of a call, as far as a session is concerned.
type Call struct {
	Session string
	ID      string    // of the call, unique in its session
	Intent  string    // what it is about; empty: what the session was about before
	Group   string    // what was issued together shares it: a message, a layer of a run; empty: not known
	Start   time.Time // zero: not known
}

// Place is where a call belongs: the fields of its episode, which are the same for all its calls, and
// which of its calls it is.
type Place struct {
	Episode string // id: a hash of source, session and first call
	Session string
	Intent  string
	Time    time.Time // the user's message, or the first call

	Number int       // the how manieth call of the episode to begin, from 1
	Group  string    // the layer of parallel calls: "1", "2", ...
	Start  time.Time // of the call
}

// session is the state of one session: the episode that is open, and the calls that run.
type session struct {
	episode Place // Number, Group and Start of the newest call
	begun   bool
	last    time.Time         // the last sign of life
	running map[string]*layer // calls that have not ended
	turn    *turn             // a user's message since the last call
	from    *turn             // the one that the episode is about
	layer   *layer            // the newest of the episode; nil: none
	layers  int               // begun in the episode
	calls   int               // of the episode, without those that were none
}

// layer is calls that are parallel.
type layer struct {
	of     string // episode
	name   string // the group that they name
	inside int    // that have not ended
	closed bool   // one has ended
}

// turn is a user's message: the intent of the episode that it begins.
type turn struct {
	intent string
	at     time.Time
}

// NewSessions returns a sessioniser for what source reports.
func NewSessions(source string) *Sessions {
	return &Sessions{source: source, open: map[string]*session{}}
}

// EpisodeID names the episode of a session that begins with a call. Where the id of the call was drawn at
// random it is no other's: a session that goes on under another name repeats it.
func EpisodeID(source, session, firstCall string) string {
	if drawn(firstCall) {
		session = ""
	}
	sum := sha256.Sum256([]byte(source + "\x00" + session + "\x00" + firstCall))
	return hex.EncodeToString(sum[:16])
}

// drawn reports whether a call id is one that a model's interface has drawn: toolu_01A09q90qw90lq917835lq9.
func drawn(id string) bool {
	for _, prefix := range []string{"toolu_", "call_"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return len(rest) >= 20 && strings.ContainsAny(rest, "0123456789") && !strings.ContainsAny(rest, "_-.: ")
		}
	}
	return false
}

// session returns the state of a session, new if this is its first sign of life.
func (s *Sessions) session(id string) *session {
	ss := s.open[id]
	if ss == nil {
		ss = &session{running: map[string]*layer{}}
		s.open[id] = ss
	}
	return ss
}

// Turn tells of a user's message: the next call of the session begins an episode with this intent.
func (s *Sessions) Turn(session, intent string, at time.Time) {
	s.session(session).turn = &turn{intent, at}
}

// Begin tells that a call begins and says where it belongs.
func (s *Sessions) Begin(c Call) Place {
	ss := s.session(c.Session)
	if ss.begins(c) {
		p := Place{Episode: EpisodeID(s.source, c.Session, c.ID), Session: c.Session, Intent: c.Intent, Time: c.Start}
		if ss.turn != nil {
			if p.Intent == "" {
				p.Intent = ss.turn.intent
			}
			if !ss.turn.at.IsZero() {
				p.Time = ss.turn.at
			}
		}
		ss.episode, ss.begun, ss.from, ss.turn, ss.layer, ss.layers, ss.calls = p, true, ss.turn, nil, nil, 0, 0
	}
	if !ss.joins(c) {
		ss.layer, ss.layers = &layer{of: ss.episode.Episode, name: c.Group}, ss.layers+1
	}
	ss.calls++
	ss.layer.inside++
	ss.running[c.ID] = ss.layer
	ss.sign(c.Start)
	ss.episode.Number++
	ss.episode.Group, ss.episode.Start = strconv.Itoa(ss.layers), c.Start
	return ss.episode
}

// begins reports whether a call begins an episode.
func (ss *session) begins(c Call) bool {
	switch {
	case !ss.begun || ss.turn != nil || ss.episode.Number >= MaxSteps:
		return true
	case c.Intent != "" && c.Intent != ss.episode.Intent:
		return true
	}
	return len(ss.running) == 0 && !ss.last.IsZero() && c.Start.Sub(ss.last) > IdleGap
}

// joins reports whether a call is one of the newest layer.
func (ss *session) joins(c Call) bool {
	if ss.layer == nil || c.Group != ss.layer.name {
		return false
	}
	return c.Group != "" || ss.layer.inside > 0 && !ss.layer.closed
}

// sign keeps the latest time, for reports may come late; zero times change nothing.
func (ss *session) sign(at time.Time) {
	if at.After(ss.last) {
		ss.last = at
	}
}

// End tells that a call has ended. One that was never begun is passed over.
func (s *Sessions) End(session, id string, at time.Time) { s.leave(session, id, at, true) }

// Drop tells that a call was none: it was refused before it was made, or asked for input first. It has
// no place; what is parallel to it stays so. An episode that had no other call has not begun.
func (s *Sessions) Drop(session, id string) { s.leave(session, id, time.Time{}, false) }

// leave takes a call out of its layer. A call that was none (ended is false) does not close the layer, and if
// it was the only one of its episode, the message that began the episode counts for the next call.
func (s *Sessions) leave(session, id string, at time.Time, ended bool) {
	ss := s.open[session]
	if ss == nil {
		return
	}
	l, ok := ss.running[id]
	if !ok {
		return
	}
	delete(ss.running, id)
	ss.sign(at)
	l.inside--
	l.closed = l.closed || ended
	if !ended && l.of == ss.episode.Episode {
		if ss.calls--; ss.calls == 0 {
			ss.begun, ss.turn = false, cmp.Or(ss.turn, ss.from)
		}
	}
}

// Resume goes on with an episode that another Sessions has begun: of a process that has ended, say. at is
// its last sign of life, zero if nobody knows. The next call is in a layer of its own.
func (s *Sessions) Resume(p Place, at time.Time) {
	ss := s.session(p.Session)
	ss.episode, ss.begun, ss.last, ss.layer, ss.calls = p, true, at, nil, p.Number
	ss.layers, _ = strconv.Atoi(p.Group) // what is no number was not made here
}

// Knows reports whether a session has begun an episode here.
func (s *Sessions) Knows(session string) bool { ss := s.open[session]; return ss != nil && ss.begun }

// Forget drops the sessions that have rested for longer than [IdleGap] at a time: their next call begins
// an episode anyway.
func (s *Sessions) Forget(now time.Time) {
	for id, ss := range s.open {
		if len(ss.running) == 0 && now.Sub(ss.last) > IdleGap {
			delete(s.open, id)
		}
	}
}

// NumberGroups leaves only groups of several calls, and numbers them.
func NumberGroups(steps []Step) {
	size, number := map[string]int{}, map[string]string{}
	for _, s := range steps {
		size[s.Group]++
	}
	for i := range steps {
		g := steps[i].Group
		if g == "" || size[g] < 2 {
			steps[i].Group = ""
			continue
		}
		if number[g] == "" {
			number[g] = strconv.Itoa(len(number) + 1)
		}
		steps[i].Group = number[g]
	}
}
