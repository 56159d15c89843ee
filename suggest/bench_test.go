package suggest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"waymark/catalog"
	"waymark/episodic"
)

// big is a world of tools in servers of 15, used along a seeded Markov chain: four of ten steps stay
// with the server, half with its community of servers, popularity falls as 1/(rank+20). Its words are
// those of a [tongue].
func big(t testing.TB, tools, episodes int) *world {
	r := rand.New(rand.NewPCG(1, 2))
	says := newTongue(tools)
	w := newWorld(t)
	toolIDs := make([]string, tools)
	for i := range tools {
		v, n := says.verb(), says.noun(i)
		toolIDs[i] = fmt.Sprintf("server%d:%s_%s_%d", i/15, v, n, i)
		w.PutTool(catalog.Tool{
			ID:          toolIDs[i],
			Description: says.describe(i),
			InputSchema: fmt.Appendf(nil, `{"type":"object","properties":{"%s_id":{"type":"string"},"query":{"type":"string"}},"required":["%s_id"]}`, n, n),
		})
	}
	for i := range tools / 10 {
		var uses []string
		for range 3 + r.IntN(4) {
			uses = append(uses, toolIDs[(i*10+r.IntN(30))%tools])
		}
		slices.Sort(uses)
		w.PutCapability(catalog.Capability{ID: fmt.Sprintf("cap:%d", i), Description: "does " + says.noun(i*10), Tools: slices.Compact(uses)})
	}
	step := func(at int) int {
		switch p := r.Float64(); {
		case p < .4:
			return min(tools-1, at/15*15+r.IntN(15))
		case p < .9:
			return min(tools-1, at/120*120+r.IntN(120))
		}
		return int(float64(tools) * r.Float64() * r.Float64())
	}
	for i := range episodes {
		at := int(float64(tools) * r.Float64() * r.Float64())
		e := episodic.Episode{ID: fmt.Sprint(i), Source: "bench", Time: time.Unix(1_700_000_000+int64(i)*60, 0).UTC()}
		for range 2 + r.IntN(6) {
			o := episodic.Unknown
			if r.IntN(4) > 0 {
				o = episodic.Success
			}
			e.Steps = append(e.Steps, episodic.Step{Tool: toolIDs[at], Outcome: o})
			at = step(at)
		}
		e.Intent = says.ask(at)
		w.record(e)
	}
	return w
}

// size of a benchmark's world. The largest takes minutes to build.
type size struct{ tools, episodes int }

func sizes(b *testing.B) []size {
	all := []size{{1000, 20_000}, {10_000, 40_000}}
	if os.Getenv("WAYMARK_PERF_LARGE") != "" {
		n, err := strconv.Atoi(os.Getenv("WAYMARK_PERF_LARGE"))
		if err != nil {
			b.Fatal("WAYMARK_PERF_LARGE is the number of episodes at 100,000 tools: ", err)
		}
		all = append(all, size{100_000, n})
	}
	return all
}

// measured runs f for every situation and reports the 50th and 99th percentile beside the mean, and processor time, which other
// work on the machine lengthens less.
func measured(b *testing.B, f func(i int)) {
	b.ReportAllocs()
	took := make([]time.Duration, 0, b.N)
	before := processorTime()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		f(i)
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64(processorTime()-before)/1e3/float64(len(took)), "cpu-µs")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// processorTime is that of this process, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func BenchmarkSuggest(b *testing.B) {
	for _, size := range sizes(b) {
		m := big(b, size.tools, size.episodes).model()
		contexts := make([][]string, 512)
		intents := make([]string, len(contexts))
		for i := range contexts {
			p := m.Past.Episode(i * 31 % m.Past.N)
			for _, n := range p.Nodes[:max(1, len(p.Nodes)-1)] {
				contexts[i] = append(contexts[i], m.IDs[n])
			}
			intents[i] = p.Intent
		}
		name := func(op string) string { return fmt.Sprintf("op=%s/tools=%d", op, size.tools) }
		for _, profile := range []string{ProfileSeed, ProfileLearned} {
			if profile == ProfileLearned && size.tools > 1000 {
				continue // to learn takes minutes
			}
			for _, q := range []struct {
				op  string
				ask func(i int)
			}{
				{"next", func(i int) { _, _ = m.Next(NextRequest{Context: contexts[i%512], Profile: profile}) }},
				{"next-intent", func(i int) {
					_, _ = m.Next(NextRequest{Context: contexts[i%512], Intent: intents[i%512], Profile: profile})
				}},
				{"search", func(i int) { _, _ = m.Search(SearchRequest{Query: intents[i%512], Profile: profile}) }},
				{"dag", func(i int) { _, _ = m.Plan(DAGRequest{Intent: intents[i%512], Profile: profile}) }},
				{"dag-walk", func(i int) { _, _ = m.Plan(DAGRequest{Context: contexts[i%512][:1], Profile: profile}) }},
			} {
				b.Run(name(q.op)+"/profile="+profile, func(b *testing.B) {
					if profile == ProfileLearned {
						m.measures.learning.get() // in a workspace it is worked out in the build
					}
					measured(b, q.ask)
				})
			}
		}
	}
}
