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

// Session cuts the calls of one source in one session into episodes. The rule is one for all that report calls, live
// or from a file:
//
//	a new episode begins   with the first call, after a user's message, with another intent,
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
// Session is for one goroutine at a time.
type Session struct {
	source, name string

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

// Call is the beginning of a call, as far as a session is concerned.
type Call struct {
	ID     string    // of the call, unique in its session
	Intent string    // what it is about; empty: what the session was about before
	Group  string    // what was issued together shares it: a message, a layer of a run; empty: not known
	Start  time.Time // zero: not known
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

// NewSession returns a session in which nothing was done yet, of what source reports.
func NewSession(source, name string) *Session {
	return &Session{source: source, name: name, running: map[string]*layer{}}
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

// Turn notes a message of the user: the next call begins an episode with this intent.
func (s *Session) Turn(intent string, at time.Time) { s.turn = &turn{intent, at} }

// Begin tells that a call begins and says where it belongs.
func (s *Session) Begin(c Call) Place {
	if s.begins(c) {
		p := Place{Episode: EpisodeID(s.source, s.name, c.ID), Session: s.name, Intent: c.Intent, Time: c.Start}
		if s.turn != nil {
			p.Intent = cmp.Or(p.Intent, s.turn.intent)
			if !s.turn.at.IsZero() {
				p.Time = s.turn.at
			}
		}
		s.episode, s.begun, s.from, s.turn, s.layer, s.layers, s.calls = p, true, s.turn, nil, nil, 0, 0
	}
	if !s.joins(c) {
		s.layer, s.layers = &layer{of: s.episode.Episode, name: c.Group}, s.layers+1
	}
	s.calls++
	s.layer.inside++
	s.running[c.ID] = s.layer
	s.sign(c.Start)
	s.episode.Number++
	s.episode.Group, s.episode.Start = strconv.Itoa(s.layers), c.Start
	return s.episode
}

// begins reports whether a call begins an episode.
func (s *Session) begins(c Call) bool {
	switch {
	case !s.begun || s.turn != nil || s.episode.Number >= MaxSteps:
		return true
	case c.Intent != "" && c.Intent != s.episode.Intent:
		return true
	}
	return len(s.running) == 0 && !s.last.IsZero() && c.Start.Sub(s.last) > IdleGap
}

// joins reports whether a call is one of the newest layer.
func (s *Session) joins(c Call) bool {
	if s.layer == nil || c.Group != s.layer.name {
		return false
	}
	return c.Group != "" || s.layer.inside > 0 && !s.layer.closed
}

// sign keeps the latest time, for reports may come late; zero times change nothing.
func (s *Session) sign(at time.Time) {
	if at.After(s.last) {
		s.last = at
	}
}

// End tells that a call has ended. One that was never begun is passed over.
func (s *Session) End(id string, at time.Time) { s.leave(id, at, true) }

// Drop tells that a call was none: it was refused before it was made, or asked for input first. It has
// no place; what is parallel to it stays so. An episode that had no other call has not begun.
func (s *Session) Drop(id string) { s.leave(id, time.Time{}, false) }

// leave takes a call out of its layer. A call that was none (ended is false) does not close the layer, and if
// it was the only one of its episode, the message that began the episode counts for the next call.
func (s *Session) leave(id string, at time.Time, ended bool) {
	l, ok := s.running[id]
	if !ok {
		return
	}
	delete(s.running, id)
	s.sign(at)
	l.inside--
	l.closed = l.closed || ended
	if !ended && l.of == s.episode.Episode {
		if s.calls--; s.calls == 0 {
			s.begun, s.turn = false, cmp.Or(s.turn, s.from)
		}
	}
}

// Resume goes on with an episode that another Session has begun: of a process that has ended, say. at is
// its last sign of life, zero if nobody knows. The next call is in a layer of its own.
func (s *Session) Resume(p Place, at time.Time) {
	s.episode, s.begun, s.last, s.layer, s.calls = p, true, at, nil, p.Number
	s.layers, _ = strconv.Atoi(p.Group) // what is no number was not made here
}

// Begun reports whether an episode has begun here.
func (s *Session) Begun() bool { return s.begun }

// Rests reports whether the next call begins an episode anyway: none has begun, or the last has rested for longer than
// [IdleGap] at a time.
func (s *Session) Rests(now time.Time) bool {
	return !s.begun || len(s.running) == 0 && now.Sub(s.last) > IdleGap
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
