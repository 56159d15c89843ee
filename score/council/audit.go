package council

import (
	"math"
	"slices"

	"waymark/internal/numeric"
)

// A BiasAudit tests for influence of length, display position and reviewer on the scores before ceilings. The tests are
// permutation tests, exact for small numbers; they report nothing for too few answers, since with four answers no order
// is rarer than 1 in 12.
type BiasAudit struct {
	Risk      Risk            `json:"risk"`
	Flags     []string        `json:"flags"` // length, position, reviewer:<name>
	Length    Association     `json:"length"`
	Position  PositionAudit   `json:"position"`
	Reviewers []ReviewerAudit `json:"reviewers"` // by name
}

// Risk summarises the flags.
type Risk string

const (
	riskUnknown Risk = "unknown" // nothing could be tested
	riskLow     Risk = "low"     // no flag
	riskMedium  Risk = "medium"  // one or two
	riskHigh    Risk = "high"    // three or more
)

// An Association is Pearson's r with its two-sided p by permutation. It is flagged if |r| > .3 and p < .05.
type Association struct {
	R       *float64 `json:"r"`
	P       *float64 `json:"p"`
	N       int      `json:"n"` // answers, or displayed answers
	Flagged bool     `json:"flagged"`
	Note    string   `json:"note,omitempty"` // reason for a missing result
}

// PositionAudit correlates the display position of an answer with the difference of its score to the mean of the other
// reviewers. A negative r favours answers displayed first.
type PositionAudit struct {
	Association
	ByPosition []PlaceMean `json:"by_position"`
}

// PlaceMean is the mean difference at one display position, from 0.
type PlaceMean struct {
	Position   int     `json:"position"`
	Difference float64 `json:"difference"`
	N          int     `json:"n"`
}

// ReviewerAudit compares one reviewer with the others on shared answers.
type ReviewerAudit struct {
	Reviewer string   `json:"reviewer"`
	Mean     *float64 `json:"mean"`     // of all scores given
	Distance *float64 `json:"distance"` // (mean − median of means) / sample deviation of means; it alone flags nobody
	Effect   *float64 `json:"effect"`   // mean difference to the others' mean of the same answer
	P        *float64 `json:"p"`        // by sign flips, times the number of reviewers tested
	N        int      `json:"n"`        // answers shared
	Flag     string   `json:"flag"`     // harsh, generous or empty
	Note     string   `json:"note,omitempty"`
}

// The thresholds of a flag.
const (
	minR = .3
	maxP = .05
)

func (p *panel) random(what string) *random { return newRandom(p.in.Options.Seed, what) }

func (p *panel) audit() BiasAudit {
	given := p.given()
	a := BiasAudit{Flags: []string{}, Length: p.lengthBias(given), Position: p.positionBias(given), Reviewers: p.reviewerBias(given)}
	tested := a.Length.P != nil || a.Position.P != nil
	if a.Length.Flagged {
		a.Flags = append(a.Flags, "length")
	}
	if a.Position.Flagged {
		a.Flags = append(a.Flags, "position")
	}
	for _, r := range a.Reviewers {
		tested = tested || r.P != nil
		if r.Flag != "" {
			a.Flags = append(a.Flags, "reviewer:"+r.Reviewer)
		}
	}
	switch n := len(a.Flags); {
	case !tested:
		a.Risk = riskUnknown
	case n == 0:
		a.Risk = riskLow
	case n < 3:
		a.Risk = riskMedium
	default:
		a.Risk = riskHigh
	}
	return a
}

// given returns the uncapped scores of each answer by reviewer in the order of p.counted, NaN for none.
func (p *panel) given() map[string][]float64 {
	given := map[string][]float64{}
	for _, id := range p.ids {
		x := make([]float64, len(p.counted))
		for i, v := range p.counted {
			x[i] = math.NaN()
			if m, ok := v.marks[id]; ok {
				x[i] = float(m.uncapped)
			}
		}
		given[id] = x
	}
	return given
}

// meanOf is the mean of the numbers in x, except that at skip; n says how many they are. Sorted, because
// the sum must not depend on the names of reviewers.
func meanOf(x []float64, skip int) (m float64, n int) {
	var present []float64
	for i, v := range x {
		if i != skip && !math.IsNaN(v) {
			present = append(present, v)
		}
	}
	slices.Sort(present)
	return numeric.Sum(present) / float64(len(present)), len(present)
}

// test sets r and p, or the note why they are missing.
func (a *Association) test(rho, p float64, ok bool, why string) {
	if !ok {
		a.Note = why
		return
	}
	a.R, a.P = &rho, &p
	a.Flagged = math.Abs(rho) > minR && p < maxP
}

func (p *panel) lengthBias(given map[string][]float64) Association {
	var lengths, scores []float64
	for _, id := range p.ids {
		if m, n := meanOf(given[id], -1); n > 0 && p.words[id] > 0 {
			lengths, scores = append(lengths, float64(p.words[id])), append(scores, m)
		}
	}
	a := Association{N: len(lengths)}
	if len(lengths) < 5 {
		a.Note = "fewer than five answers with text and score: no order of them would be rare"
		return a
	}
	rho, prob, ok := correlation(lengths, scores, p.random("length"))
	a.test(rho, prob, ok, "lengths or scores do not vary")
	return a
}

