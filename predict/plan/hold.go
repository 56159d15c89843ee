package plan

import "waymark/predict/logit"

// fewer is up to how many requests it is asked how tightly the weights of signals are held; more find them
// whatever holds them.
const fewer = 500

// tightness are the choices beside 1.
var tightness = [...]float64{5, 25}

// hold chooses how tightly the weights of signals are held: so that either half of the requests foresees the
// other best. There are as many signals as a short history has tasks.
func (f *fit) hold() {
	f.held = 1
	if len(f.sample) < 2 || len(f.sample) > fewer {
		return
	}
	var halves [2][]*request
	for k, q := range f.sample {
		halves[k%2] = append(halves[k%2], q)
	}
	data := [2]logit.Data{f.scores(halves[0]), f.scores(halves[1])}
	best := f.foreseen(data, 1)
	for _, held := range tightness {
		if f.stopped.Load() {
			return
		}
		if l := f.foreseen(data, held); l < best {
			best, f.held = l, held
		}
	}
}

// foreseen is the loss of both halves, each by the weights of the other.
func (f *fit) foreseen(halves [2]logit.Data, held float64) float64 {
	sum := 0.0
	for h, d := range halves {
		if m := f.regress(d, penalty*held); m != nil {
			sum += loss(m, halves[1-h])
		}
	}
	return sum
}
