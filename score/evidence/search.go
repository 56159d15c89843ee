package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/internal/plural"
	"waymark/run"
	"waymark/score"
	"waymark/semantic"
)

// An Inquiry is how a question without hypotheses was answered.
//
//	question ─▶ difficulty ─ easy ─▶ one plain search
//	                └ else ─▶ judge ─▶ 5 hypotheses ─▶ round: queries ─▶ search ─▶ weights ─▶ gate ─▶ answer
//	                                                     ▲                                     │
//	                                                     └─────────── continue, forced ────────┘
type Inquiry struct {
	Generation Generation `json:"generation"`
	Searches   []Search   `json:"searches"`
	Snippets   []Snippet  `json:"snippets"` // each once, in order of arrival
	Ended      string     `json:"ended"`
	Request    *Request   `json:"request" doc:"The state, to go on from; null if the question is easy."`
}

// A Search is one query and what came of it.
type Search struct {
	Round     int      `json:"round"`
	Query     Query    `json:"query"`
	Results   []string `json:"results"`             // ids of the snippets taken
	Continued bool     `json:"continued,omitempty"` // not searched for anew: the next results of an earlier round
	Error     string   `json:"error,omitempty"`
}

// How an inquiry ends beside the gates stop and exhausted.
const (
	outOfRounds = "max_rounds" // of the request
	easy        = "easy"       // a plain search
	proposed    = "proposed"   // there is nothing to search
)

// wholeQuestion is the intent of a search for the question itself, in the words it was asked in. It opens the first round, so
// that there is evidence that no hypothesis asked for.
const wholeQuestion Intent = "question"

// ErrSearch is wrapped where all searches of a round fail.
var ErrSearch = errors.New("the search failed")

// mostFound is the number of results kept of one search: a repeated query continues in its list.
const mostFound = 50

// askAnyway is the last sentence of the message about an easy question.
const askAnyway = "Set even_if_easy (on the command line: --even-if-easy) to ask for hypotheses all the same."

// inquire answers a question: a judge proposes hypotheses, then searches bring evidence until the gate stops. The first
// round is broad: it also searches for the question itself and for every hypothesis, since before any evidence the first
// two are only the judge's.
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
		text := "The question is easy; no hypotheses are needed. " + askAnyway
		if find != nil {
			_, err = s.round(ctx, 1, queries)
			text = fmt.Sprintf("The question is easy: a plain search found %s. %s", plural.Of(len(in.Snippets), "snippet"), askAnyway)
		}
		return Answer{Message: text, Result: empty(), Inquiry: in}, err
	}
	state := Request{Question: r.Question, Hypotheses: in.Generation.Hypotheses, NoneOfThese: r.NoneOfThese, Agreement: r.Agreement, Options: r.Options}
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
		case last.Gate == Stop, last.Gate == Exhausted:
			in.Ended = string(last.Gate)
		case round == cmp.Or(r.MaxRounds, 6):
			in.Ended = outOfRounds
		}
	}
	id, err := state.id()
	a := answer(id, t)
	a.Inquiry = in
	if in.Ended == proposed {
		a.Message = fmt.Sprintf("%s, %.2f apart in the mean.", plural.Of(len(state.Hypotheses), "hypothesis"), in.Generation.MeanDistance)
	}
	return a, err
}

// A finder finds snippets, best first. A snippet without a usable id gets one from its content.
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
	for i, d := range r.Documents {
		d.ID = cmp.Or(d.ID, fmt.Sprintf("d%d", i+1))
		all = append(all, passages(d)...)
	}
	return among(all), nil
}

// A searcher searches round by round and keeps what it found.
type searcher struct {
	find     finder
	inquiry  *Inquiry
	perQuery int
	rest     map[string][]Snippet // by text of a query: results not taken yet
}

// round takes the results of queries in order, at most perQuery of each:
//
//	results of a query ─▶ without the source that it excludes ─▶ clean ─▶ ids told apart ─▶ each text once
//
// A query that was searched for in an earlier round goes on in its list of results. If a search fails the others count;
// if all fail, so does the round.
func (s *searcher) round(ctx context.Context, number int, queries []Query) ([]Snippet, error) {
	taken := []Snippet{}
	texts := map[string]string{} // of this round, by id
	var failed []error
	for _, q := range queries {
		list, asked := s.rest[q.Text]
		var err error
		if !asked {
			list, err = s.find(ctx, q)
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("round %d: %w", number, ctx.Err())
		}
		search := Search{Round: number, Query: q, Results: []string{}, Continued: asked}
		if err != nil {
			search.Error = err.Error()
			failed = append(failed, fmt.Errorf("%s: %w", q.Intent, err))
		} else {
			s.rest[q.Text] = nil
		}
		for n, sn := range list {
			if len(search.Results) == s.perQuery || len(taken) == maxSnippets {
				s.rest[q.Text] = list[n:]
				break
			}
			if q.Exclude != "" && domain(sn.Source) == q.Exclude {
				continue // the tool did not leave it out
			}
			sn = clean(sn)
			if text, used := texts[sn.ID]; used && text != sn.Text { // another passage of the same document
				sn.ID = cut(sn.ID, maxID-20) + "#" + digest(sn.Text)
			}
			search.Results = append(search.Results, sn.ID)
			if _, used := texts[sn.ID]; used {
				continue
			}
			texts[sn.ID] = sn.Text
			taken = append(taken, sn)
			if !slices.ContainsFunc(s.inquiry.Snippets, func(k Snippet) bool { return k.ID == sn.ID && k.Text == sn.Text }) {
				s.inquiry.Snippets = append(s.inquiry.Snippets, sn)
			}
		}
		s.inquiry.Searches = append(s.inquiry.Searches, search)
	}
	if len(failed) == len(queries) {
		return nil, fmt.Errorf("%w: round %d: %w", ErrSearch, number, errors.Join(failed...))
	}
	return taken, nil
}

