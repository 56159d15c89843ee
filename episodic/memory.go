package episodic

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"waymark/internal/numeric"
)

// The rules of the scoring reference 3.3 ("episodic learning"). The reference chooses the multipliers and caps
// (make validation measures them); above the exclusion rate there are more failures than successes.
const (
	boostRate    = 0.20
	boostCap     = 0.15
	penaltyRate  = 0.25
	penaltyCap   = 0.15
	exclusion    = 0.50
	halfLifeDays = 30
	MinKnown     = 5  // known outcomes required to use the rate of a pair or to exclude a tool
	minSources   = 3  // sources in which a tool must mostly fail to be excluded, if the workspace has that many
	mostShare    = .5 // most weight of an untrusted source, as a share of the weight of all other sources
)

// Adjustment returns the boost and the penalty of a confidence by past outcomes,
//
//	boost   = min(.15, .20·success rate)
//	penalty = min(.15, .25·failure rate)
//
// excluded is true if the failure rate is above one half. This is the rule of the scoring reference; the
// exclusion that answers apply has more conditions ([Rate.Excluded]).
func Adjustment(successRate, failureRate float64) (boost, penalty float64, excluded bool) {
	return min(boostCap, boostRate*successRate), min(penaltyCap, penaltyRate*failureRate), failureRate > exclusion
}

// Memory holds the known outcomes of calls, by tool and by (tool, tool before it). Tools are dense
// ids. It is mutable; [Memory.Freeze] returns the readable form, which shares unchanged rows with
// earlier forms.
type Memory struct {
	rows    [][]tally         // by tool, sorted by the tool before; NoTool, for the tool alone, comes first
	changed map[int32]bool    // tools observed since the last Freeze
	canon   []int32           // by tool, the tool it is counted as; a tool beyond the list is counted as itself
	spelled map[int32][]int32 // by tool, the other tools counted as it, ascending
	frozen  List[[]tally]     // by the tool it is counted as; these rows are never written to
	epoch   time.Time         // time of the first dated observation, from which decay is counted
	newest  time.Time
	sources map[int32]bool
	trusted map[int32]bool
}

// NoTool stands for "nothing before it".
const NoTool int32 = -1

// tally sums the outcomes of a tool after another one, by source. Snapshots store the exported fields.
type tally struct {
	Before int32
	By     []bySource // sorted by source; never changed in place, because images and frozen rows share it
}

// bySource holds the outcomes that one source reported. A dated outcome weighs 2^((t-epoch)/30 d), so that one common
// factor discounts all of them to the time of the newest event; undated outcomes do not age.
type bySource struct {
	Source     int32
	Known      [2]int32 // [0] successes, [1] failures
	Aged, Flat [2]float64
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{changed: map[int32]bool{}, sources: map[int32]bool{}, trusted: map[int32]bool{}}
}

// Trust declares a source to be the operator's own: its outcomes count in full and can exclude a tool without other
// sources.
func (m *Memory) Trust(source int32) { m.trusted[source] = true }

// Observe counts one known outcome of tool, alone and right after each tool of before (empty for a first step). An
// outcome with a zero time does not age. Source is the dense id of the reporter.
func (m *Memory) Observe(tool int32, before []int32, o Outcome, at time.Time, source int32) {
	if !o.Known() {
		return
	}
	m.sources[source] = true
	m.mark(tool)
	weight := m.weight(at)
	m.tally(tool, NoTool).add(o, weight, at.IsZero(), source)
	for i, b := range before {
		if !slices.Contains(before[:i], b) {
			m.tally(tool, b).add(o, weight, at.IsZero(), source)
		}
	}
}

// ObserveAfter counts an outcome of tool that was observed earlier for another predecessor as well: one whose
// call was not recorded yet at that time.
func (m *Memory) ObserveAfter(tool, before int32, o Outcome, at time.Time, source int32) {
	if !o.Known() {
		return
	}
	m.mark(tool)
	m.tally(tool, before).add(o, m.weight(at), at.IsZero(), source)
}

// mark adds a tool to changed and makes room for its row.
func (m *Memory) mark(tool int32) {
	for len(m.rows) <= int(tool) {
		m.rows = append(m.rows, nil)
	}
	m.changed[tool] = true
}

// tally returns the counts of a pair for writing.
func (m *Memory) tally(tool, before int32) *tally {
	row := m.rows[tool]
	i, ok := find(row, before)
	if !ok {
		row = slices.Insert(row, i, tally{Before: before})
		m.rows[tool] = row
	}
	return &row[i]
}

func find(row []tally, before int32) (int, bool) {
	return slices.BinarySearchFunc(row, before, func(t tally, before int32) int { return cmp.Compare(t.Before, before) })
}

