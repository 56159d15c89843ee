package inquiry

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"waymark/score/evidence"
	"waymark/semantic"
)

// A Library is a [Searcher] over texts that are at hand, without a network.
type Library struct {
	index    *semantic.Index
	snippets []evidence.Snippet
	most     int
}

// A search gives up where results have less than this share of the best one's score: a search tool does not
// fill its page with what has nothing to do with the query.
const worthFinding = .5

// NewLibrary reads texts; a query gives at most that many results.
func NewLibrary(snippets []evidence.Snippet, most int) *Library {
	docs := make([]semantic.Document, len(snippets))
	for i, s := range snippets {
		docs[i].Text = s.Text
	}
	return &Library{semantic.Build(docs, semantic.Options{}), snippets, most}
}

// Search finds the snippets with most in common with a query, best first.
func (l *Library) Search(ctx context.Context, q evidence.Query) ([]evidence.Snippet, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, _, _ := strings.Cut(q.Text, " -site:")
	var found []evidence.Snippet
	hits := l.index.Search(strings.ReplaceAll(text, " OR ", " "), l.most)
	for _, hit := range hits {
		if hit.Score < float64(worthFinding*hits[0].Score) {
			break
		}
		if sn := l.snippets[hit.Doc]; q.Exclude == "" || evidence.Domain(sn.Source) != q.Exclude {
			found = append(found, sn)
		}
	}
	return found, nil
}

// longestPassage is the length in bytes up to which paragraphs are joined, and above which one is cut.
const longestPassage = 1200

// Passages cuts a document into passages: paragraphs, short ones joined, long ones cut after a sentence, else
// between two words. A document of one passage keeps its id; others get #1, #2 …
func Passages(doc evidence.Snippet) []evidence.Snippet {
	var texts []string
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(doc.Text, "\r\n", "\n"), "\n\n") {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		if n := len(texts) - 1; n >= 0 && paragraph != "" && len(texts[n])+1+len(paragraph) <= longestPassage {
			texts[n] += " " + paragraph
			continue
		}
		for paragraph != "" {
			at := passageEnd(paragraph)
			texts = append(texts, strings.TrimSpace(paragraph[:at]))
			paragraph = strings.TrimSpace(paragraph[at:])
		}
	}
	passages := make([]evidence.Snippet, len(texts))
	for i, text := range texts {
		passages[i] = evidence.Snippet{ID: doc.ID, Text: text, Source: cmp.Or(doc.Source, doc.ID)}
		if len(texts) > 1 {
			passages[i].ID = cut(doc.ID, evidence.MaxID-8) + fmt.Sprintf("#%d", i+1)
		}
	}
	return passages
}

// passageEnd is where a text of one line is cut.
func passageEnd(text string) int {
	if len(text) <= longestPassage {
		return len(text)
	}
	at := longestPassage
	for !utf8.RuneStart(text[at]) {
		at--
	}
	for _, end := range []string{". ", "? ", "! ", " "} {
		if i := strings.LastIndex(text[:at], end); i > at/2 {
			return i + len(end)
		}
	}
	return at
}