// clean makes a snippet of a tool fit for a request: valid, bounded, with an id.
func clean(s Snippet) Snippet {
	s.Text = cut(strings.ToValidUTF8(s.Text, ""), maxSnippet)
	s.Source = cut(strings.ToValidUTF8(s.Source, ""), maxSource)
	if score.CheckName("", s.ID, maxID) != nil {
		s.ID = "s" + digest(s.Source+"\x00"+s.Text)
	}
	return s
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// worthFinding is the share of the best score below which a result is left out: a search tool does not fill its page with
// texts that have nothing to do with the query.
const worthFinding = .5

// among finds texts at hand, by words and latent space, without a network.
func among(texts []Snippet) finder {
	docs := make([]semantic.Document, len(texts))
	for i, s := range texts {
		docs[i].Text = s.Text
	}
	index := semantic.Build(docs, semantic.Options{})
	return func(_ context.Context, q Query) ([]Snippet, error) {
		text, _, _ := strings.Cut(q.Text, " -site:")
		var found []Snippet
		hits := index.Search(strings.ReplaceAll(text, " OR ", " "), mostFound)
		for _, hit := range hits {
			if hit.Score < float64(worthFinding*hits[0].Score) {
				break
			}
			found = append(found, texts[hit.Doc])
		}
		return found, nil
	}
}

// longestPassage is the length in bytes above which a paragraph is cut.
const longestPassage = 1200

// passages returns the paragraphs of a document; long ones are cut after a sentence, else between two words. A document
// of one passage keeps its id; others get #1, #2 …
func passages(doc Document) (all []Snippet) {
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(doc.Text, "\r\n", "\n"), "\n\n") {
		for rest := strings.Join(strings.Fields(paragraph), " "); rest != ""; {
			text := cut(rest, longestPassage)
			for _, end := range []string{". ", "? ", "! ", " "} {
				if i := strings.LastIndex(text, end); len(text) < len(rest) && i > len(text)/2 {
					text = text[:i+1]
					break
				}
			}
			all = append(all, Snippet{doc.ID, strings.TrimSpace(text), cmp.Or(doc.Source, doc.ID)})
			rest = strings.TrimSpace(rest[len(text):])
		}
	}
	for i := range all {
		if len(all) > 1 {
			all[i].ID = cut(doc.ID, maxID-8) + fmt.Sprintf("#%d", i+1)
		}
	}
	return all
}

// byTool finds snippets by a tool of another server.
func (r Request) byTool(caller run.Caller) finder {
	return func(ctx context.Context, q Query) ([]Snippet, error) {
		arguments, err := json.Marshal(map[string]string{cmp.Or(r.SearchArgument, "query"): q.Text})
		if err != nil {
			return nil, err
		}
		res, err := caller.Call(ctx, run.Call{Tool: r.SearchTool, Arguments: arguments, Session: "inquiry", Intent: r.Question})
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

// foundIn reads the snippets in the result of a search tool: those of its structured content, else of each block of text.
func foundIn(r run.Result) []Snippet {
	read := func(data []byte) []Snippet {
		var v any
		_ = json.Unmarshal(data, &v) // a text that is no JSON has no list
		return listed(v, snippetIn)
	}
	found := read(r.Structured)
	var blocks []struct{ Text string }
	if len(found) == 0 && json.Unmarshal(r.Content, &blocks) == nil {
		for _, b := range blocks {
			inside := read([]byte(b.Text))
			if len(inside) == 0 && strings.TrimSpace(b.Text) != "" {
				inside = []Snippet{{Text: b.Text}}
			}
			found = append(found, inside...)
		}
	}
	return first(found, mostFound)
}

// snippetIn reads an object under the names that search tools use, the most telling first; a title stands before the
// text.
func snippetIn(object map[string]any) (s Snippet, ok bool) {
	s.ID = firstText(object, "id", "doi")
	s.Text = firstText(object, "text", "snippet", "content", "passage", "abstract", "description", "summary", "body")
	s.Source = firstText(object, "url", "link", "source", "href", "uri", "domain")
	if title := firstText(object, "title"); title != "" {
		s.Text = strings.TrimSpace(title + ". " + s.Text)
	}
	return s, s.Text != ""
}

// listed returns the first list, in order of names, that has objects of a kind: those that read accepts.
func listed[T any](v any, read func(map[string]any) (T, bool)) (found []T) {
	var inner []any
	switch v := v.(type) {
	case []any:
		inner = v
		for _, item := range v {
			object, _ := item.(map[string]any)
			if x, ok := read(object); ok {
				found = append(found, x)
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner = append(inner, v[name])
		}
	}
	for i := 0; i < len(inner) && len(found) == 0; i++ {
		found = listed(inner[i], read)
	}
	return found
}

// firstText returns the first of these fields that is a text.
func firstText(fields map[string]any, names ...string) string {
	for _, name := range names {
		if text, _ := fields[name].(string); strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