// positionBias correlates places and differences within each review, since that is what was shuffled.
func (p *panel) positionBias(given map[string][]float64) PositionAudit {
	a := PositionAudit{ByPosition: []PlaceMean{}}
	var places, differences [][]float64 // by review
	at := map[int][]float64{}
	shownAt := map[string]map[int]bool{}
	for i, v := range p.counted {
		var place, difference []float64
		for _, id := range p.ids {
			pos, ok := v.position[id]
			if _, scored := v.marks[id]; !ok || !scored {
				continue
			}
			x := given[id]
			others, n := meanOf(x, i)
			if n == 0 {
				continue
			}
			if shownAt[id] == nil {
				shownAt[id] = map[int]bool{}
			}
			shownAt[id][pos] = true
			place, difference = append(place, float64(pos)), append(difference, x[i]-others)
			at[pos] = append(at[pos], x[i]-others)
			a.N++
		}
		if len(place) > 1 {
			places, differences = append(places, centred(place)), append(differences, centred(difference))
		}
	}
	positions := make([]int, 0, len(at))
	for pos := range at {
		positions = append(positions, pos)
	}
	slices.Sort(positions)
	for _, pos := range positions {
		m, n := meanOf(at[pos], -1)
		a.ByPosition = append(a.ByPosition, PlaceMean{pos, m, n})
	}
	moved := 0
	for _, places := range shownAt {
		if len(places) > 1 {
			moved++
		}
	}
	switch {
	case a.N == 0:
		a.Note = "no review says in which order answers were shown, or none shares an answer with another"
		return a
	case moved == 0:
		a.Note = "every answer was shown at one place only: place and quality cannot be distinguished"
		return a
	}
	rho, prob, ok := within(places, differences, p.random("position"))
	a.test(rho, prob, ok, "the differences do not vary")
	return a
}

// within is the correlation of centred groups pooled, with its p by permutation inside each group.
func within(x, y [][]float64, r *random) (rho, p float64, ok bool) {
	var sizes []int
	var sxx, syy, sxy []float64
	for g := range x {
		sizes = append(sizes, len(x[g]))
		sxx, syy = append(sxx, numeric.Dot(x[g], x[g])), append(syy, numeric.Dot(y[g], y[g]))
		sxy = append(sxy, numeric.Dot(x[g], y[g]))
	}
	norm := math.Sqrt(sorted(sxx) * sorted(syy))
	if norm < slack {
		return 0, 0, false
	}
	seen := sorted(sxy)
	p = arrangements(sizes, r, func(order [][]int) bool {
		sums := make([]float64, len(order))
		for g, o := range order {
			for i, j := range o {
				sums[g] += float64(x[g][i] * y[g][j])
			}
		}
		return math.Abs(sorted(sums)) >= math.Abs(seen)-float64(slack*norm)
	})
	return max(-1, min(1, seen/norm)), p, true
}

// sorted is the sum of x in increasing order. It sorts x.
func sorted(x []float64) float64 {
	slices.Sort(x)
	return numeric.Sum(x)
}

func (p *panel) reviewerBias(given map[string][]float64) []ReviewerAudit {
	audits := []ReviewerAudit{}
	var means []float64
	var tests []int // index in audits
	for i, v := range p.counted {
		if len(v.marks) == 0 {
			continue
		}
		a := ReviewerAudit{Reviewer: v.reviewer}
		var all, differences []float64
		for _, id := range p.ids {
			x := given[id]
			if math.IsNaN(x[i]) {
				continue
			}
			all = append(all, x[i])
			if others, n := meanOf(x, i); n > 1 {
				differences = append(differences, x[i]-others)
			}
		}
		m, _ := meanOf(all, -1)
		a.Mean, a.N = &m, len(differences)
		means = append(means, m)
		if len(differences) > 0 {
			a.Effect = new(sorted(slices.Clone(differences)) / float64(len(differences)))
		}
		if len(differences) >= 6 {
			slices.Sort(differences)
			a.P = new(signs(differences, p.random("reviewer")))
			tests = append(tests, len(audits))
		} else {
			a.Note = "fewer than six answers that two others have scored: not enough to flag anybody"
		}
		audits = append(audits, a)
	}
	for i, d := range distances(means) {
		audits[i].Distance = d
	}
	for _, i := range tests {
		a := &audits[i]
		*a.P = min(1, *a.P*float64(len(tests)))
		if *a.P < maxP {
			a.Flag = "generous"
			if *a.Effect < 0 {
				a.Flag = "harsh"
			}
		}
	}
	return audits
}

// distances are (x − median of x) / sample deviation of x, unknown for fewer than three or equal ones.
func distances(x []float64) []*float64 {
	d := make([]*float64, len(x))
	if len(x) < 3 {
		return d
	}
	s := slices.Clone(x)
	slices.Sort(s)
	median := (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	sd := numeric.Norm(centred(s)) / math.Sqrt(float64(len(s)-1))
	if sd < .001 {
		return d
	}
	for i, v := range x {
		d[i] = new((v - median) / sd)
	}
	return d
}
