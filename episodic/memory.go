package episodic

import (
	"cmp"
	"math"
	"slices"
	"time"

	"waymark/numeric"
)

// The rules of the scoring reference 3.3 ("episodic learning"). The multipliers and caps are chosen
// there, not measured; Exclusion is where more failures than successes were seen.
const (
	boostRate    = 0.20
	boostCap     = 0.15
	penaltyRate  = 0.25
	penaltyCap   = 0.15
	exclusion    = 0.50
	halfLifeDays = 30
	MinKnown     = 5 // known outcomes before a pair speaks for itself or a tool may be excluded
	minSources   = 3 // distinct sources that must agree, where the workspace has as many
	wilsonZ      = 1.959963984540054
)

// Adjustment is what past outcomes add to a confidence,
//
//	boost   = min(.15, .20·success rate)
//	penalty = min(.15, .25·failure rate)
//
// excluded is true where the failure rate is above one half. This is the rule as the scoring
// reference states it; live exclusion asks for more ([Rate.Excluded]).
func Adjustment(successRate, failureRate float64) (boost, penalty float64, excluded bool) {
	return min(boostCap, boostRate*successRate), min(penaltyCap, penaltyRate*failureRate), failureRate > exclusion
}

// WilsonLower is the lower end of the 95 % Wilson interval of a share of k in n (real-valued, since
// old outcomes count less than one). n = 0 gives 0.
func WilsonLower(k, n float64) float64 {
	if n <= 0 {
		return 0
	}
	const z2 = wilsonZ * wilsonZ
	p := k / n
	centre := p + z2/(2*n)
	spread := float64(wilsonZ * math.Sqrt(float64(p*(1-p))/n+z2/float64(4*n*n)))
	return max(0, (centre-spread)/(1+z2/n))
}

// Memory holds the known outcomes of calls, by tool and by (tool, tool before it). Tools are dense
// ids. It is mutable; [Memory.Freeze] gives the readable form.
type Memory struct {
	tallies map[pairKey]*tally
	epoch   time.Time // of the first dated observation: decay is counted from here
	newest  time.Time
	sources map[int32]bool
}

// NoTool stands for "nothing before it".
const NoTool int32 = -1

type pairKey struct{ tool, before int32 }

// tally sums outcomes. Dated ones weigh 2^((t-epoch)/30 d), so that one factor brings all of them
// to the newest event; undated ones do not age.
type tally struct {
	aged, flat [2]float64 // [0] successes, [1] failures
	known      [2]int
	sources    []int32 // distinct, at most minSources
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{tallies: map[pairKey]*tally{}, sources: map[int32]bool{}}
}

// Observe counts one known outcome of tool, right after before (NoTool if first). A zero time never
// ages. Source is a dense id of who reported it.
func (m *Memory) Observe(tool int32, before []int32, o Outcome, at time.Time, source int32) {
	if !o.Known() {
		return
	}
	m.sources[source] = true
	m.add(pairKey{tool, NoTool}, o, at, source)
	for i, b := range before {
		if !slices.Contains(before[:i], b) {
			m.add(pairKey{tool, b}, o, at, source)
		}
	}
}

func (m *Memory) add(k pairKey, o Outcome, at time.Time, source int32) {
	t := m.tallies[k]
	if t == nil {
		t = &tally{}
		m.tallies[k] = t
	}
	t.add(o, m.weight(at), at.IsZero(), source)
}

func (t *tally) add(o Outcome, weight float64, ageless bool, source int32) {
	i := 0
	if o == Failure {
		i = 1
	}
	t.known[i]++
	if ageless {
		t.flat[i]++
	} else {
		t.aged[i] += weight
	}
	if len(t.sources) < minSources && !slices.Contains(t.sources, source) {
		t.sources = append(t.sources, source)
	}
}

// weight is 2^((at-epoch)/30 d), kept within the range of a float64 (±1000 half-lives is 82 years).
func (m *Memory) weight(at time.Time) float64 {
	if at.IsZero() {
		return 1
	}
	if m.epoch.IsZero() {
		m.epoch, m.newest = at, at
	}
	if at.After(m.newest) {
		m.newest = at
	}
	return numeric.Exp2(halfLives(at.Sub(m.epoch)))
}

func halfLives(d time.Duration) float64 {
	return max(-1000, min(1000, d.Hours()/24/halfLifeDays))
}

// Rate is what is known of a tool, alone or after another one. Success and Failure are outcomes
// weighed by age (half-life 30 days before the newest event); N and Failures count them.
type Rate struct {
	Success, Failure float64
	N, Failures      int
	Sources          int // distinct, counted up to 3
}

