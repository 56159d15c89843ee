package episodic

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var event = regexp.MustCompile(`^(\w+)([+!-])([\d.]*)(?:@(\w+))?(?:=(\w+))?$`)

// play cuts calls into episodes by the rule of [Session], from their events: "a+1" begins call a after a second and
// "a-5" ends it; "a+1@m" is of a message m, and "a+1=x" has the intent x. "a!" drops a call that was none.
func play(t *testing.T, events string) (episodes []Episode) {
	s, first := NewSession("test", "s"), true
	for _, text := range strings.Fields(events) {
		m, at := event.FindStringSubmatch(text), time.Time{}
		require.NotNil(t, m, text)
		if seconds, err := strconv.ParseFloat(m[3], 64); err == nil {
			at = after(seconds)
		}
		switch m[2] {
		case "-":
			s.End(m[1], at)
			continue
		case "!":
			s.Drop(m[1])
			steps := &episodes[len(episodes)-1].Steps
			*steps = slices.DeleteFunc(*steps, func(step Step) bool { return step.Tool == m[1] })
			continue
		}
		p := s.Begin(Call{ID: m[1], Start: at, Group: m[4], Intent: m[5]})
		if first || episodes[len(episodes)-1].ID != p.Episode {
			episodes, first = append(episodes, Episode{ID: p.Episode, Session: p.Session, Intent: p.Intent, Time: p.Time}), false
		}
		e := &episodes[len(episodes)-1]
		e.Steps = append(e.Steps, Step{Tool: m[1], Group: p.Group})
	}
	for i := range episodes {
		NumberGroups(episodes[i].Steps)
	}
	return episodes
}

var noon = time.Date(2026, 8, 10, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// layers writes episodes as tools, those of a group in brackets.
func layers(episodes []Episode) (s string) {
	for i, e := range episodes {
		if i > 0 {
			s += " | "
		}
		for j := 0; j < len(e.Steps); {
			end := e.layerEnd(j)
			if end-j > 1 {
				s += "["
			}
			for ; j < end; j++ {
				s += e.Steps[j].Tool
			}
			if e.Steps[j-1].Group != "" {
				s += "]"
			}
		}
	}
	return s
}

func TestEpisodesOfASession(t *testing.T) {
	for _, tt := range []struct{ name, events, want string }{
		{"none", "", ""},
		{"one after the other", "a+0 a-1 b+1 b-2 c+3 c-3", "abc"},
		{"overlapping", "a+0 b+1 b-3 a-5 c+6 c-7", "[ab]c"},
		{"a long one beside a chain", "l+0 a+1 a-2 b+3 b-4 c+5 c-6 l-9", "[la]bc"},
		{"of one message", "a+0@m1 a-1 b+2@m1 b-3 c+4@m2 c-5", "[ab]c"},
		{"of two messages that overlap", "a+0@m1 b+1@m2 b-3 a-5", "ab"},
		{"a gap", "a+0 a-1 b+1860 b-1861", "a | b"},
		{"no gap: one was running", "a+0 a-2400 b+2460 b-2520", "ab"},
		{"no gap: while one was running", "a+0 b+1 b-2 c+2400 c-2460 a-4800", "[ab]c"},
		{"another intent", "a+0=x a-1 b+2 b-3 c+4=y c-5 d+6=y d-7", "ab | cd"},
		{"without times", "a+ a- b+ b-", "ab"},
		{"one dropped beside another that runs", "a+ b+ a! c+ c- d+", "[bc]d"},
		{"one dropped when nothing runs", "a+ a- b+ b! c+", "ac"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := play(t, tt.events)
			assert.Equal(t, tt.want, layers(got))
			for i := range got {
				require.NoError(t, got[i].Normalise())
			}
		})
	}
}

func TestAUsersMessageBeginsAnEpisode(t *testing.T) {
	s := NewSession("test", "s")
	s.Turn("fix the build", after(0))
	a := s.Begin(Call{ID: "a", Start: after(1)})
	s.Turn("fix the build", after(2)) // the same words again are another task
	b := s.Begin(Call{ID: "b", Start: after(3)})
	assert.Equal(t, Place{Episode: EpisodeID("test", "s", "a"), Session: "s", Intent: "fix the build", Time: after(0), Number: 1, Group: "1", Start: after(1)}, a)
	assert.Equal(t, Place{Episode: EpisodeID("test", "s", "b"), Session: "s", Intent: "fix the build", Time: after(2), Number: 1, Group: "1", Start: after(3)}, b)
	s.End("a", after(4)) // of the episode before: it says nothing of this one's layer
	c := s.Begin(Call{ID: "c", Start: after(5)})
	assert.Equal(t, "1", c.Group, "b has not ended")
}

