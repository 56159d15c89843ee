package council

import (
	"maps"
	"slices"

	"waymark/score/rubric"
)

// A Ballot is what one reviewer gets to see: the answers of others, without names, in an order of its own.
type Ballot struct {
	Reviewer string
	Order    []string          // ids as shown
	Labels   map[string]string // "A" is shown first, then "B" …
}

// NewBallot shuffles the answers for a reviewer. It depends on seed, reviewer and the set of ids,
// not on their order; other reviewers get other orders. The reviewer's own answers are left out.
func NewBallot(seed int64, reviewer string, responses []Response) Ballot {
	b := Ballot{Reviewer: reviewer, Labels: map[string]string{}}
	for _, r := range responses {
		if r.Author == "" || r.Author != reviewer {
			b.Order = append(b.Order, r.ID)
		}
	}
	slices.Sort(b.Order)
	newRandom(seed, "ballot", reviewer, "1").
		shuffle(len(b.Order), func(i, j int) { b.Order[i], b.Order[j] = b.Order[j], b.Order[i] })
	for i, id := range b.Order {
		b.Labels[label(i)] = id
	}
	return b
}

// LabelOf is the label of the answer shown at position i, from 0 on.
func (b Ballot) LabelOf(i int) string { return label(i) }

// label counts A … Z, AA, AB …
func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return label(i/26-1) + label(i%26)
}

// HolisticScores reads one number for each answer out of a reply to this ballot, by response id.
func (b Ballot) HolisticScores(raw string) map[string]rubric.Decimal {
	n := names{labels: b.Labels, ids: slices.Sorted(slices.Values(b.Order))}
	r := ParseReply(raw)
	var scores map[string]rubric.Decimal
	for _, word := range slices.Sorted(maps.Keys(r.Scores)) {
		id, ok := n.id(word)
		if _, twice := scores[id]; !ok || r.Abstains || twice {
			continue
		}
		if scores == nil {
			scores = map[string]rubric.Decimal{}
		}
		scores[id] = r.Scores[word]
	}
	return scores
}

// Review is the review that this ballot and a reply make.
func (b Ballot) Review(raw string) Review {
	return Review{Reviewer: b.Reviewer, Labels: b.Labels, Raw: raw}
}