// SuccessRate is the share of successes among the known outcomes; 0 without any.
func (r Rate) SuccessRate() float64 { return share(r.Success, r.Failure) }

// FailureRate is the share of failures among the known outcomes; 0 without any.
func (r Rate) FailureRate() float64 { return share(r.Failure, r.Success) }

func share(a, b float64) float64 {
	if a+b <= 0 {
		return 0
	}
	return a / (a + b)
}

// Excluded reports whether a tool fails so often that it is not suggested: at least 5 known
// outcomes, the lower end of the failure rate's Wilson interval above one half, and at least
// 3 sources that say so where the workspace has 3. One bad first run buries nobody.
func (r Rate) Excluded(sources int) bool {
	return r.N >= MinKnown && r.Failure > r.Success && r.Sources >= min(minSources, sources) &&
		WilsonLower(r.Failure, r.Success+r.Failure) > exclusion
}

// Rates is a memory frozen at one moment, safe for concurrent use: for each tool its own rate, then
// the rates after other tools, sorted by them.
type Rates struct {
	start   []int32 // by tool, into before and rates
	before  []int32
	rates   []Rate
	sources int
}

// Freeze returns the rates as of the newest observation. Tools with another name for the same thing
// are joined: canonical[tool] is the id under which tool is counted.
func (m *Memory) Freeze(canonical []int32) *Rates {
	scale := numeric.Exp2(-halfLives(m.newest.Sub(m.epoch)))
	type joined struct{ as, key pairKey }
	keys := make([]joined, 0, len(m.tallies))
	for k := range m.tallies {
		as := pairKey{canonical[k.tool], k.before}
		if k.before != NoTool {
			as.before = canonical[k.before]
		}
		keys = append(keys, joined{as, k})
	}
	slices.SortFunc(keys, func(a, b joined) int { // joined keys side by side, then as observed
		return cmp.Or(compareKeys(a.as, b.as), compareKeys(a.key, b.key))
	})
	r := &Rates{sources: len(m.sources), start: make([]int32, len(canonical)+1)}
	var sum tally
	for i, k := range keys {
		sum.join(m.tallies[k.key])
		if i+1 < len(keys) && keys[i+1].as == k.as {
			continue
		}
		r.before = append(r.before, k.as.before)
		r.rates = append(r.rates, Rate{
			Success: float64(sum.aged[0]*scale) + sum.flat[0], Failure: float64(sum.aged[1]*scale) + sum.flat[1],
			N: sum.known[0] + sum.known[1], Failures: sum.known[1], Sources: len(sum.sources),
		})
		r.start[k.as.tool+1] = int32(len(r.rates))
		sum = tally{}
	}
	for i := 1; i < len(r.start); i++ {
		r.start[i] = max(r.start[i], r.start[i-1])
	}
	return r
}

func (t *tally) join(u *tally) {
	for i := range t.known {
		t.known[i] += u.known[i]
		t.aged[i] += u.aged[i]
		t.flat[i] += u.flat[i]
	}
	for _, s := range u.sources {
		if len(t.sources) < minSources && !slices.Contains(t.sources, s) {
			t.sources = append(t.sources, s)
		}
	}
}

func compareKeys(a, b pairKey) int {
	return cmp.Or(cmp.Compare(a.tool, b.tool), cmp.Compare(a.before, b.before))
}

// Tool is what is known of a tool, whatever came before it.
func (r *Rates) Tool(tool int32) Rate {
	// NoTool is below every tool, so a tool's own rate stands first.
	if at := r.start[tool]; at < r.start[tool+1] && r.before[at] == NoTool {
		return r.rates[at]
	}
	return Rate{}
}

// After is what is known of a tool right after another one. With fewer than 5 known outcomes of the
// pair the tool's own rate speaks.
func (r *Rates) After(tool, before int32) Rate {
	if before != NoTool {
		at, end := r.start[tool], r.start[tool+1]
		if i, ok := slices.BinarySearch(r.before[at:end], before); ok {
			if pair := r.rates[int(at)+i]; pair.N >= MinKnown {
				return pair
			}
		}
	}
	return r.Tool(tool)
}

// Sources is the number of distinct sources that reported outcomes.
func (r *Rates) Sources() int { return r.sources }

// All yields every rate in order of (tool, tool before).
func (r *Rates) All(yield func(tool, before int32, rate Rate) bool) {
	for tool := range int32(len(r.start) - 1) {
		for i := r.start[tool]; i < r.start[tool+1]; i++ {
			if !yield(tool, r.before[i], r.rates[i]) {
				return
			}
		}
	}
}
