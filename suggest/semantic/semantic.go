// Package semantic measures how much texts have in common, without a model and without a network.
//
// A [Document] is a tool as text: its name, its description, the names of its parameters. A [Matcher] compares requests
// with documents, in words that may differ:
//
//	text ─▶ terms ─┬─▶ the same words, other spellings, synonyms, words used alike ─▶ [Matching.Of]
//	               └─▶ mean of the word vectors ────────────────────────────────────▶ [Matching.Near]
//
// Example: for "mail the customer", send_email matches one of two words through the thesaurus (mail, email), so its
// score is about one half.
//
// Terms are English stems of the parts of identifiers ([Tokens]), so searchIssues, search_issues and "searching an
// issue" are the same request. All scores lie in [0, 1]; 0 means nothing in common. Scores of different requests are
// comparable. The same documents give the same bits on every machine, in any order of the documents.
package semantic

import "cmp"

// Document is a searchable text in three fields. Any may be empty.
type Document struct {
	Name       string // identifier or title
	Text       string // description
	Properties string // names and descriptions of parameters
}

// fields returns the texts of a document by field.
func (d *Document) fields() [fields]string { return [fields]string{d.Name, d.Text, d.Properties} }

// Hit is a document and its score for a request.
type Hit struct {
	Doc   int32
	Score float64
}

// better orders hits by descending score and then by number.
func better(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc)) }
