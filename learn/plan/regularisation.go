package plan

import "waymark/learn/logit"

// fewer is up to how many requests it is asked how tightly the weights of signals are held; more find them
// whatever holds them.
const fewer = 500

// strengths are the regularisation strengths that are tried besides 1.
var strengths = [...]float64{5, 25}

// selectRegularisation selects the regularisation strength by two-fold cross-validation: each half of the requests predicts the
// other best. There are as many signals as a short history has tasks.
func (f *fit) selectRegularisation() {
	f.regularisation = 1
	if len(f.sample) < 2 || len(f.sample) > fewer {
		return
	}
	var halves [2][]*request
	for k, q := range f.sample {
		halves[k%2] = append(halves[k%2], q)
	}
	data := [2]logit.Data{f.scores(halves[0]), f.scores(halves[1])}
	var fitted [2]*logit.Model
	best := f.crossLoss(data, &fitted, 1)
	for _, held := range strengths {
		if f.stopped.Load() {
			return
		}
		if l := f.crossLoss(data, &fitted, held); l < best {
			best, f.regularisation = l, held
		}
	}
}

// crossLoss is the loss of both halves, each by the weights of the other, which are fitted from what they were
// on.
func (f *fit) crossLoss(halves [2]logit.Data, fitted *[2]*logit.Model, held float64) float64 {
	sum := 0.0
	for h, d := range halves {
		if fitted[h] = f.regressFrom(d, penalty*held, fitted[h]); fitted[h] != nil {
			sum += loss(fitted[h], halves[1-h])
		}
	}
	return sum
}
