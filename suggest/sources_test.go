package suggest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	sample "waymark/cmd/waymark/sampledata"
	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/history"
)

// attacked is a workspace of 30 tools in six chains of five, with honest episodes of ten keys, and of an attacker.
type attacked struct {
	*world
	random *rand.Rand
}

func honestHistory(t *testing.T, episodes int) *attacked {
	a := &attacked{newWorld(t), rand.New(rand.NewPCG(11, 12))}
	for i := range episodes {
		a.record(a.honest(fmt.Sprintf("key:h%d", i%10)))
	}
	return a
}

func (a *attacked) honest(source string) episodic.Episode {
	e := episodic.Episode{Source: source, Outcome: episodic.Success}
	at, chain := a.random.IntN(3), a.random.IntN(6)
	for range 3 {
		e.Steps = append(e.Steps, episodic.Step{Tool: tool(chain, at), Outcome: episodic.Success})
		at = (at + 1 + a.random.IntN(5)/4) % 5
	}
	return e
}

func tool(chain, at int) string { return fmt.Sprintf("s%d:t%d", chain, at) }

func (a *attacked) fakes(n int, source, from, to string, outcome episodic.Outcome) {
	for range n {
		a.record(episodic.Episode{Source: source, Steps: []episodic.Step{{Tool: from}, {Tool: to, Outcome: outcome}}})
	}
}

func (a *attacked) rank(after, id string) int {
	a.t.Helper()
	answer, err := a.model().Next(NextRequest{Context: []string{after}, Limit: 30, Profile: ProfileSeed})
	require.NoError(a.t, err)
	return slices.Index(ids(answer.Suggestions), id)
}

// One key cannot bring up a tool that nobody else uses, whatever it records.
func TestOneKeyCannotPromoteANewTool(t *testing.T) {
	for _, n := range []int{1, 10, 30, 300} {
		for chain := range 2 {
			a := honestHistory(t, 100)
			a.fakes(n, "key:attacker", tool(chain, 1), "evil:tool", episodic.Success)
			assert.Equal(t, -1, a.rank(tool(chain, 1), "evil:tool"), "%d fakes", n)
			if n == 10 {
				a.fakes(1, "key:h1", tool(chain, 1), "evil:tool", episodic.Success)
				assert.GreaterOrEqual(t, a.rank(tool(chain, 1), "evil:tool"), 0, "another key uses it as well")
			}
		}
	}
}

// Of what one key says of one transition, no more counts than twice what others say, or five.
func TestOneKeyCannotPromoteATransition(t *testing.T) {
	for chain := range 2 {
		a := honestHistory(t, 1000)
		best, err := a.model().Next(NextRequest{Context: []string{tool(chain, 1)}, Limit: 2, Profile: ProfileSeed})
		require.NoError(t, err)
		a.fakes(300, "key:attacker", tool(chain, 1), tool((chain+1)%6, 0), episodic.Success)
		assert.NotContains(t, []int{0, 1, 2, 3, 4}, a.rank(tool(chain, 1), tool((chain+1)%6, 0)))
		assert.Zero(t, a.rank(tool(chain, 1), best.Suggestions[0].ID))
		p := a.Freeze().Past.Episode(a.Episodes() - 1)
		assert.True(t, p.Limited)
	}
}

// One key alone brings up a tool of the catalog that nobody uses no further by repeating it.
func TestOneKeyGainsNothingByRepeating(t *testing.T) {
	for _, profile := range []string{ProfileSeed, ProfileLearned} {
		once := -1
		for _, n := range []int{1, 10, 100} {
			a := honestHistory(t, 300)
			a.PutTool(catalog.Tool{ID: "rare:tool", Server: "rare", Name: "tool"})
			a.fakes(n, "key:attacker", tool(0, 1), "rare:tool", episodic.Success)
			answer, err := a.model().Next(NextRequest{Context: []string{tool(0, 1)}, Limit: 30, Profile: profile})
			require.NoError(t, err)
			rank := slices.Index(ids(answer.Suggestions), "rare:tool")
			assert.NotContains(t, []int{0, 1, 2, 3, 4}, rank)
			if n == 1 {
				once = rank
			}
			assert.True(t, rank < 0 || rank >= once, "%s, %d fakes", profile, n)
		}
	}
}