// add counts one outcome of a source: index 0 is success, 1 failure. Outcomes without a time do not lose
// weight (Flat). Lists by source are never changed in place, because images and frozen rows share them.
func (t *tally) add(o Outcome, weight float64, ageless bool, source int32) {
	i := 0
	if o == Failure {
		i = 1
	}
	one := bySource{Source: source}
	one.Known[i] = 1
	if ageless {
		one.Flat[i] = 1
	} else {
		one.Aged[i] = weight
	}
	t.By = joinSources(t.By, []bySource{one})
}

// joinSources returns a new list with the sums of two lists by source.
func joinSources(x, y []bySource) []bySource {
	sum := make([]bySource, 0, len(x)+len(y))
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].Source < y[0].Source:
			sum, x = append(sum, x[0]), x[1:]
		case x[0].Source > y[0].Source:
			sum, y = append(sum, y[0]), y[1:]
		default:
			both := x[0]
			for i := range both.Known {
				both.Known[i] += y[0].Known[i]
				both.Aged[i] += y[0].Aged[i]
				both.Flat[i] += y[0].Flat[i]
			}
			sum, x, y = append(sum, both), x[1:], y[1:]
		}
	}
	return slices.Clip(append(append(sum, x...), y...))
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

// Rate sums the known outcomes of a tool, alone or after another one. Success and Failure are weighted by age
// (half-life 30 days, counted back from the newest event). If the workspace has three sources or more, the outcomes of
// an untrusted source weigh at most as much as those of an average other source and at most half as much as those of
// all others together; so they weigh nothing if no other source reports any. N and Failures are unweighted counts.
type Rate struct {
	Success, Failure float64
	N, Failures      int
	Sources          int // distinct sources
	Failing          int // sources that report more failures than successes; a trusted one counts as 3
}

// SuccessRate is the share of successes among the known outcomes; 0 without any.
func (r Rate) SuccessRate() float64 { return share(r.Success, r.Failure) }

// Known is the number of known outcomes. It is 0 if they have no weight, because one untrusted source alone reports
// them.
func (r Rate) Known() int {
	if r.Success+r.Failure == 0 {
		return 0
	}
	return r.N
}

// FailureRate is the share of failures among the known outcomes; 0 without any.
func (r Rate) FailureRate() float64 { return share(r.Failure, r.Success) }

func share(a, b float64) float64 {
	if a+b <= 0 {
		return 0
	}
	return a / (a + b)
}

// Excluded reports whether a tool fails so often that it is not suggested: it has at least 5 known
// outcomes, the lower bound of its failure rate is above one half, and it mostly fails in at least 3
// sources (all sources, if the workspace has fewer). So one bad first run does not exclude a tool, and neither does a
// single untrusted source among several.
func (r Rate) Excluded(sources int) bool {
	_, _, bound := r.FailureBound()
	return r.N >= MinKnown && r.Failure > r.Success && r.Failing >= min(minSources, sources) && bound > exclusion
}

// FailureBound returns the lower end of the 95 % Wilson interval of the failure rate, and the age-weighted failures
// and known outcomes that it is computed from. All three are rounded to four decimals, so that a reader can compute
// the same bound, and hence the same decision, from the two counts.
func (r Rate) FailureBound() (failed, known, bound float64) {
	failed = decimals(r.Failure)
	known = decimals(decimals(r.Success) + failed)
	return failed, known, decimals(numeric.WilsonLower(failed, known, numeric.Z95))
}

