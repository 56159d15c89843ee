package semantic

// Bounds and scores are rounded differently, by less than this.
const rounding = 1e-9

// Top appends the k best documents to dst, by falling score and then by number. Documents that have
// nothing in common with the query are left out.
//
// No document is missed, but most are never measured. A score is at least its lexical part, so the
// k-th best lexical part is a score that the k-th hit reaches for certain, and the k-th best so far is
// another; whoever cannot reach it with the largest cosine that his code allows is passed over.
func (q *Query) Top(dst []Hit, k int) []Hit {
	ix := q.ix
	if k = min(k, ix.docs); k <= 0 {
		return dst
	}
	rest := 1.0 // of the distance to 1, with cosines of 1
	if len(q.folded) > 0 {
		rest = 1 - ix.latentWeight
	}
	if len(q.outside) > 0 {
		rest = float64(rest * (1 - ix.options.VectorWeight))
	}
	if rest == 1 {
		return q.topLexical(dst, k)
	}
	q.count()
	first := len(dst)
	certain := q.share(q.largest(q.touched, k))
	others := 1-rest >= certain-rounding // documents without a word in common may be among the hits
	inQuestion := q.kept[:0]
	for _, d := range q.touched {
		if 1-float64((1-q.share(q.lexical[d]))*rest) >= certain-rounding {
			inQuestion = append(inQuestion, d)
		}
	}
	q.kept = inQuestion
	if others || len(inQuestion) > ix.docs/8 {
		q.bound()
	}
	try := func(d int32, lexical float64) {
		latent, vector := 1.0, 1.0
		if len(q.scanLatent.dots) > 0 && q.bounded {
			latent = above(ix.latent.docs.floor, q.scanLatent.most(&ix.latent.docs, d))
		}
		if len(q.scanVector.dots) > 0 && q.bounded {
			vector = above(ix.vectors.floor, q.scanVector.most(&ix.vectors.space, d))
		}
		if len(q.folded) == 0 {
			latent = 0
		}
		if len(q.outside) == 0 {
			vector = 0
		}
		if q.score(lexical, latent, vector) < certain-rounding {
			return
		}
		if h := q.hit(d, q.lexical[d]); h.Score > 0 {
			dst = keepBest(dst, first, k, h)
			if len(dst)-first == k {
				certain = max(certain, dst[first].Score)
			}
		}
	}
	for _, d := range inQuestion {
		if lexical := q.share(q.lexical[d]); 1-float64((1-lexical)*rest) >= certain-rounding {
			try(d, lexical)
		}
	}
	switch {
	case 1-rest < certain-rounding:
	case len(q.outside) == 0 && q.bounded && len(q.scanLatent.dots) > 0:
		q.near(certain, func(d int32) float64 { try(d, 0); return certain })
	default:
		for d := range int32(ix.docs) {
			if q.lexical[d] == 0 {
				try(d, 0)
			}
		}
	}
	sortHits(dst[first:])
	return dst
}

// bound makes the scans that the index has codes for.
func (q *Query) bound() {
	if q.bounded {
		return
	}
	q.bounded = true
	q.scanLatent.dots, q.scanVector.dots = q.scanLatent.dots[:0], q.scanVector.dots[:0]
	if len(q.folded) > 0 {
		q.scanLatent.run(&q.ix.latent.docs, q.folded)
	}
	if len(q.outside) > 0 {
		q.scanVector.run(&q.ix.vectors.space, q.outside)
	}
}

// near calls try for the documents without a word in common whose cosine in the latent space may
// suffice for a score of certain. try returns the score that a hit must reach from then on.
func (q *Query) near(certain float64, try func(d int32) float64) {
	s, c := &q.ix.latent.docs, &q.scanLatent
	// The cosine that gives a score: score = wL·above(floor, cosine).
	need := func(score float64) float64 {
		return s.floor + float64((1-s.floor)*((score-rounding)/q.ix.latentWeight)) - c.slack - rounding
	}
	scale, slack := s.codes.scale[:len(c.dots)], s.codes.slack[:len(c.dots)]
	least := need(certain)
	for d, dot := range c.dots {
		if float64(float64(float64(dot)*float64(scale[d]))*c.unit)+float64(slack[d]) >= least && q.lexical[d] == 0 {
			least = need(try(int32(d)))
		}
	}
}

