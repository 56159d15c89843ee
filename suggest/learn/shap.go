package learn

// Contributions adds to dst, by feature, what each value of a row adds to its score: the Shapley values of the game in
// which a coalition of features is worth the mean score of the rows of the fit that share them, weighted by how many
// rows went each way (path-dependent TreeSHAP; Lundberg and others, Nature Machine Intelligence 2, 2020, algorithm 2).
// It returns the expected score of any row; that and the contributions add up to [Trees.Score].
func (m *Trees) Contributions(dst []float64, row []float32) (expected float64) {
	var paths [][]step // by depth, reused
	for _, t := range m.trees {
		explain(t, row, dst, 0, 0, &paths, nil, 1, 1, -1)
	}
	return m.expected
}

// step is a feature on the way to a node: zero is the share of rows that follow where it is unknown, one is 1 where the
// row itself follows and else 0, weight is that of coalitions of the size of its place.
type step struct {
	feature           int32
	zero, one, weight float64
}

func explain(t []node, row []float32, dst []float64, at int32, depth int, buffers *[][]step, path []step, zero, one float64, feature int32) {
	for len(*buffers) <= depth {
		*buffers = append(*buffers, make([]step, 0, 16))
	}
	p := append((*buffers)[depth][:0], path...)
	(*buffers)[depth] = p
	p = extend(p, zero, one, feature)
	n := &t[at]
	if n.feature < 0 {
		for i := 1; i < len(p); i++ {
			dst[p[i].feature] += float64(float64(unwound(p, i)*(p[i].one-p[i].zero)) * float64(n.value))
		}
		return
	}
	hot, cold := n.left, n.left+1
	if row[n.feature] > n.threshold {
		hot, cold = cold, hot
	}
	zero, one = 1, 1
	for i := 1; i < len(p); i++ {
		if p[i].feature == n.feature { // a feature that was split on before counts once
			zero, one = p[i].zero, p[i].one
			p = unwind(p, i)
			break
		}
	}
	share := func(child int32) float64 {
		if n.cover == 0 {
			return 0
		}
		return float64(t[child].cover) / float64(n.cover)
	}
	explain(t, row, dst, hot, depth+1, buffers, p, float64(zero*share(hot)), one, n.feature)
	explain(t, row, dst, cold, depth+1, buffers, p, float64(zero*share(cold)), 0, n.feature)
}

// extend adds a feature to the coalitions of a path.
func extend(p []step, zero, one float64, feature int32) []step {
	d := len(p)
	p = append(p, step{feature, zero, one, 0})
	if d == 0 {
		p[0].weight = 1
	}
	for i := d - 1; i >= 0; i-- {
		p[i+1].weight += float64(one * p[i].weight * float64(i+1) / float64(d+1))
		p[i].weight = zero * p[i].weight * float64(d-i) / float64(d+1)
	}
	return p
}

// unwind undoes extend for the feature at place i.
func unwind(p []step, i int) []step {
	d := len(p) - 1
	one, zero, next := p[i].one, p[i].zero, p[d].weight
	for j := d - 1; j >= 0; j-- {
		w := p[j].weight
		switch {
		case one != 0:
			p[j].weight = next * float64(d+1) / float64(float64(j+1)*one)
			next = w - float64(p[j].weight*zero*float64(d-j)/float64(d+1))
		case zero != 0:
			p[j].weight = w * float64(d+1) / float64(zero*float64(d-j))
		default:
			p[j].weight = 0
		}
	}
	for j := i; j < d; j++ {
		p[j].feature, p[j].zero, p[j].one = p[j+1].feature, p[j+1].zero, p[j+1].one
	}
	return p[:d]
}

// unwound is the sum of the weights of a path without the feature at place i.
func unwound(p []step, i int) (total float64) {
	var buffer [16]step
	rest := unwind(append(buffer[:0], p...), i)
	for j := len(rest) - 1; j >= 0; j-- {
		total += rest[j].weight
	}
	return total
}
