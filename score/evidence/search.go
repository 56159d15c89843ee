package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/run"
	"waymark/score"
	"waymark/suggest/semantic"
)

// An Inquiry records how a question without hypotheses was answered. Snippets are listed once each, in order of
// arrival. Request is the state to continue from, null if the question is easy.
//
//	question ─▶ difficulty ─ easy ─▶ one plain search
//	                └ else ─▶ judge ─▶ 5 hypotheses ─▶ round: queries ─▶ search ─▶ weights ─▶ gate ─▶ answer
//	                                                     ▲                                     │
//	                                                     └─────────── continue, forced ────────┘
type Inquiry struct {
	Generation Generation `json:"generation"`
	Searches   []Search   `json:"searches"`
	Snippets   []Snippet  `json:"snippets"`
	Ended      string     `json:"ended"`
	Request    *Request   `json:"request"`
}

// A Search is one query with the ids of the snippets that were taken from its results.
type Search struct {
	Round   int      `json:"round"`
	Query   Query    `json:"query"`
	Results []string `json:"results"`
	Error   string   `json:"error,omitempty"`
}

// Values of [Inquiry].Ended besides the gates stop and exhausted: the rounds of the request are used up, the question
// is easy, or there is nothing to search.
const (
	outOfRounds = "max_rounds"
	easy        = "easy"
	proposed    = "proposed"
)

// wholeQuestion is the intent of a search for the question in its own words. It is the first search of the first round,
// so that some evidence does not depend on a hypothesis.
const wholeQuestion Intent = "question"

// ErrSearch is wrapped if all searches of a round fail.
var ErrSearch = errors.New("the search failed")

// mostFound bounds the results of one search.
const mostFound = 50

// askAnyway is the last sentence of the message about an easy question.
const askAnyway = "Set even_if_easy to ask for hypotheses all the same."

// inquire answers a question: a judge proposes hypotheses, then searches bring evidence until the gate stops. The first
// round is broad: it also searches for the question itself and for every hypothesis, since before any evidence only the
// order of the judge determines the first two.
func inquire(ctx context.Context, r Request, judge Judge, caller run.Caller) (Answer, error) {
	find, err := r.finder(caller)
	if err != nil {
		return Answer{}, err
	}
	in := &Inquiry{Searches: []Search{}, Snippets: []Snippet{}}
	if in.Generation, err = generate(ctx, r, judge); err != nil {
		return Answer{}, err
	}
	s := searcher{find, in, cmp.Or(r.PerQuery, 5), map[string][]Snippet{}}
	queries := []Query{{Intent: wholeQuestion, Text: r.Question}}
	if in.Generation.Skipped {
		in.Ended = easy
		text := "The question is easy; no hypotheses are needed. "
		if find != nil {
			_, err = s.round(ctx, 1, queries)
			text = fmt.Sprintf("The question is easy: a plain search found %s. ", catalog.Plural(len(in.Snippets), "snippet"))
		}
		return Answer{Message: text + askAnyway, Result: empty(), Inquiry: in}, err
	}
	state := Request{Question: r.Question, Hypotheses: in.Generation.Hypotheses,
		NoneOfThese: r.NoneOfThese, Agreement: r.Agreement, Options: r.Options}
	in.Request = &state
	t := weigh(state)
	if find == nil {
		in.Ended = proposed
	}
	queries = append(queries, t.opening...)
	for i, c := range t.ranked(true) {
		if i >= 2 {
			queries = append(queries, support(i, c))
		}
	}
	for round := 1; in.Ended == ""; round++ {
		snippets, err := s.round(ctx, round, queries)
		if err != nil {
			return Answer{}, err
		}
		state.Rounds = append(state.Rounds, Round{Snippets: snippets})
		t = weigh(state)
		last := t.rounds[round-1]
		queries = last.NextQueries
		switch {
		case len(queries) == 0:
			in.Ended = string(last.Gate)
		case round == cmp.Or(r.MaxRounds, 6):
			in.Ended = outOfRounds
		}
	}
	a := answer(state.id(), t)
	a.Inquiry = in
	if in.Ended == proposed {
		n := catalog.Plural(len(state.Hypotheses), "hypothesis")
		a.Message = fmt.Sprintf("%s, %.2f apart in the mean.", n, in.Generation.MeanDistance)
	}
	return a, nil
}

// A finder finds snippets, best first.
type finder func(ctx context.Context, q Query) ([]Snippet, error)

// finder returns the search of an inquiry, nil if there is nothing to search.
func (r Request) finder(caller run.Caller) (finder, error) {
	switch {
	case r.SearchTool != "" && len(r.Documents) > 0:
		return nil, score.Refuse("search_tool", "is given together with documents; give one")
	case r.SearchTool != "" && caller == nil:
		return nil, score.Refuse("search_tool", "no servers are connected that could have it; give documents")
	case r.SearchTool != "":
		return r.byTool(caller), nil
	case len(r.Documents) == 0:
		return nil, nil
	}
	var all []Snippet
	seen := map[string]bool{}
	for i, d := range r.Documents {
		d.Source = score.Cut(cmp.Or(d.Source, d.ID), maxSource)
		if seen[d.ID] || len(d.ID) > maxID-8 || score.Check(Snippet{ID: d.ID}) != nil {
			d.ID = fmt.Sprint("d", i+1)
		}
		seen[d.ID] = true
		all = append(all, passages(d)...)
	}
	return among(all), nil
}

// A searcher searches round by round and keeps what it found.
type searcher struct {
	find     finder
	inquiry  *Inquiry
	perQuery int
	// Results not taken yet, by text of a query.
	rest map[string][]Snippet
}

