package episodic

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// IdleGap is the longest pause within one task: a call after a longer pause begins a new episode.
const IdleGap = 30 * time.Minute

// Session splits the calls of one source in one session into episodes. The same rules apply to all reporters, live
// or from a file:
//
//	a new episode begins   with the first call, after a user's message, with another intent,
//	                       after more than IdleGap without a call, and when an episode is full
//	calls are parallel     if they are consecutive and name the same group or, if they name no group,
//	                       if each began before any of them ended
//
// A layer of parallel calls without a group is closed as soon as one of its calls has ended, because a call that
// begins later may use the result. So one long call does not make all calls during it parallel.
//
//	a ├────┤                     layer 1: a, b     (b began before a ended)
//	b   ├──────────────┤
//	c         ├───┤              layer 2: c        (a had ended)
//	d               ├──┤         layer 3: d
//
// Begin and End must be called in the order in which the events happened; times are used for the gap only. A
// Session must not be used by several goroutines at once.
type Session struct {
	source, name string

	episode Place // Number, Group and Start of the newest call
	begun   bool
	last    time.Time         // latest start or end of a call
	running map[string]*layer // calls that have not ended
	turn    *turn             // a user's message since the last call
	from    *turn             // the user's message that began the episode
	layer   *layer            // the newest of the episode; nil: none
	layers  int               // layers begun in the episode
	calls   int               // calls of the episode, without dropped ones
}

// Call is the data about the beginning of a call that a session needs.
type Call struct {
	ID     string    // unique in its session
	Intent string    // intent of the task; empty: the same as before
	Group  string    // shared by calls issued together: by one message, or as a layer of a run; empty: not known
	Start  time.Time // zero: not known
}

// Place is the position of a call: the fields of its episode, which are the same for all calls of the episode,
// and the fields of the call itself.
type Place struct {
	Episode string // id: a hash of source, session and first call
	Session string
	Intent  string
	Time    time.Time // of the user's message, else of the first call

	Number int       // position of the call in the episode by start, from 1
	Group  string    // the layer of parallel calls: "1", "2", ...
	Start  time.Time // of the call
}

// layer is a set of parallel calls.
type layer struct {
	of     string // id of the episode
	name   string // the group that the calls name
	inside int    // number of calls that have not ended
	closed bool   // a call has ended
}

// turn is a user's message: the intent of the episode that it begins.
type turn struct {
	intent string
	at     time.Time
}

// NewSession returns a session of a source without any calls.
func NewSession(source, name string) *Session {
	return &Session{source: source, name: name, running: map[string]*layer{}}
}

// EpisodeID returns the id of the episode that begins with a call. If the id of the call was drawn at random it is
// unique by itself, and the session is left out: a session that continues under another name repeats the call and
// gets the same episode id.
func EpisodeID(source, session, firstCall string) string {
	if drawn(firstCall) {
		session = ""
	}
	sum := sha256.Sum256([]byte(source + "\x00" + session + "\x00" + firstCall))
	return hex.EncodeToString(sum[:16])
}

// drawn reports whether a call id has the form of the random ids of model APIs: toolu_01A09q90qw90lq917835lq9.
func drawn(id string) bool {
	for _, prefix := range []string{"toolu_", "call_"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return len(rest) >= 20 && strings.ContainsAny(rest, "0123456789") && !strings.ContainsAny(rest, "_-.: ")
		}
	}
	return false
}

// Turn records a message of the user: the next call begins an episode with this intent, unless it names its own.
func (s *Session) Turn(intent string, at time.Time) { s.turn = &turn{intent, at} }

// Begin records the beginning of a call and returns its place.
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
	s.touch(c.Start)
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

// joins reports whether a call belongs to the newest layer.
func (s *Session) joins(c Call) bool {
	if s.layer == nil || c.Group != s.layer.name {
		return false
	}
	return c.Group != "" || s.layer.inside > 0 && !s.layer.closed
}

// touch updates the latest time of the session. Reports may arrive late, so an earlier or zero time changes nothing.
func (s *Session) touch(at time.Time) {
	if at.After(s.last) {
		s.last = at
	}
}

// End records that a call has ended. It ignores a call that has not begun.
func (s *Session) End(id string, at time.Time) { s.removeCall(id, at, true) }

// Drop removes a call that was not carried out: it was refused before it was made, or asked for input first. It
// does not close its layer. If it was the only call of its episode, the episode has not begun.
func (s *Session) Drop(id string) { s.removeCall(id, time.Time{}, false) }

// removeCall removes a call from its layer. A dropped call (ended is false) does not close the layer. If it was the
// only call of its episode, the message that began the episode applies to the next call.
func (s *Session) removeCall(id string, at time.Time, ended bool) {
	l, ok := s.running[id]
	if !ok {
		return
	}
	delete(s.running, id)
	s.touch(at)
	l.inside--
	l.closed = l.closed || ended
	if !ended && l.of == s.episode.Episode {
		if s.calls--; s.calls == 0 {
			s.begun, s.turn = false, cmp.Or(s.turn, s.from)
		}
	}
}

// Resume continues an episode that another Session began, for example in a process that has ended. at is the time
// of its latest event, zero if unknown. The next call begins a new layer.
func (s *Session) Resume(p Place, at time.Time) {
	s.episode, s.begun, s.last, s.layer, s.calls = p, true, at, nil, p.Number
	s.layers, _ = strconv.Atoi(p.Group) // a group that is not a number was not assigned by a Session: 0
}

// Begun reports whether an episode has begun.
func (s *Session) Begun() bool { return s.begun }

// Rests reports whether a call at the given time would begin a new episode in any case: no episode has begun, or no
// call is running and the last event is more than [IdleGap] ago.
func (s *Session) Rests(now time.Time) bool {
	return !s.begun || len(s.running) == 0 && now.Sub(s.last) > IdleGap
}

// NumberGroups removes groups of a single step and renames the others to consecutive numbers from 1.
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
