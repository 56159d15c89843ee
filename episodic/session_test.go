package episodic

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Done is a call that is over, as a file tells of it.
type Done struct {
	Call
	End  time.Time // zero: not known, it is taken to have ended as soon as it began
	Step Step      // what it was; its group is set by the rule
}

// episodes cuts calls that are over into episodes, by the rule of [Session], in the order of their
// first calls. The calls count in the order in which they began; where that is not known,
// or the same, in the order given. A call that begins when another ends comes after it.
func (s *Session) episodes(calls []Done) []Episode {
	type moment struct {
		call, kind int // kind 0 ends, 1 begins
		at         time.Time
	}
	var episodes []Episode
	first := map[string]int{} // episode → call
	var moments []moment
	clock := time.Time{} // a call without a time begins with the one before it
	for i := range calls {
		c := &calls[i]
		if !c.Start.IsZero() {
			clock = c.Start
		}
		moments = append(moments, moment{i, 1, clock})
		if c.End.After(clock) {
			moments = append(moments, moment{i, 0, c.End})
		}
	}
	slices.SortStableFunc(moments, func(a, b moment) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind))
	})
	at := map[string]int{}
	for _, m := range moments {
		c := &calls[m.call]
		if m.kind == 0 {
			s.End(c.ID, m.at)
			continue
		}
		p := s.Begin(c.Call)
		e, ok := at[p.Episode]
		if !ok {
			e = len(episodes)
			at[p.Episode], first[p.Episode] = e, m.call
			episodes = append(episodes, Episode{ID: p.Episode, Session: p.Session, Intent: p.Intent, Time: p.Time})
		}
		step := c.Step
		step.Group = p.Group
		episodes[e].Steps = append(episodes[e].Steps, step)
		if !c.End.After(m.at) {
			s.End(c.ID, m.at)
		}
	}
	slices.SortStableFunc(episodes, func(a, b Episode) int { return cmp.Compare(first[a.ID], first[b.ID]) })
	for i := range episodes {
		NumberGroups(episodes[i].Steps)
	}
	return episodes
}

var noon = time.Date(2026, 8, 10, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// done is a call from one second to another.
func done(id string, from, to float64) Done {
	return Done{Call: Call{ID: id, Start: after(from)}, End: after(to), Step: Step{Tool: id}}
}

func grouped(d Done, group string) Done { d.Group = group; return d }

func about(d Done, intent string) Done { d.Intent = intent; return d }

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
	minute := 60.0
	for _, tt := range []struct {
		name  string
		calls []Done
		want  string
	}{
		{"none", nil, ""},
		{"one after the other", []Done{done("a", 0, 1), done("b", 1, 2), done("c", 3, 3)}, "abc"},
		{"overlapping", []Done{done("a", 0, 5), done("b", 1, 3), done("c", 6, 7)}, "[ab]c"},
		{"given out of order", []Done{done("c", 6, 7), done("b", 1, 3), done("a", 0, 5)}, "[ab]c"},
		{"a long one beside a chain", []Done{done("l", 0, 9), done("a", 1, 2), done("b", 3, 4), done("c", 5, 6)}, "[la]bc"},
		{"at the same moment without length", []Done{done("a", 1, 1), done("b", 1, 1)}, "ab"},
		{"begins when another ends", []Done{done("a", 0, 1), done("b", 1, 2)}, "ab"},
		{"of one message", []Done{grouped(done("a", 0, 1), "m1"), grouped(done("b", 2, 3), "m1"), grouped(done("c", 4, 5), "m2")}, "[ab]c"},
		{"of two messages that overlap", []Done{grouped(done("a", 0, 5), "m1"), grouped(done("b", 1, 3), "m2")}, "ab"},
		{"a gap", []Done{done("a", 0, 1), done("b", 31*minute, 31*minute+1)}, "ab"[:1] + " | b"},
		{"no gap: one was running", []Done{done("a", 0, 40*minute), done("b", 41*minute, 42*minute)}, "ab"},
		{"no gap: while one was running", []Done{done("a", 0, 80*minute), done("b", 1, 2), done("c", 40*minute, 41*minute)}, "[ab]c"},
		{"another intent", []Done{about(done("a", 0, 1), "x"), done("b", 2, 3), about(done("c", 4, 5), "y"), about(done("d", 6, 7), "y")}, "ab | cd"},
		{"without times", []Done{{Call: Call{ID: "a"}, Step: Step{Tool: "a"}}, {Call: Call{ID: "b"}, Step: Step{Tool: "b"}}}, "ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewSession("test", "s").episodes(tt.calls)
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

// A call that was none leaves the others as they are.
func TestDroppedCallsHaveNoPlace(t *testing.T) {
	s := NewSession("test", "s")
	begin := func(id string) Place { return s.Begin(Call{ID: id}) }
	begin("a")
	begin("b")
	s.Drop("a")
	require.Equal(t, "1", begin("c").Group, "b still runs and none has ended")
	s.End("c", time.Time{})
	require.Equal(t, "2", begin("d").Group)
	s.Drop("d")
	require.Equal(t, "3", begin("e").Group, "nothing runs beside it")
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
		var calls []Done
		at := map[string]Done{}
		for i := range 1 + r.IntN(12) {
			from := float64(r.IntN(20)) / 2
			d := done(strconv.Itoa(i), from, from+float64(r.IntN(8))/2)
			calls, at[d.ID] = append(calls, d), d
		}
		n := 0
		for _, e := range NewSession("test", "s").episodes(calls) {
			n += len(e.Steps)
			for i := 0; i < len(e.Steps); {
				end := e.layerEnd(i)
				for j := i; j < end; j++ {
					a := at[e.Steps[j].Tool]
					require.False(t, j > 0 && a.Start.Before(at[e.Steps[j-1].Tool].Start))
					for k := i; k < j; k++ {
						require.True(t, at[e.Steps[k].Tool].End.After(a.Start), "in a layer, but one ended before the other began")
					}
				}
				i = end
			}
		}
		require.Equal(t, len(calls), n)
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
