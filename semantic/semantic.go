// Package semantic measures how much texts have in common, without a model and without a network.
//
// A [Document] is a tool as text: its name, what it says of itself, the names of its parameters,
// and the contexts it was used in. An [Index] answers a query with two signals,
//
//	                 ┌─▶ inverted index ── BM25F / attainable ──▶ lexical ─┐
//	text ─▶ terms ───┤                                                     ├─▶ score
//	                 └─▶ latent space ──── cosine above noise ──▶ latent ──┘
//
//	score = 1 - (1 - lexical)·(1 - wL·latent)·(1 - wV·vector)      (wL, wV: [Index.Weights])
//
// Lexical says how much of what the query asks for stands in the document; latent, how near they are
// in a space in which words used in the same places are close (a truncated SVD of the documents ×
// terms matrix). Contexts are what makes this more than word matching: after a few tasks a tool is
// found by the words people use for it. Vectors of an embedding model may be added from outside; the
// other two never depend on them.
//
// All scores lie in [0, 1], 0 means nothing in common, and scores of different queries compare. The
// same documents give the same bits on every machine, in whatever order they are listed.
//
// Terms are English stems of the parts of identifiers ([Tokens]), so searchIssues, search_issues and
// "searching an issue" are the same query. A word that no document has is replaced by those spelled
// most like it.
//
// [Intents] is the same for short texts alone: the past requests nearest to a new one.
package semantic

// Document is a text to be found, in four fields. Any may be empty.
type Document struct {
	Name       string // identifier or title
	Text       string // description
	Properties string // names and descriptions of parameters
	// Context are requests it served and names of what was used beside it. Text that several
	// documents have in common is read once.
	Context []string
}

// SameText reports whether two documents have the same text of their own.
func (d Document) SameText(o Document) bool {
	return d.Name == o.Name && d.Text == o.Text && d.Properties == o.Properties
}

// Field says what a term in a field is worth, and how much the length of the field matters: with
// B = 1 a term is measured against the length in full, with B = 0 not at all.
type Field struct{ Weight, B float64 }

// Options of [Build]. A zero value means the default; a negative weight or rank switches off.
//
// The defaults were chosen on half of the training requests of three public histories of tool use
// (contexts from the other half), and on queries of three to six words drawn from the descriptions
// of 9,000 public tools. Halving or doubling one moves recall@5 by .02 or less, except that drawn
// queries lose .05 with names at 4 (their words seldom stand in names) and .04 with K1 at 1.6, and
// that contexts are a choice: with B = 1 popular tools lose .05, and with a weight of 1 one history
// gains .03 of recall@5 and loses .03 of MRR.
type Options struct {
	Name       Field // default {1.5, .5}
	Text       Field // default {1, .5}
	Properties Field // default {.4, .6}
	Context    Field // default {.6, .75}; Weight is the most that contexts can add, in units of idf

	K1        float64 // saturation of the own fields, default .9
	ContextK1 float64 // saturation of the context, default 1.2

	Rank         int     // dimensions of the latent space, default 128
	Seed         uint64  // of the random signs that start the factorisation
	LatentWeight float64 // wL of a space that holds the whole matrix, default .4; see [Index.Weights]
	VectorWeight float64 // wV, default .5; chosen, not measured
	MixContext   float64 // length of the context beside the own text (1) in the latent space, default .5

	// Words, if not nil, has what was read of texts before, and keeps what is read of these. It changes no
	// bit of the index.
	Words *Words

	// Stop, if not nil, is asked now and then, possibly by several goroutines at once. When it says
	// yes, Build gives up and returns nil.
	Stop func() bool

	// Vectors are embeddings of the documents, by document number. One that is empty, not finite or
	// of another dimension than the first counts as absent; more vectors than documents count as none.
	Vectors [][]float32
}

// filled puts defaults in place of zeros and moves values outside their range to its end.
func (o Options) filled() Options {
	field := func(f *Field, weight, b float64) {
		if *f == (Field{}) {
			*f = Field{weight, b}
		}
		f.Weight, f.B = max(f.Weight, 0), min(max(f.B, 0), 1)
	}
	number := func(x *float64, standard float64) {
		if *x == 0 {
			*x = standard
		}
		*x = max(*x, 0)
	}
	field(&o.Name, 1.5, .5)
	field(&o.Text, 1, .5)
	field(&o.Properties, .4, .6)
	field(&o.Context, .6, .75)
	number(&o.K1, .9)
	number(&o.ContextK1, 1.2)
	number(&o.LatentWeight, .4)
	number(&o.VectorWeight, .5)
	number(&o.MixContext, .5)
	o.LatentWeight, o.VectorWeight = min(o.LatentWeight, 1), min(o.VectorWeight, 1)
	if o.Rank == 0 {
		o.Rank = 128
	}
	o.Rank = max(o.Rank, 0)
	return o
}

// Hit is a document and what it has in common with a query.
type Hit struct {
	Doc     int32
	Score   float64 // 1 - (1 - Lexical)·(1 - wL·Latent)·(1 - wV·Vector)
	Lexical float64 // BM25F over the most that any documents have of each word
	Latent  float64 // cosine in the latent space, above what unrelated documents reach
	Vector  float64 // cosine of the outside vectors, likewise
}