func TestFullEpisodesEnd(t *testing.T) {
	s := NewSession("test", "s")
	first := ""
	for i := range MaxSteps + 1 {
		id := strconv.Itoa(i)
		p := s.Begin(Call{ID: id})
		s.End(id, time.Time{})
		if i == 0 {
			first = p.Episode
		}
		require.Equal(t, i < MaxSteps, p.Episode == first)
	}
}

func TestSessionsAreResumedAndRest(t *testing.T) {
	s := NewSession("test", "s")
	p := s.Begin(Call{ID: "a", Start: after(0)})
	again := NewSession("test", "s")
	assert.False(t, again.Begun())
	again.Resume(p, after(1))
	assert.True(t, again.Begun())
	q := again.Begin(Call{ID: "b", Start: after(2)})
	assert.Equal(t, Place{Episode: p.Episode, Session: "s", Time: after(0), Number: 2, Group: "2", Start: after(2)}, q)
	assert.False(t, again.Rests(after(3600)), "a call is running")
	again.End("b", after(3))
	assert.False(t, again.Rests(after(60)))
	assert.True(t, again.Rests(after(3600)))
}

// However calls overlap: an episode has every call once, ordered by start, and two in a layer overlap.
func TestRandomSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		var events []string // with their moments in front, by which they are sorted: ends before beginnings
		from, to := map[string]int{}, map[string]int{}
		for i := range 1 + r.IntN(12) {
			id := fmt.Sprint("c", i)
			from[id] = r.IntN(20)
			to[id] = from[id] + 1 + r.IntN(8)
			events = append(events, fmt.Sprintf("%02d 1 %s+%d", from[id], id, from[id]), fmt.Sprintf("%02d 0 %s-%d", to[id], id, to[id]))
		}
		slices.Sort(events)
		for i := range events {
			events[i] = events[i][len("00 0 "):]
		}
		n := 0
		for _, e := range play(t, strings.Join(events, " ")) {
			n += len(e.Steps)
			for i := 0; i < len(e.Steps); {
				end := e.layerEnd(i)
				for j := i; j < end; j++ {
					id := e.Steps[j].Tool
					require.False(t, j > 0 && from[id] < from[e.Steps[j-1].Tool])
					for k := i; k < j; k++ {
						require.Greater(t, to[e.Steps[k].Tool], from[id], "in a layer, but one ended before the other began")
					}
				}
				i = end
			}
		}
		require.Len(t, from, n)
	}
}

// What was refused begins no episode: the first call that was made does, about what the user asked.
func TestDropOfTheFirstCall(t *testing.T) {
	s := NewSession("test", "s")
	s.Turn("ask", after(0))
	refused := s.Begin(Call{ID: "a", Start: after(1)})
	s.Drop("a")
	p := s.Begin(Call{ID: "b", Start: after(2)})
	assert.NotEqual(t, refused.Episode, p.Episode)
	assert.Equal(t, Place{Episode: EpisodeID("test", "s", "b"), Session: "s", Intent: "ask", Time: after(0), Number: 1, Group: "1", Start: after(2)}, p)
	s.End("b", after(3))

	c := s.Begin(Call{ID: "c", Start: after(4)})
	s.Drop("c")
	d := s.Begin(Call{ID: "d", Start: after(5)})
	assert.Equal(t, []string{p.Episode, p.Episode}, []string{c.Episode, d.Episode}, "an episode that has begun goes on")

	s.Turn("another", after(6))
	e := s.Begin(Call{ID: "e", Start: after(7)})
	s.Drop("d") // late: of the episode before
	f := s.Begin(Call{ID: "f", Start: after(8)})
	assert.Equal(t, e.Episode, f.Episode)
	s.Drop("e")
	assert.Equal(t, e.Episode, s.Begin(Call{ID: "g", Start: after(9)}).Episode, "another call of it was made")
}

// A call id that was drawn names its episode in every session that repeats it; one that was counted does not.
func TestEpisodeID(t *testing.T) {
	same := func(id string) bool { return EpisodeID("x", "s", id) == EpisodeID("x", "t", id) }
	for id, want := range map[string]bool{
		"toolu_01A09q90qw90lq917835lq9": true, "call_Jx1vQ8f0a2b3c4d5e6f7g8h9": true,
		"toolu_1": false, "call_0": false, "call_of_the_first_tool_in_turn_12": false, "n1k2j3-1": false, "": false,
	} {
		assert.Equal(t, want, same(id), id)
	}
	assert.NotEqual(t, EpisodeID("x", "s", "toolu_01A09q90qw90lq917835lq9"), EpisodeID("y", "s", "toolu_01A09q90qw90lq917835lq9"))
}