// Of what one key alone has repeated, two observations count as soon as another reports it, too.
func TestConfirmedTransitionsCount(t *testing.T) {
	a := honestHistory(t, 100)
	a.fakes(5, "key:attacker", tool(0, 1), tool(3, 0), episodic.Success)
	count := func() uint64 {
		c := a.Freeze()
		from, _ := c.Find(tool(0, 1))
		to, _ := c.Find(tool(3, 0))
		for e := range c.Graph.Edges {
			if e.From == from && e.To == to {
				return e.Count
			}
		}
		return 0
	}
	assert.Zero(t, count())
	a.fakes(1, "key:h1", tool(0, 1), tool(3, 0), episodic.Success)
	assert.EqualValues(t, 3, count())
	a.fakes(5, "key:attacker", tool(0, 1), tool(3, 0), episodic.Success)
	assert.EqualValues(t, 3, count(), "repeating does not add to what others confirm once")
}

// A key that alone reports more transitions than is usual among the others has none of them counted.
func TestUnusualSourceCountsForNothing(t *testing.T) {
	a := honestHistory(t, 300)
	edges := func() (n int) {
		for e := range a.Freeze().Graph.Edges {
			if a.Freeze().IDs[e.To] == "rare:tool" {
				n++
			}
		}
		return n
	}
	a.PutTool(catalog.Tool{ID: "rare:tool", Server: "rare", Name: "tool"})
	a.fakes(1, "key:attacker", tool(0, 1), "rare:tool", episodic.Success)
	assert.LessOrEqual(t, edges(), 1)
	for chain := range 6 {
		for at := range 5 {
			a.fakes(1, "key:attacker", tool(chain, at), "rare:tool", episodic.Success)
		}
	}
	assert.Zero(t, edges(), "all of its transitions are its own")
	a.fakes(1, "key:h1", tool(0, 1), "rare:tool", episodic.Success)
	assert.Positive(t, edges(), "another key reports one of them")
}

// A loop in one episode is not a repeated report: the first five episodes with it teach, whether recorded or grown.
func TestALoopIsReportedOnce(t *testing.T) {
	loops := func(report func(a *attacked, e episodic.Episode)) (limited []bool) {
		a := honestHistory(t, 100)
		for i := range 6 {
			e := episodic.Episode{ID: fmt.Sprint("loop", i), Source: "key:h1"}
			for k := range 20 {
				e.Steps = append(e.Steps, episodic.Step{ID: fmt.Sprint(k), Tool: tool(0, 1), Outcome: episodic.Success})
			}
			report(a, e)
			limited = append(limited, a.Freeze().Past.Episode(100+i).Limited)
		}
		return limited
	}
	want := []bool{false, false, false, false, false, true}
	assert.Equal(t, want, loops(func(a *attacked, e episodic.Episode) { a.record(e) }))
	assert.Equal(t, want, loops(func(a *attacked, e episodic.Episode) {
		for k := range e.Steps {
			a.Perform(&episodic.Performed{Episode: e.ID, Source: e.Source, Number: k + 1, Step: &e.Steps[k]})
		}
	}))
}

// Outcomes that one key alone reports of a tool count for nothing.
func TestOneKeyCannotPraiseATool(t *testing.T) {
	a := honestHistory(t, 100)
	a.PutTool(catalog.Tool{ID: "rare:tool", Server: "rare", Name: "tool"})
	for range 30 {
		a.Feedback([]string{tool(0, 1)}, "rare:tool", episodic.Success, time.Time{}, "key:attacker")
	}
	c := a.Freeze()
	n, _ := c.Find("rare:tool")
	rate := c.Rates.Tool(n)
	assert.Equal(t, 30, rate.N)
	assert.Zero(t, rate.Success)
	assert.Zero(t, rate.Known(), "nor against it")
	assert.NotContains(t, []int{0, 1, 2, 3, 4}, a.rank(tool(0, 1), "rare:tool"))
}