func decimals(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// Join makes the memory count several names of one tool together: canonical[tool] is the id under which
// tool is counted, and spelled lists the other ids that are counted under an id, ascending. A tool beyond the list is
// counted as itself. The next Freeze copies every row of the memory.
func (m *Memory) Join(canonical []int32, spelled map[int32][]int32) {
	m.canon, m.spelled, m.frozen = canonical, spelled, List[[]tally]{}
	for tool := range m.rows {
		m.mark(int32(tool))
	}
}

func (m *Memory) as(tool int32) int32 {
	if tool >= 0 && int(tool) < len(m.canon) {
		return m.canon[tool]
	}
	return tool
}

// Freeze returns the rates as of the newest observation. Its cost is that of copying the rows of the tools
// observed since the last Freeze.
func (m *Memory) Freeze() *Rates {
	for tool := range m.changed {
		as := m.as(tool)
		m.frozen.Set(as, m.joined(as))
	}
	clear(m.changed)
	return &Rates{
		rows: m.frozen.Freeze(), tools: int32(max(len(m.rows), len(m.canon))), sources: len(m.sources), trusted: maps.Clone(m.trusted),
		scale: numeric.Exp2(-halfLives(m.newest.Sub(m.epoch))),
	}
}

// joined returns a copy of the row of a tool, merged with the rows of all tools counted as it.
func (m *Memory) joined(tool int32) []tally {
	if len(m.spelled) == 0 {
		return slices.Clone(m.rows[tool])
	}
	var all []tally
	for _, t := range append([]int32{tool}, m.spelled[tool]...) {
		if int(t) < len(m.rows) {
			all = append(all, m.rows[t]...)
		}
	}
	slices.SortStableFunc(all, func(a, b tally) int { return cmp.Compare(m.as(a.Before), m.as(b.Before)) })
	row := all[:0]
	for _, t := range all {
		t.Before = m.as(t.Before)
		if last := len(row) - 1; last >= 0 && row[last].Before == t.Before {
			row[last].By = joinSources(row[last].By, t.By)
		} else {
			row = append(row, t)
		}
	}
	return slices.Clip(row)
}

// Rates is a memory frozen at one moment: for each tool its own rate, and the rates after other tools. It is
// safe for concurrent use.
type Rates struct {
	rows    View[[]tally]
	tools   int32
	sources int
	trusted map[int32]bool
	scale   float64 // factor that discounts aged weights to the time of the newest event
}

// rate sums the outcomes of the sources in their order. A source counts as failing if more than half of its known
// outcomes failed; a trusted one counts as minSources failing sources.
func (r *Rates) rate(sources []bySource) (rate Rate) {
	var aged, flat [2]float64
	for i := range sources {
		by := &sources[i]
		for k := range aged {
			aged[k] += by.Aged[k]
			flat[k] += by.Flat[k]
		}
		rate.N += int(by.Known[0] + by.Known[1])
		rate.Failures += int(by.Known[1])
		switch {
		case by.Known[1] <= by.Known[0]:
		case r.trusted[by.Source]:
			rate.Failing += minSources
		default:
			rate.Failing++
		}
	}
	rate.Sources = len(sources)
	rate.Success, rate.Failure = float64(aged[0]*r.scale)+flat[0], float64(aged[1]*r.scale)+flat[1]
	if r.sources >= minSources {
		r.limit(sources, &rate)
	}
	return rate
}

// limit reduces the weight of each untrusted source to its share of the weight of all others, before they are limited.
func (r *Rates) limit(sources []bySource, rate *Rate) {
	total, share := rate.Success+rate.Failure, min(mostShare, 1/float64(len(sources)-1))
	for i := range sources {
		by := &sources[i]
		success, failure := float64(by.Aged[0]*r.scale)+by.Flat[0], float64(by.Aged[1]*r.scale)+by.Flat[1]
		own := success + failure
		if most := share * (total - own); own > most && !r.trusted[by.Source] {
			rate.Success -= float64(success * (1 - most/own))
			rate.Failure -= float64(failure * (1 - most/own))
		}
	}
	rate.Success, rate.Failure = max(rate.Success, 0), max(rate.Failure, 0)
}

// agreed counts the known outcomes without those of the untrusted source that reports the most, so that one source
// cannot decide whether the rate of a pair is used. If the workspace has fewer than minSources sources, it counts all
// of them.
func (r *Rates) agreed(sources []bySource) (known int) {
	most := 0
	for i := range sources {
		n := int(sources[i].Known[0] + sources[i].Known[1])
		known += n
		if !r.trusted[sources[i].Source] {
			most = max(most, n)
		}
	}
	if r.sources >= minSources {
		known -= most
	}
	return known
}

// Tool returns the rate of a tool after any predecessor.
func (r *Rates) Tool(tool int32) Rate { return r.own(r.rows.At(tool)) }

// own returns the rate of a tool after any predecessor: the first tally of its row, for before = NoTool.
func (r *Rates) own(row []tally) Rate {
	if len(row) == 0 {
		return Rate{}
	}
	return r.rate(row[0].By) // every observation is also counted under NoTool
}

// After returns the rate of a tool right after another one: the rate of the pair if it has at least 5 known outcomes,
// else that of the tool. In a workspace with three sources or more, the outcomes of the untrusted source that reports
// the most do not count towards the 5.
func (r *Rates) After(tool, before int32) Rate {
	row := r.rows.At(tool)
	if before != NoTool {
		if i, ok := find(row, before); ok && r.agreed(row[i].By) >= MinKnown {
			return r.rate(row[i].By)
		}
	}
	return r.own(row)
}

// Sources is the number of distinct sources that reported outcomes.
func (r *Rates) Sources() int { return r.sources }

// All yields every rate, ordered by (tool, tool before).
func (r *Rates) All(yield func(tool, before int32, rate Rate) bool) {
	for tool := range r.tools {
		row := r.rows.At(tool)
		for i := range row {
			if !yield(tool, row[i].Before, r.rate(row[i].By)) {
				return
			}
		}
	}
}
