package semantic

import "slices"

// Update returns an index of the documents of ix without those in removed, in their order, followed
// by added; ix stays as it is. removed are numbers of documents in increasing order, vectors those of
// added, or nil. Only added is read; the rest is counted anew. Update panics if ix was not built with
// [Options.Updatable] or a number is out of range.
//
// No build of ours goes by it, since a build is a function of its event alone: it is for programs that keep an
// index up to date between builds.
//
// What words say is what [Build] would make of the documents, bit by bit. The latent space is that of
// the last Build until the next: new documents are folded into it as queries are, terms it does not
// know say nothing in it, documents that stay keep their places, and the share of the matrix that it
// holds, and the cosines of unrelated documents, are not measured again. Vectors from outside keep
// their floor likewise.
func (ix *Index) Update(removed []int32, added []Document, vectors [][]float32) *Index {
	if ix.reader == nil {
		panic("semantic: Update of an index that was built without Options.Updatable")
	}
	stay := make([]int32, 0, ix.docs)
	for d := range int32(ix.docs) {
		if len(removed) > 0 && removed[0] == d {
			removed = removed[1:]
			continue
		}
		stay = append(stay, d)
	}
	if len(removed) > 0 {
		panic("semantic: Update removes documents that do not exist, or not in increasing order")
	}
	n := len(stay) + len(added)
	r := ix.reader.copy()
	bags := make([]bag, 0, n)
	for _, d := range stay {
		bags = append(bags, ix.bags[d])
	}
	var b bagger
	var tokens []token
	for i := range added {
		read := func(f field, text string) {
			tokens = r.read(tokens[:0], text)
			b.add(f, tokens)
		}
		read(nameField, added[i].Name)
		read(textField, added[i].Text)
		read(propertiesField, added[i].Properties)
		for _, text := range added[i].Context {
			read(contextField, text)
		}
		bags = append(bags, slices.Clone(b.take()))
	}
	r.recount(bags)

	c := &corpus{order: make([]int32, n)}
	for d := range c.order {
		c.order[d] = int32(d)
	}
	c.count(r, n, func(_ *bagger, i int) bag { return bags[i] })
	next := &Index{docs: n, options: ix.options, words: c.words, latentWeight: ix.latentWeight, reader: r, bags: bags}
	next.lexical = weigh(c, &next.options, n)
	next.latent = ix.latent.update(ix.words, c, next.lexical, &next.options, stay)
	next.vectors = ix.vectors.update(stay, len(added), vectors)
	return next.ready()
}

// copy returns a reader that may go on reading while others use r.
func (r *reader) copy() *reader {
	c := newReader()
	c.words, c.stop, c.compounds = slices.Clone(r.words), slices.Clone(r.stop), slices.Clone(r.compounds)
	c.stems = slices.Clone(r.stems)
	c.single, c.part, c.parts = slices.Clone(r.single), slices.Clone(r.part), slices.Clone(r.parts)
	for w, word := range c.words {
		c.number[word] = int32(w)
	}
	for key, n := range r.compound {
		c.compound[key] = n
	}
	return c
}

// recount notes anew how the words of the bags were written: what no document has any more does not
// count.
func (r *reader) recount(bags []bag) {
	clear(r.single)
	clear(r.part)
	clear(r.parts)
	for _, own := range bags {
		for _, t := range own {
			r.note(t.token)
		}
	}
}

// update is the space with the documents that stay and those of the corpus after them.
func (m *latent) update(had *vocabulary, c *corpus, x *lexical, o *Options, stay []int32) *latent {
	if m.rank == 0 {
		return &latent{}
	}
	r := m.rank
	next := &latent{rank: r, sigma: m.sigma, held: m.held}
	next.basis = make([]float32, len(c.words.terms)*r)
	old := 0
	for t, term := range c.words.terms { // both are in alphabetical order
		for old < len(had.terms) && had.terms[old] < term {
			old++
		}
		if old < len(had.terms) && had.terms[old] == term {
			copy(next.basis[t*r:(t+1)*r], m.basis[old*r:(old+1)*r])
		}
	}
	next.docs = m.docs.keep(stay, len(c.counts))
	fresh := &corpus{words: c.words, counts: c.counts[len(stay):], order: c.order[len(stay):]}
	next.settle(matrix(fresh, x, o), fresh)
	next.docs.encode(0)
	return next
}

// keep is the space of n documents of which the first are those of s that stay. The others are zero.
func (s *space) keep(stay []int32, n int) space {
	next := space{dimension: s.dimension, floor: s.floor, flat: make([]float32, n*s.dimension)}
	for i, d := range stay {
		copy(next.vector(int32(i)), s.vector(d))
	}
	return next
}

func (v *vectors) update(stay []int32, added int, given [][]float32) *vectors {
	if v.dimension == 0 {
		return &vectors{}
	}
	next := &vectors{v.keep(stay, len(stay)+added)}
	for i, x := range given[:min(len(given), added)] {
		next.unit(next.vector(int32(len(stay)+i)), x)
	}
	next.encode(0)
	return next
}