// largest is the k-th largest sum of the documents, 0 if there are fewer than k.
func (q *Query) largest(docs []int32, k int) float64 {
	if len(docs) < k {
		return 0
	}
	low := q.lowest[:0] // a heap with the smallest on top
	for _, d := range docs[:k] {
		low = append(low, q.lexical[d])
		for i := len(low) - 1; i > 0 && low[i] < low[(i-1)/2]; i = (i - 1) / 2 {
			low[i], low[(i-1)/2] = low[(i-1)/2], low[i]
		}
	}
	least := low[0]
	for _, d := range docs[k:] {
		if sum := q.lexical[d]; sum > least {
			low[0] = sum
			sift(low, func(a, b float64) bool { return a < b })
			least = low[0]
		}
	}
	q.lowest = low
	return least
}

// topLexical is Top where only words count. Once what the remaining terms can add is less than the
// k-th best sum, no further document can be among the hits (Turtle and Flood, "Query evaluation:
// strategies and optimizations", Information Processing & Management 31, 1995): the remaining terms
// are looked up in the documents still in question, and their lists are not walked.
func (q *Query) topLexical(dst []Hit, k int) []Hit {
	terms, x := q.words.terms, q.ix.lexical
	inQuestion := q.touched
	if !q.counted {
		remaining, j := float64(q.attainable*(1+rounding)), 0 // more than what rounding may add
		for ; j < len(terms); j++ {
			t := &terms[j]
			if n := int(x.lists[t.term].n); j > 0 && n > 64 && 2*n > len(q.touched) && len(q.touched) >= k {
				if bar := q.largest(q.touched, k); remaining < bar*(1-rounding) {
					inQuestion = q.reduce(q.kept[:0], q.touched, bar-remaining)
					break
				}
			}
			q.add(t)
			remaining -= t.most
			inQuestion = q.touched
		}
		for ; j < len(terms); j++ {
			t := &terms[j]
			for _, d := range inQuestion {
				if w := x.find(t.term, d); w > 0 {
					q.lexical[d] += float64(t.weight * float64(w))
				}
			}
			if remaining -= t.most; j+1 < len(terms) {
				inQuestion = q.reduce(inQuestion[:0], inQuestion, q.largest(inQuestion, k)-remaining)
			}
		}
	}
	first, bar := len(dst), q.largest(inQuestion, k)*(1-rounding)
	for _, d := range inQuestion {
		if sum := q.lexical[d]; sum >= bar {
			if h := q.hit(d, sum); h.Score > 0 {
				dst = keepBest(dst, first, k, h)
			}
		}
	}
	if !q.counted {
		q.forget() // sums are not complete
	}
	sortHits(dst[first:])
	return dst
}

// reduce appends to dst the documents of from whose sum is at least bar. dst may be the start of from.
func (q *Query) reduce(dst, from []int32, bar float64) []int32 {
	bar *= 1 - rounding
	for _, d := range from {
		if q.lexical[d] >= bar {
			dst = append(dst, d)
		}
	}
	q.kept = dst
	return dst
}

// Search returns the k best documents for text, by falling score and then by number. Documents that
// have nothing in common with it are left out.
func (ix *Index) Search(text string, k int) []Hit { return ix.AppendSearch(nil, text, nil, k) }

// AppendSearch is [Index.Search] for a query of which an outside vector may be known, with the hits appended to dst.
func (ix *Index) AppendSearch(dst []Hit, text string, vector []float32, k int) []Hit {
	q := ix.Query(text, vector)
	defer q.Close()
	return q.Top(dst, k)
}