// round searches for queries in order and takes at most perQuery results of each, without the source that the query
// excludes. A repeated query continues in its list of results. If some searches fail, the others count; if all fail,
// the round fails.
func (s *searcher) round(ctx context.Context, number int, queries []Query) ([]Snippet, error) {
	taken := []Snippet{}
	var failed []error
	for _, q := range queries {
		var err error
		found, again := s.rest[q.Text]
		if !again {
			found, err = s.find(ctx, q)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("round %d: %w", number, ctx.Err())
		}
		search := Search{Round: number, Query: q, Results: []string{}}
		unwanted := func(x Snippet) bool { return q.Exclude != "" && domain(x.Source) == q.Exclude }
		found = slices.DeleteFunc(found, unwanted)
		n := min(s.perQuery, len(found))
		if err != nil {
			search.Error = err.Error()
			failed = append(failed, fmt.Errorf("%s: %w", q.Intent, err))
		} else {
			s.rest[q.Text] = found[n:]
		}
		for _, x := range found[:n] {
			search.Results = append(search.Results, x.ID)
			taken, s.inquiry.Snippets = include(taken, x), include(s.inquiry.Snippets, x)
		}
		s.inquiry.Searches = append(s.inquiry.Searches, search)
	}
	if len(failed) == len(queries) {
		return nil, fmt.Errorf("%w: round %d: %w", ErrSearch, number, errors.Join(failed...))
	}
	return first(taken, maxSnippets), nil
}

// include adds a snippet unless it is there or empty.
func include(list []Snippet, x Snippet) []Snippet {
	if x.Text == "" || slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// worthFinding is the share of the best score that a document needs to be a result.
const worthFinding = .6

// among returns a finder that searches the given texts by their words, without a network.
func among(texts []Snippet) finder {
	docs := make([]semantic.Document, len(texts))
	for i, s := range texts {
		docs[i].Text = s.Text
	}
	matcher := semantic.NewMatcher(docs, nil, nil, nil)
	return func(_ context.Context, q Query) (found []Snippet, err error) {
		text := q.Text
		if q.Exclude != "" {
			text = strings.TrimSuffix(text, " "+excluding(q.Exclude))
		}
		matching := matcher.Match(strings.ReplaceAll(text, " OR ", " "))
		defer matching.Close()
		hits := matching.Top(nil, mostFound, 0)
		for _, hit := range hits {
			if hit.Score >= float64(worthFinding*hits[0].Score) {
				found = append(found, texts[hit.Doc])
			}
		}
		return found, nil
	}
}

// longestPassage is the length in bytes above which a paragraph is cut.
const longestPassage = 1200

// passages returns the paragraphs of a document; long ones are cut between two words. A document of one passage keeps
// its id; others get #1, #2 …
func passages(doc Document) (all []Snippet) {
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(doc.Text, "\r\n", "\n"), "\n\n") {
		for rest := strings.Join(strings.Fields(paragraph), " "); rest != ""; {
			text := score.Cut(rest, longestPassage)
			if i := strings.LastIndex(text, " "); len(text) < len(rest) && i > 0 {
				text = text[:i]
			}
			all = append(all, Snippet{doc.ID, text, cmp.Or(doc.Source, doc.ID)})
			rest = strings.TrimSpace(rest[len(text):])
		}
	}
	for i := range all {
		if len(all) > 1 {
			all[i].ID += fmt.Sprint("#", i+1)
		}
	}
	return all
}

// byTool returns a finder that calls a tool of another server.
func (r Request) byTool(caller run.Caller) finder {
	return func(ctx context.Context, q Query) ([]Snippet, error) {
		arguments, _ := json.Marshal(map[string]string{cmp.Or(r.SearchArgument, "query"): q.Text})
		call := run.Call{Tool: r.SearchTool, Arguments: arguments, Session: "inquiry", Intent: r.Question}
		res, err := caller.Call(ctx, call)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", r.SearchTool, err)
		case res.Failure != "":
			return nil, fmt.Errorf("%s failed (%s): %s", r.SearchTool, res.Failure, res.Message)
		case res.NeedsInput != nil:
			return nil, fmt.Errorf("%s asks for something first", r.SearchTool)
		}
		return foundIn(res), nil
	}
}

// A listing is the result of a search tool. The first list with a text counts, and in each of its objects the first
// text.
type listing struct{ Results, Snippets, Documents, Items, Data []hit }

type hit struct{ Title, Text, Snippet, Content, Description, URL, Source string }

// foundIn returns the list of results in the structured content, or else in a block of text. If neither has a list,
// each block is a snippet.
func foundIn(r run.Result) (found []Snippet) {
	blocks := run.Texts(r.Content)
	for _, text := range append([]string{string(r.Structured)}, blocks...) {
		var l listing
		_ = json.Unmarshal([]byte(text), &l)
		for _, list := range [][]hit{l.Results, l.Snippets, l.Documents, l.Items, l.Data} {
			for _, h := range list {
				text := cmp.Or(h.Text, h.Snippet, h.Content, h.Description)
				found = include(found, snippet(h.Title, text, cmp.Or(h.URL, h.Source)))
			}
			if len(found) > 0 {
				return found
			}
		}
	}
	for _, text := range blocks {
		found = include(found, snippet("", text, ""))
	}
	return found
}

// snippet makes a snippet of a tool's text with its title before it. It cuts text and source to the limits of a
// request, and derives the id from both.
func snippet(title, text, source string) Snippet {
	if title != "" && text != "" {
		text = title + ". " + text
	}
	text, source = score.Cut(strings.TrimSpace(text), maxSnippet), score.Cut(source, maxSource)
	sum := sha256.Sum256([]byte(source + "\x00" + text))
	return Snippet{"s" + hex.EncodeToString(sum[:6]), text, source}
}
