package semantic

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"waymark/internal/numeric"
)

// field is a part of a document with a weight and length normalisation of its own.
type field int

const (
	nameField field = iota
	textField
	propertiesField
	contextField
	fields
)

// count is how often a term stands in each field of a document.
type count struct {
	term int32
	n    [fields]int32
}

// corpus is the counted documents, in an order that depends on their content alone, so that the
// order in which they were given cannot change a bit of what is computed from them.
type corpus struct {
	words   *vocabulary
	order   []int32 // place → document
	counts  [][]count
	lengths [][fields]int32
	average [fields]float64 // over documents that have the field
}

// countDocuments returns nil if o.Stop says so.
func countDocuments(docs []Document, o *Options) *corpus {
	c := &corpus{order: make([]int32, len(docs))}
	for d := range docs {
		c.order[d] = int32(d)
	}
	slices.SortStableFunc(c.order, func(a, b int32) int {
		x, y := &docs[a], &docs[b]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Text, y.Text),
			cmp.Compare(x.Properties, y.Properties), slices.Compare(x.Context, y.Context))
	})
	// Texts of contexts have numbers behind those of the documents' own fields, each once.
	const own = int(contextField)
	number := map[string]int32{}
	var shared []string
	contexts := make([][]int32, len(docs))
	for i, d := range c.order {
		contexts[i] = make([]int32, len(docs[d].Context))
		for k, text := range docs[d].Context {
			n, known := number[text]
			if !known {
				n = int32(len(shared))
				number[text] = n
				shared = append(shared, text)
			}
			contexts[i][k] = n
		}
	}
	r, texts := o.Words.read(own*len(docs)+len(shared), func(i int) string {
		if i >= own*len(docs) {
			return shared[i-own*len(docs)]
		}
		d := &docs[c.order[i/own]]
		return [own]string{d.Name, d.Text, d.Properties}[i%own]
	}, o.Stop)
	if texts == nil {
		return nil
	}
	bagOf := func(b *bagger, i int) bag {
		for f := range contextField {
			b.add(f, texts[own*i+int(f)])
		}
		for _, n := range contexts[i] {
			b.add(contextField, texts[own*len(docs)+int(n)])
		}
		return b.take()
	}
	c.count(r, len(docs), bagOf)
	return c
}

// a bag is how often a document has each word, alone, as a part or as a joined form.
type bag []bagged

// bagged is one token of a document and how often it stands in each field.
type bagged struct {
	token
	n [fields]int32
}

// A bagger fills one bag after another.
type bagger struct {
	own bag
	at  [3][]int32 // place in own, from 1: by word, by word written alone, by spelling of a joined form
}

// add counts the tokens of a text for a field.
func (b *bagger) add(f field, tokens []token) {
	for _, t := range tokens {
		at := b.place(t)
		if *at == 0 {
			b.own = append(b.own, bagged{token: t})
			*at = int32(len(b.own))
		}
		b.own[*at-1].n[f]++
	}
}

// take returns the bag, which is valid until the next is begun.
func (b *bagger) take() bag {
	own := b.own
	for _, t := range own {
		*b.place(t.token) = 0
	}
	b.own = own[:0]
	return own
}

// place is the slot of a token. The three kinds of tokens are counted apart, because a joined form and a word
// written alone are terms under different conditions; slices by number take the place of a map.
func (b *bagger) place(t token) *int32 {
	at, i := &b.at[0], int(t.word)
	switch {
	case t.joined:
		at, i = &b.at[2], int(t.parts)
	case t.single:
		at = &b.at[1]
	}
	if i >= len(*at) {
		*at = append(*at, make([]int32, i+1-len(*at))...)
	}
	return &(*at)[i]
}