// Ten failures of one key move a tool that works for others by at most three places.
func TestOneKeyCannotBuryATool(t *testing.T) {
	for chain := range 2 {
		a := honestHistory(t, 100)
		best, err := a.model().Next(NextRequest{Context: []string{tool(chain, 1)}, Limit: 1, Profile: ProfileSeed})
		require.NoError(t, err)
		id := best.Suggestions[0].ID
		a.fakes(10, "key:attacker", tool(chain, 1), id, episodic.Failure)
		rank := a.rank(tool(chain, 1), id)
		assert.GreaterOrEqual(t, rank, 0)
		assert.LessOrEqual(t, rank, 3)
	}
}

// The operator's own sources, and a workspace of two keys, are not limited.
func TestWhoIsNotLimited(t *testing.T) {
	a := honestHistory(t, 100)
	a.fakes(30, "local", tool(0, 1), "new:tool", episodic.Success)
	assert.Zero(t, a.rank(tool(0, 1), "new:tool"))

	w := &attacked{world: newWorld(t)}
	for range 5 {
		w.fakes(1, "key:a", "x", "y", episodic.Success)
		w.fakes(1, "key:b", "x", "z", episodic.Success)
	}
	w.fakes(30, "key:a", "x", "new", episodic.Success)
	assert.Zero(t, w.rank("x", "new"))
}

// What is counted of each key outlives a snapshot: the state read again counts on as the one written.
func TestLimitsOutliveASnapshot(t *testing.T) {
	a := honestHistory(t, 100)
	a.fakes(20, "key:attacker", tool(0, 1), "evil:tool", episodic.Success)
	var b bytes.Buffer
	w := codec.Writer{To: &b}
	require.NoError(t, a.Image().Write(&w))
	require.NoError(t, w.Flush())
	r := codec.NewReader(b.Bytes())
	read := &attacked{world: &world{State: history.ReadState(r), t: t, n: 1000}}
	require.NoError(t, r.End())
	assert.Equal(t, writtenState(t, a.Image()), writtenState(t, read.Image()))
	assert.Equal(t, a.Freeze().Past.Episode(119).Limited, read.Freeze().Past.Episode(119).Limited)
	a.n = 1000
	for _, s := range []*attacked{a, read} {
		s.fakes(20, "key:attacker", tool(0, 1), tool(1, 0), episodic.Success)
		s.fakes(1, "key:h2", tool(0, 1), "evil:tool", episodic.Success)
	}
	assert.Equal(t, a.model().Hash(), read.model().Hash())
}

// What is unusual about a key is named; honest keys are not, and nothing of the operator's own sources is.
func TestAnomaliesOfSources(t *testing.T) {
	kinds := func(a *attacked, measured int) (all []string) {
		m := a.model()
		m.measures.episodes = measured
		for _, x := range m.Stats().Anomalies {
			all = append(all, x.Source+" "+x.Kind)
			assert.NotEmpty(t, x.Detail)
		}
		return all
	}
	a := honestHistory(t, 100)
	assert.Empty(t, kinds(a, 0))
	a.fakes(40, "local", tool(0, 1), "new:tool", episodic.Failure)
	assert.Empty(t, kinds(a, 100))
	a.fakes(40, "key:attacker", tool(0, 1), "evil:tool", episodic.Success)
	assert.Equal(t, []string{"key:attacker repeats", "key:attacker share"}, kinds(a, 140))
	assert.Equal(t, []string{"key:attacker repeats"}, kinds(a, 160), "it was there before")

	b := honestHistory(t, 100)
	for range 30 {
		e := b.honest("key:broken")
		e.Outcome = episodic.Failure
		b.record(e)
	}
	assert.Equal(t, []string{"key:broken failures"}, kinds(b, 130))
}

// victims are requests of the sample, each with its first tool.
var victims = []struct{ request, first string }{
	{"which deals have stalled?", "crm:list_deals"},
	{"Refund 380 euro to Ostrava Tools, INV-21792 was paid twice", "billing:get_invoice"},
	{"Find three good sources on open source queue systems and compare them", "web:search"},
	{"reply to the open support tickets", "desk:search_tickets"},
}

// sharedSample is a part of the sample, recorded by the sources in turns, and a tool that it does not use.
func sharedSample(t *testing.T, sources ...string) *attacked {
	a := &attacked{world: newWorld(t)}
	tools, err := sample.Lines[catalog.Tool]("tools.jsonl")
	require.NoError(t, err)
	for _, tool := range tools {
		a.PutTool(tool)
	}
	a.PutTool(catalog.Tool{ID: "evil:known", Server: "evil", Name: "known", Description: "ferments cabbage"})
	episodes, err := sample.Lines[episodic.Episode]("episodes.jsonl")
	require.NoError(t, err)
	for i, e := range episodes[:150] {
		e.Source = sources[i%len(sources)]
		a.record(e)
	}
	return a
}

