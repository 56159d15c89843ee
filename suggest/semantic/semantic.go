// Package semantic measures how much texts have in common, without a model and without a network.
//
// A [Document] is a tool as text: its name, its description, the names of its parameters. A [Matcher] compares requests
// with documents, in words that may differ:
//
//	text ─▶ terms ─┬─▶ the same words, other spellings, synonyms, words used alike ─▶ [Matching.Of]
//	               └─▶ mean of the word vectors ────────────────────────────────────▶ [Matching.Near]
//
// Example: of "mail the customer", send_email has one of two words through the thesaurus (mail, email), so its match is
// about one half.
//
// Terms are English stems of the parts of identifiers ([Tokens]), so searchIssues, search_issues and "searching an issue"
// are the same request. All scores lie in [0, 1], 0 means nothing in common, and scores of different requests compare. The
// same documents give the same bits on every machine, in whatever order they are listed.
package semantic

import "cmp"

// Document is a text to be found, in three fields. Any may be empty.
type Document struct {
	Name       string // identifier or title
	Text       string // description
	Properties string // names and descriptions of parameters
}

// fields are the texts of a document.
func (d *Document) fields() [fields]string { return [fields]string{d.Name, d.Text, d.Properties} }

// Hit is a document and what it has in common with a request.
type Hit struct {
	Doc   int32
	Score float64
}

// better puts hits by falling score and then by number.
func better(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) }
