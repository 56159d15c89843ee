package plan

import (
	"waymark/internal/codec"
	"waymark/learn/labels"
)

// view is a ridge regression and a nearest-neighbour index over one vocabulary of past requests.
type view struct {
	vocab *labels.Vocabulary
	rows  []labels.Vector // nil once nothing is fitted any more
	ridge *labels.Ridge
	near  *labels.Nearest
}

// reading is what a view says of a request.
type reading struct {
	ridge []float64 // by label
	near  []labels.Neighbour
	vote  map[int32]float64 // by tool
}

// fit fits the view to n labels of its rows. It reports whether it came to its end.
func (v *view) fit(y [][]labels.Label, n int, stop func() bool) bool {
	v.ridge = labels.FitRidgeUntil(v.rows, v.vocab.Len(), y, n, nil, lambda, stop)
	v.near = labels.NewNearest(v.rows, v.vocab.Len())
	return v.ridge != nil
}

// scores are those of x, a request or a part of one, by all past requests but own.
func (v *view) scores(own int32, x labels.Vector) []float64 {
	if own < 0 {
		return v.ridge.Scores(nil, x)
	}
	return v.ridge.LeaveOneOutScores(nil, int(own), v.rows[own], x)
}

// weight is what a unit of a feature adds to the score of a label, by all past requests but own.
func (v *view) weight(own, feature, label int32) float64 {
	if own < 0 {
		return v.ridge.Weight(feature, label)
	}
	return v.ridge.LeaveOneOutWeight(feature, label, int(own), v.rows[own].At(feature))
}

// read is what a view says of a request that has x there.
func (q *request) read(v *view, x labels.Vector) reading {
	r := reading{v.scores(q.own, x), v.near.Of(x, neighbours, q.own), map[int32]float64{}}
	for _, l := range labels.Vote(r.near, q.m.y) {
		r.vote[q.m.dense.tool[l.Label]] = l.Value
	}
	return r
}

func (v *view) forget() {
	v.ridge.Forget()
	v.rows = nil
}

func (v *view) write(w *codec.Writer) {
	v.vocab.Write(w)
	v.ridge.Write(w)
	v.near.Write(w)
}

// readView reads what write wrote of so many past requests and labels.
func readView(r *codec.Reader, requests, n int) view {
	v := view{vocab: labels.ReadVocabulary(r)}
	v.ridge = labels.ReadRidge(r, v.vocab.Len(), n)
	v.near = labels.ReadNearest(r, requests, v.vocab.Len())
	return v
}
