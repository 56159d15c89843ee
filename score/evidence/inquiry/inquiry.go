// Package inquiry answers a question by itself: a judge model proposes hypotheses, a search tool brings
// snippets for the queries of package evidence, until its gate stops.
//
//	question ─▶ difficulty ─ easy ─▶ one plain search
//	                └ else ─▶ judge ─▶ 5 hypotheses ─▶ round: queries ─▶ search ─▶ weights ─▶ gate ─▶ report
//	                                                     ▲                                     │
//	                                                     └─────────── continue, forced ────────┘
//
// The judge is called once, and again only if its reply cannot be used. The first round is broad: it also
// searches for the question itself and for every hypothesis, since before any evidence the first two are
// only the judge's. A query that comes again is not searched for again but goes on in its list. Everything that was asked and
// found is in the [Report]; with the same replies and results it is the same report.
package inquiry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"waymark/score/evidence"
)

// A Judge answers a prompt with text that should be JSON. What it returns is not trusted.
type Judge interface {
	Ask(ctx context.Context, prompt evidence.Prompt) (reply string, err error)
}

// A Searcher finds snippets, best first. A snippet without a usable id gets one from its content. It is
// called by several goroutines at once.
type Searcher interface {
	Search(ctx context.Context, query evidence.Query) ([]evidence.Snippet, error)
}

// Options of an inquiry. A zero field means its default.
type Options struct {
	EvenIfEasy    bool              `json:"even_if_easy,omitempty" doc:"Ask for hypotheses even if the question is easy; by default an easy question is only searched for."`
	NoneOfThese   bool              `json:"none_of_these,omitempty" doc:"Add the hypothesis that none of the others is right."`
	MaxAsks       int               `json:"max_asks,omitempty" minimum:"0" maximum:"10" doc:"Maximum number of times the judge is asked for distinct hypotheses; default 3."`
	MaxRounds     int               `json:"max_rounds,omitempty" minimum:"0" maximum:"20" doc:"Maximum number of search rounds; default 6."`
	PerQuery      int               `json:"per_query,omitempty" minimum:"0" maximum:"50" doc:"Number of results used of each search; default 5."`
	Parallel      int               `json:"-"` // searches at once; default 4
	Agreement     *float64          `json:"agreement,omitempty" doc:"Agreement of independent answers, 0 to 1; a term of the confidence."`
	Triangulation *evidence.Options `json:"options,omitempty" doc:"Thresholds; absent ones have their defaults."`
}

func (o Options) filled() Options {
	for _, f := range []struct {
		value    *int
		fallback int
	}{{&o.MaxAsks, 3}, {&o.MaxRounds, 6}, {&o.PerQuery, 5}, {&o.Parallel, 4}} {
		if *f.value <= 0 {
			*f.value = f.fallback
		}
	}
	o.MaxRounds = min(o.MaxRounds, evidence.MaxRounds)
	return o
}

func (o Options) thresholds() evidence.Options {
	if o.Triangulation != nil {
		return *o.Triangulation
	}
	return evidence.Defaults()
}

// Plain is the intent of a search for the question itself, in the words it was asked in. It opens the
// first round, so that there is evidence that no hypothesis asked for.
const Plain evidence.Intent = "question"

// How an inquiry ended.
const (
	Decided    = "stop"       // by the gate
	Exhausted  = "exhausted"  // by the gate
	OutOfRound = "max_rounds" // Options.MaxRounds
	Easy       = "easy"       // plain retrieval
)

// A Report is all that an inquiry did and found.
type Report struct {
	Generation    Generation         `json:"generation"`
	Request       *evidence.Request  `json:"request"`       // the state, to go on from; null if the question is easy
	Triangulation *evidence.Result   `json:"triangulation"` // null if the question is easy
	Searches      []Search           `json:"searches"`
	Snippets      []evidence.Snippet `json:"snippets"` // each once, in order of arrival
	Ended         string             `json:"ended"`
}

// A Search is one query and what came of it.
type Search struct {
	Round     int            `json:"round"`
	Query     evidence.Query `json:"query"`
	Results   []string       `json:"results"`             // ids of the snippets taken
	Continued bool           `json:"continued,omitempty"` // not searched for anew: the next results of an earlier round
	Error     string         `json:"error,omitempty"`
}