// count turns bags, in the order of the corpus, into counts of terms.
func (c *corpus) count(r *reader, documents int, bagOf func(b *bagger, i int) bag) {
	words, terms := r.vocabulary()
	c.words = words
	c.counts, c.lengths = make([][]count, documents), make([][fields]int32, documents)
	var (
		adding sync.Mutex
		total  [fields]int64 // of whole numbers, whichever part is added first
		having [fields]int64
	)
	shared(documents, func(from, to int) {
		var (
			b       bagger
			table   = make([][fields]int32, len(words.terms))
			touched []int32
			all     [fields]int64
			with    [fields]int64
		)
		for i := from; i < to; i++ {
			if i%16 == 0 {
				runtime.Gosched()
			}
			touched = touched[:0]
			own := bagOf(&b, i)
			// A name of nothing but stop words keeps them.
			keep := !slices.ContainsFunc(own, func(t bagged) bool { return t.n[nameField] > 0 && !t.joined && !r.stop[t.word] })
			var has [fields]bool
			for _, t := range own {
				for f, n := range t.n {
					has[f] = has[f] || n > 0
				}
				// A joined form counts where somebody wrote it as a word; see vocabulary.
				if t.joined && !r.single[t.word] {
					continue
				}
				n := t.n
				if r.stop[t.word] {
					if n = ([fields]int32{}); keep {
						n[nameField] = t.n[nameField]
					}
				}
				if n == [fields]int32{} {
					continue
				}
				id := terms[t.word]
				if table[id] == [fields]int32{} {
					touched = append(touched, id)
				}
				for f := range n {
					table[id][f] += n[f]
					c.lengths[i][f] += n[f]
				}
			}
			for f := range fields {
				if has[f] {
					all[f] += int64(c.lengths[i][f])
					with[f]++
				}
			}
			slices.Sort(touched)
			c.counts[i] = make([]count, len(touched))
			for k, id := range touched {
				c.counts[i][k] = count{id, table[id]}
				table[id] = [fields]int32{}
			}
		}
		adding.Lock()
		defer adding.Unlock()
		for f := range fields {
			total[f] += all[f]
			having[f] += with[f]
		}
	})
	for f := range fields {
		c.average[f] = 1
		if having[f] > 0 && total[f] > 0 {
			c.average[f] = float64(total[f]) / float64(having[f])
		}
	}
}

// idf is ln(1 + (N - n + ½)/(n + ½)), never negative (Robertson and Zaragoza, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009, with Lucene's 1 + inside).
func idf(n, documents int) float64 {
	return numeric.Ln(1 + (float64(documents-n)+0.5)/(float64(n)+0.5))
}

// lexical is the inverted index: for each term the documents it stands in, with the BM25 weight of
// the term in the document worked out beforehand.
type lexical struct {
	idf    []float64
	most   []float64 // largest weight of each term in any document: what a query can attain
	lists  []span
	doc    []int32 // increasing within a list
	weight []float32
	own    []float32 // what the own fields alone say, without idf, in [0, 1]; see [Matcher]

	zeros   bool      // some weight is zero
	members []members // by term; empty where words are not all that counts
}

