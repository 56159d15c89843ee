package live

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/episodic"
)

// plain is a history as a map: what a workspace has to say about its episodes, worked out without a log, without
// snapshots and without counting as it goes.
type plain struct {
	known  map[string]*plainEpisode
	erased map[string]*plainEpisode
}

type plainEpisode struct {
	source         string
	first, episode episodic.Episode // as it was first recorded, and as it is now
}

const (
	plainAccepted = iota
	plainDuplicate
	plainRejected
)

// record is the table of docs/data.md: what becomes of an episode that is sent.
func (p *plain) record(source string, ep episodic.Episode) int {
	was, gone := p.known[ep.ID], p.erased[ep.ID]
	switch {
	case gone != nil && gone.source == source && reflect.DeepEqual(gone.first, ep):
		return plainDuplicate
	case gone != nil:
		return plainRejected
	case was == nil:
		p.known[ep.ID] = &plainEpisode{source, ep, ep}
		return plainAccepted
	case was.episode.Intent != ep.Intent || !was.episode.Time.Equal(ep.Time) || was.episode.Session != ep.Session:
		return plainRejected
	}
	old, sent := toolsOf(was.episode), toolsOf(ep)
	n := min(len(old), len(sent))
	same := slices.Equal(old[:n], sent[:n])
	switch {
	case !same:
		return plainRejected
	case len(sent) <= len(old):
		return plainDuplicate
	case ep.Session == "" || was.source != source:
		return plainRejected
	}
	was.episode = ep
	return plainAccepted
}

func (p *plain) forget(sel Selection) (n int) {
	for id, e := range p.known {
		before := !sel.Before.IsZero() && !e.episode.Time.IsZero() && e.episode.Time.Before(sel.Before)
		if sel.Source == e.source || sel.Episode == id || before {
			p.erased[id] = e
			delete(p.known, id)
			n++
		}
	}
	return n
}

// counts is how often each tool was used, and each followed another right away.
func (p *plain) counts() map[string]uint64 {
	counts := map[string]uint64{}
	for _, e := range p.known {
		tools := toolsOf(e.episode)
		for i, tool := range tools {
			counts[tool]++
			if i > 0 {
				counts[tools[i-1]+" > "+tool]++
			}
		}
	}
	return counts
}

func toolsOf(ep episodic.Episode) (tools []string) {
	for _, s := range ep.Steps {
		tools = append(tools, s.Tool)
	}
	return tools
}

func requirePlain(t *testing.T, p *plain, e *Engine, seed uint64) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log("seed", seed)
		}
	}()
	var ids []string
	for it, err := range e.Items(ctx) {
		require.NoError(t, err)
		if it.Episode == nil {
			continue
		}
		ids = append(ids, it.Episode.ID)
		want := p.known[it.Episode.ID]
		require.NotNil(t, want, "episode %s is not in the map", it.Episode.ID)
		require.Equal(t, toolsOf(want.episode), toolsOf(*it.Episode), "episode %s", it.Episode.ID)
		require.Equal(t, want.episode.Intent, it.Episode.Intent)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(p.known)), ids)
	x, err := e.Model().Export("", 0)
	require.NoError(t, err)
	counts := map[string]uint64{}
	for _, n := range x.Nodes {
		if n.Uses > 0 {
			counts[n.ID] = n.Uses
		}
	}
	for _, edge := range x.Edges {
		if edge.Count > 0 {
			counts[edge.From+" > "+edge.To] = edge.Count
		}
	}
	require.Equal(t, p.counts(), counts)
	require.Equal(t, len(p.known), e.Model().Stats().Episodes)
}

// Random episodes are sent new, again, longer, shorter, changed and from another source, and forgotten in each way, while
// the workspace is rebuilt and restarted. Each verdict, the stored episodes and the counts of the model are those of a
// plain map.
func TestAgainstAMap(t *testing.T) {
	seeds := 16
	if s := os.Getenv("WAYMARK_MAPS"); s != "" {
		var err error
		seeds, err = strconv.Atoi(s)
		require.NoError(t, err)
	} else if testing.Short() {
		seeds = 8
	}
	const side = 8 // a workspace that closes waits
	for first := range side {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			for seed := first; seed < seeds; seed += side {
				againstAMap(t, uint64(seed))
			}
		})
	}
	t.Logf("%d seeds of 60 operations", seeds)
}

func againstAMap(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	store := memory(t)
	e, end := reopened(t, store)
	p := &plain{known: map[string]*plainEpisode{}, erased: map[string]*plainEpisode{}}
	source := func() string { return fmt.Sprint("source", r.IntN(3)) }
	steps := func(n int) (s []episodic.Step) {
		for range n {
			s = append(s, episodic.Step{Tool: fmt.Sprint("t", r.IntN(6)), Outcome: episodic.Success})
		}
		return s
	}
	sent := func() episodic.Episode {
		id := fmt.Sprint("e", r.IntN(25))
		if was := p.known[id]; was != nil {
			ep := was.episode
			ep.Steps = slices.Clone(ep.Steps)
			switch r.IntN(5) {
			case 0:
				ep.Steps = append(ep.Steps, steps(1+r.IntN(2))...)
			case 1:
				ep.Steps = ep.Steps[:1+r.IntN(len(ep.Steps))]
			case 2:
				ep.Intent += " else"
			case 3:
				ep.Steps[r.IntN(len(ep.Steps))].Tool = fmt.Sprint("t", r.IntN(6))
			}
			return ep
		}
		ep := episodic.Episode{ID: id, Intent: fmt.Sprint("ask ", r.IntN(3)), Steps: steps(1 + r.IntN(4))}
		if r.IntN(2) == 0 {
			ep.Session = "s" + id
		}
		if r.IntN(3) > 0 {
			ep.Time = time.Date(2026, 1, 1+r.IntN(200), 1, 2, 3, 0, time.UTC)
		}
		return ep
	}
	for step := range 60 {
		switch op := r.IntN(20); op {
		case 0, 1:
			sel := []Selection{{Source: source()}, {Episode: fmt.Sprint("e", r.IntN(25))}, {Before: time.Date(2026, 1, 1+r.IntN(60), 0, 0, 0, 0, time.UTC)}}[r.IntN(3)]
			n := p.forget(sel)
			got, err := e.Forget(ctx, sel)
			require.Equal(t, n > 0 || sel.Episode == "", err == nil, "seed %d, step %d: %v", seed, step, err)
			require.GreaterOrEqual(t, got.Erased, n) // each growth is an event, too
			require.Equal(t, n > 0, got.Erased > 0, "seed %d, step %d", seed, step)
		case 2:
			_, err := e.Build(ctx)
			require.NoError(t, err)
		case 3, 4:
			end()
			e, end = reopened(t, store)
		default:
			from, want, batch := source(), [3]int{}, []episodic.Episode{}
			for range 1 + r.IntN(3) {
				ep := sent()
				want[p.record(from, ep)]++
				batch = append(batch, ep)
			}
			got, err := e.Record(ctx, from, batch)
			require.NoError(t, err)
			require.Equal(t, want, [3]int{got.Accepted, got.Duplicates, len(got.Rejected)}, "seed %d, step %d: %+v\n%+v", seed, step, got.Rejected, batch)
		}
	}
	settled(t, e)
	require.NoError(t, e.Wait(ctx, e.Counted()))
	requirePlain(t, p, e, seed)
	end()
	e, end = reopened(t, store)
	requirePlain(t, p, e, seed)
	end()
}