// Run answers a question. If a search fails the others of its round count; if all of a round fail, or the
// context ends, or the judge fails, Run returns an error with what it has done so far.
func Run(ctx context.Context, question string, judge Judge, search Searcher, opts Options) (Report, error) {
	opts = opts.filled()
	report := Report{Searches: []Search{}, Snippets: []evidence.Snippet{}}
	var err error
	if report.Generation, err = Generate(ctx, judge, question, opts); err != nil {
		return report, err
	}
	r := retrieval{search: search, opts: opts, report: &report, known: map[evidence.Snippet]bool{}, rest: map[evidence.Query][]evidence.Snippet{}}
	plain := evidence.Query{Intent: Plain, Text: question}
	if report.Generation.Skipped {
		report.Ended = Easy
		_, err := r.round(ctx, 1, []evidence.Query{plain})
		return report, err
	}
	session, err := evidence.New(evidence.Request{
		Question: question, Hypotheses: report.Generation.Hypotheses, NoneOfThese: opts.NoneOfThese,
		Agreement: opts.Agreement, Options: opts.Triangulation,
	})
	if err != nil {
		return report, err
	}
	describe := func() {
		request, result := session.Request(), session.Result()
		report.Request, report.Triangulation = &request, &result
	}
	queries := slices.Concat([]evidence.Query{plain}, session.Queries(), session.Rest())
	for round := 1; ; round++ {
		snippets, err := r.round(ctx, round, queries)
		if err != nil {
			describe()
			return report, err
		}
		done, err := session.Add(evidence.Round{Snippets: snippets})
		if err != nil {
			describe()
			return report, err
		}
		switch {
		case done.Gate == evidence.Stop:
			report.Ended = Decided
		case done.Gate == evidence.Exhausted:
			report.Ended = Exhausted
		case round == opts.MaxRounds:
			report.Ended = OutOfRound
		}
		if report.Ended != "" {
			describe()
			return report, nil
		}
		queries = done.NextQueries
	}
}

// A retrieval searches and keeps what it found.
type retrieval struct {
	search Searcher
	opts   Options
	report *Report
	known  map[evidence.Snippet]bool             // id and text
	rest   map[evidence.Query][]evidence.Snippet // by text and excluded source: results not taken yet
}

// round does the queries of a round side by side and returns their snippets in the order of the queries,
// each once. A query that was searched for in an earlier round goes on in its list of results.
func (r *retrieval) round(ctx context.Context, number int, queries []evidence.Query) ([]evidence.Snippet, error) {
	type answer struct {
		snippets []evidence.Snippet
		err      error
	}
	answers := make([]answer, len(queries))
	free := make(chan struct{}, r.opts.Parallel)
	var wg sync.WaitGroup
	for i, q := range queries {
		if _, asked := r.rest[key(q)]; asked {
			continue
		}
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			answers[i].snippets, answers[i].err = r.search.Search(ctx, q)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("round %d: %w", number, err)
	}

	var (
		taken  []evidence.Snippet
		texts  = map[string]string{} // of this round, by id
		failed []error
	)
	for i, q := range queries {
		s := Search{Round: number, Query: q, Results: []string{}}
		list := answers[i].snippets
		if rest, asked := r.rest[key(q)]; asked {
			s.Continued, list = true, rest
		}
		if err := answers[i].err; err != nil {
			s.Error = err.Error()
			failed = append(failed, fmt.Errorf("%s: %w", q.Intent, err))
		} else {
			r.rest[key(q)] = nil
		}
		for n, sn := range list {
			if len(s.Results) == r.opts.PerQuery || len(taken) == evidence.MaxSnippets {
				r.rest[key(q)] = list[n:]
				break
			}
			if q.Exclude != "" && evidence.Domain(sn.Source) == q.Exclude {
				continue // the tool did not leave it out
			}
			sn = clean(sn)
			if text, used := texts[sn.ID]; used && text != sn.Text { // another passage of the same document
				sn.ID = cut(sn.ID, evidence.MaxID-20) + "#" + digest(sn.Text)
			}
			s.Results = append(s.Results, sn.ID)
			if _, used := texts[sn.ID]; used {
				continue
			}
			texts[sn.ID] = sn.Text
			taken = append(taken, sn)
			if key := (evidence.Snippet{ID: sn.ID, Text: sn.Text}); !r.known[key] {
				r.known[key] = true
				r.report.Snippets = append(r.report.Snippets, sn)
			}
		}
		r.report.Searches = append(r.report.Searches, s)
	}
	if len(failed) == len(queries) && len(failed) > 0 {
		return nil, fmt.Errorf("round %d: %w", number, errors.Join(failed...))
	}
	return taken, nil
}

// key is what a query looks for.
func key(q evidence.Query) evidence.Query { return evidence.Query{Text: q.Text, Exclude: q.Exclude} }

// clean makes a snippet of a tool fit for a session: valid, bounded, with an id.
func clean(s evidence.Snippet) evidence.Snippet {
	s.Text = cut(strings.ToValidUTF8(s.Text, ""), evidence.MaxSnippet)
	s.Source = cut(strings.ToValidUTF8(s.Source, ""), evidence.MaxSource)
	hidden := func(c rune) bool { return !unicode.IsGraphic(c) }
	if s.ID == "" || len(s.ID) > evidence.MaxID || !utf8.ValidString(s.ID) || strings.ContainsFunc(s.ID, hidden) {
		s.ID = "s" + digest(s.Source+"\x00"+s.Text)
	}
	return s
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// cut shortens a text to at most n bytes, between two characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