// weigh fills the inverted index. With tf_f the count of a term in field f and |f| the field's length,
//
//	tf     = Σ_f w_f · tf_f / (1 - b_f + b_f·|f|/avg|f|)       f = name, text, properties
//	weight = idf · (tf/(K1 + tf) + w_c · tf_c/(Kc + tf_c))
//
// The first part is BM25F (Robertson, Zaragoza and Taylor, CIKM 2004). The context, with tf_c divided
// by its length in the same way, has a saturation of its own: whatever happens around a popular tool
// adds at most w_c · idf. idf counts documents that have the term in a field of their own; a term
// that only contexts have is counted there.
func weigh(c *corpus, o *Options, docs int) *lexical {
	n := len(c.words.terms)
	x := &lexical{idf: make([]float64, n), most: make([]float64, n), lists: make([]span, n)}
	own, all := make([]int, n), make([]int, n)
	entries := 0
	for i := range c.counts {
		for _, t := range c.counts[i] {
			all[t.term]++
			if t.n[nameField]+t.n[textField]+t.n[propertiesField] > 0 {
				own[t.term]++
			}
		}
		entries += len(c.counts[i])
	}
	for t := range n {
		df := own[t]
		if df == 0 {
			df = all[t]
		}
		x.idf[t] = idf(df, docs)
	}
	at := int32(0)
	for t := range n {
		x.lists[t] = span{at: at}
		at += int32(all[t])
	}
	x.doc, x.weight, x.own = make([]int32, entries), make([]float32, entries), make([]float32, entries)
	w := [fields]Field{o.Name, o.Text, o.Properties, o.Context}
	for _, i := range c.byDocument() {
		var norm [fields]float64
		for f := range fields {
			norm[f] = 1 - w[f].B + float64(w[f].B*float64(c.lengths[i][f])/c.average[f])
		}
		for _, t := range c.counts[i] {
			tf := 0.0
			for f := range contextField {
				if t.n[f] > 0 {
					tf += float64(w[f].Weight*float64(t.n[f])) / norm[f]
				}
			}
			weight := 0.0
			if tf > 0 {
				weight = tf / (o.K1 + tf)
			}
			said := ownWeight(weight)
			if m := t.n[contextField]; m > 0 {
				tf := float64(m) / norm[contextField]
				weight += float64(w[contextField].Weight*tf) / (o.ContextK1 + tf)
			}
			weight = float64(x.idf[t.term] * weight)
			l := &x.lists[t.term]
			x.doc[l.at+l.n], x.weight[l.at+l.n], x.own[l.at+l.n] = c.order[i], float32(weight), said
			l.n++
			x.zeros = x.zeros || float32(weight) == 0
			x.most[t.term] = max(x.most[t.term], float64(float32(weight)))
		}
	}
	return x
}

// byDocument lists places in the order of document numbers.
func (c *corpus) byDocument() []int32 {
	at := make([]int32, len(c.order))
	for i, d := range c.order {
		at[d] = int32(i)
	}
	return at
}

// An Index finds documents by their text. It is immutable and safe for concurrent use.
type Index struct {
	docs    int
	options Options
	words   *vocabulary
	lexical *lexical
	latent  *latent
	vectors *vectors
	queries sync.Pool // *Query

	// latentWeight is the wL of every score: Options.LatentWeight times the share of the documents × terms matrix that the
	// space holds, Σσ²/‖A‖². 128 dimensions hold .8 of a few hundred tools and .3 of nine thousand, and there the cosine
	// confuses neighbours that words tell apart.
	latentWeight float64
}

// Build indexes docs. It never fails: a document may be empty, have any bytes for text, and equal
// another. The result depends on docs and opts only, and is nil if opts.Stop ended it.
func Build(docs []Document, opts Options) *Index {
	o := opts.filled()
	c := countDocuments(docs, &o)
	if c == nil {
		return nil
	}
	ix := &Index{docs: len(docs), words: c.words, lexical: weigh(c, &o, len(docs))}
	if ix.latent = newLatent(c, ix.lexical, &o); ix.latent == nil {
		return nil
	}
	ix.latentWeight = float64(o.LatentWeight * ix.latent.held)
	ix.vectors = newVectors(o.Vectors, len(docs))
	o.Vectors, o.Words, o.Stop = nil, nil, nil
	ix.options = o
	return ix.ready()
}

// ready finishes an index.
func (ix *Index) ready() *Index {
	if ix.latent.rank == 0 && ix.vectors.dimension == 0 {
		ix.lexical.index(ix.docs)
	}
	ix.queries.New = func() any {
		return &Query{lexical: make([]float64, ix.docs), row: make([]float64, ix.latent.rank)}
	}
	return ix
}

// Len is the number of documents.
func (ix *Index) Len() int { return ix.docs }