// claim records n times for each victim that its request used a tool, after its first one and alone.
func (a *attacked) claim(n int, source, tool string) {
	for i := range n {
		for _, v := range victims {
			steps := []episodic.Step{{Tool: v.first, Outcome: episodic.Success}, {Tool: tool, Outcome: episodic.Success}}
			a.record(episodic.Episode{Source: source, Intent: v.request, Steps: steps[i%2:], Outcome: episodic.Success, Time: time.Unix(1_790_000_000+int64(i), 0)})
		}
	}
}

// taken counts by kind of answer and tool the victims whose answers have the tool among the first five, plans anywhere.
func (a *attacked) taken(m *Model, claimed ...string) map[string]int {
	found := map[string]int{}
	note := func(kind string, ids []string) {
		for _, tool := range claimed {
			if slices.Contains(ids, tool) {
				found[kind+" "+tool]++
			}
		}
	}
	for _, v := range victims {
		note("search", searched(a.t, m, SearchRequest{Query: v.request, Limit: 5}))
		for _, profile := range []string{ProfileSeed, ProfileLearned} {
			request := NextRequest{Context: []string{v.first}, Intent: v.request, Profile: profile, Limit: 5}
			note("next "+profile, ids(next(a.t, m, request).Suggestions))
			note("plan "+profile, tools(planned(a.t, m, DAGRequest{Intent: v.request, Profile: profile})))
		}
	}
	return found
}

// One key among several, or beside the operator's history, cannot bring a tool that nobody else uses for such requests
// into the answers to them, neither before a build nor in it. What the operator records counts at once, and what a second
// key confirms from the next build on.
func TestOneKeyCannotPromoteAToolForARequest(t *testing.T) {
	keys := []string{"key:0", "key:1", "key:2", "key:3"}
	measures := sharedSample(t, keys...).measured()
	for _, x := range []struct {
		sources  []string
		measures *Measures
		fakes    []int
	}{{keys, measures, []int{1, 60}}, {[]string{"import"}, sharedSample(t, "import").measured(), []int{10}}} {
		a := sharedSample(t, x.sources...)
		for _, n := range x.fakes {
			claimed := []string{"evil:known", "evil:in_no_catalog", "files:delete_file"} // others use the last one, for other requests
			for _, tool := range claimed {
				a.claim(n, "key:attacker", tool)
			}
			assert.Empty(t, a.taken(a.since(x.measures), claimed...), "%d fakes beside %s, before a build", n, x.sources)
			assert.Empty(t, a.taken(a.model(), claimed...), "%d fakes beside %s", n, x.sources)
		}
	}
	a := sharedSample(t, keys...)
	a.claim(10, "key:attacker", "evil:known")
	a.claim(10, "key:1", "evil:known")
	assert.Equal(t, len(victims), a.taken(a.model(), "evil:known")["search evil:known"], "another key confirms it")
	for _, source := range []string{"import", "otel:trusted:c"} {
		a := sharedSample(t, keys...)
		a.claim(10, source, "evil:known")
		for _, m := range []*Model{a.since(measures), a.model()} {
			found := a.taken(m, "evil:known")
			for _, kind := range []string{"search", "next learned", "plan learned"} {
				assert.Positive(t, found[kind+" evil:known"], "%s by %s", kind, source)
			}
		}
	}
}

// Whoever asks for the name of a tool that one key alone has made up does not find it.
func TestOneKeyCannotNameATool(t *testing.T) {
	a := honestHistory(t, 100)
	a.fakes(1, "key:attacker", tool(0, 1), "evil:restart_server", episodic.Success)
	found := func() bool {
		return slices.Contains(searched(t, a.model(), SearchRequest{Query: "restart server"}), "evil:restart_server")
	}
	assert.False(t, found())
	a.fakes(1, "key:h1", tool(0, 1), "evil:restart_server", episodic.Success)
	assert.True(t, found())
}
