package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
)

// chain is an example of tools one after the other.
func chain(id, split, intent string, tools ...string) Example {
	e := episodic.Episode{ID: id, Intent: intent, Outcome: episodic.Success}
	for i, tool := range tools {
		s := episodic.Step{ID: fmt.Sprint(i + 1), Tool: tool, DependsOn: []string{}}
		if i > 0 {
			s.DependsOn = []string{fmt.Sprint(i)}
		}
		e.Steps = append(e.Steps, s)
	}
	return Example{Episode: e, Split: split}
}

func tools(ids ...string) (list []catalog.Tool) {
	for _, id := range ids {
		list = append(list, catalog.Tool{ID: id, Name: id})
	}
	return list
}

func small() *Data {
	return &Data{Name: "small", Tools: tools("fetch", "parse", "store", "mail"), Examples: []Example{
		chain("1", Train, "parse the page", "fetch", "parse"),
		chain("2", Train, "store the page", "fetch", "parse", "store"),
		chain("3", Train, "mail the page", "fetch", "mail"),
		chain("4", Test, "store this page", "fetch", "parse", "store"),
		chain("5", Test, "mail what you fetch", "fetch", "mail", "mail"),
	}}
}

// spy is a trainer that notes what it was given, and answers with the whole catalog by id.
type spy struct {
	sync.Mutex
	histories map[string][]string // by question: ids of the history
}

func (s *spy) train(_ context.Context, d *Data, examples []*Example) ([]Predictor, error) {
	var history []string
	for _, x := range examples {
		history = append(history, x.Episode.ID)
	}
	return []Predictor{{
		Name: "spy",
		Next: func(q Question) (list []Candidate, _ error) {
			s.Lock()
			defer s.Unlock()
			s.histories[strings.Join(q.Context, " ")+"|"+q.Intent] = history
			for _, tool := range d.Tools {
				list = append(list, Candidate{tool.ID, 0.5})
			}
			return list, nil
		},
		Find: func(string) ([]string, error) { return []string{"fetch"}, nil },
		Plan: func(string) (Plan, error) {
			return Plan{Tools: []string{"fetch", "mail"}, Links: []Link{{"fetch", "mail"}}}, nil
		},
	}}, nil
}

func value(t testing.TB, r *Report, question, metric string) float64 {
	t.Helper()
	i := slices.IndexFunc(r.Rows, func(x Row) bool { return x.Question == question && x.Metric == metric })
	require.GreaterOrEqual(t, i, 0, "%s %s", question, metric)
	return r.Rows[i].Value
}

// After fetch the history knows parse twice, mail once; the popularity is fetch 3, parse 2, then mail
// and store, once each, by id.
func TestEvaluateAsksEveryPosition(t *testing.T) {
	s := &spy{histories: map[string][]string{}}
	done, total := 0, 0
	r, err := Evaluate(t.Context(), small(), s.train, Options{Profile: "spy", Progress: func(d, n int) { done, total = d, n }})
	require.NoError(t, err)
	history := []string{"1", "2", "3"}
	assert.Equal(t, map[string][]string{
		"fetch|": history, "fetch parse|": history, "fetch mail|": history,
		"fetch|store this page": history, "fetch parse|store this page": history,
		"fetch|mail what you fetch": history, "fetch mail|mail what you fetch": history,
	}, s.histories)
	assert.Equal(t, []int{3, 2}, []int{r.TrainEpisodes, r.TestEpisodes})
	assert.False(t, r.LeaveOneOut)
	assert.Equal(t, []int{8, 8}, []int{done, total}, "two tests of four kinds of questions")
	// The catalog in its order: parse 2, store 3, mail 4, mail 4.
	assert.InDelta(t, (1.0/2+1.0/3+1.0/4+1.0/4)/4, value(t, r, QuestionNext, "mrr"), 1e-12)
	assert.Equal(t, value(t, r, QuestionNext, "mrr"), value(t, r, QuestionNextIntent, "mrr"))
	assert.InDelta(t, 0.5, r.Confidence[QuestionNext].ECE, 1e-12, "half sure and never right")
	assert.InDelta(t, (1.0/3+1.0/2)/2, value(t, r, QuestionTools, "recall@5"), 1e-12)
	assert.InDelta(t, (0.4+1)/2, value(t, r, QuestionDAG, "node_f1"), 1e-12)
	assert.InDelta(t, 0.5, value(t, r, QuestionDAG, "link_f1"), 1e-12)
	assert.InDelta(t, 0.5, value(t, r, QuestionDAG, "accuracy"), 1e-12)

	// Positions: fetch→parse, fetch parse→store, fetch→mail, fetch mail→mail.
	mean := func(ranks ...float64) (mrr float64) {
		for _, x := range ranks {
			mrr += 1 / x / float64(len(ranks))
		}
		return mrr
	}
	assert.InDelta(t, mean(2, 4, 3, 3), r.Baselines["popularity"]["mrr"], 1e-12)
	assert.InDelta(t, mean(1, 1, 2, 3), r.Baselines["markov1"]["mrr"], 1e-12, "nothing came after mail: popularity")
	assert.InDelta(t, 0.5, r.Baselines["markov1"]["hit@1"], 1e-12)
	assert.NotContains(t, r.Baselines, "markov2_knn", "without the intent it is not asked")
	// Copying: 4 is nearest to 2, word by word; 5 shares mail with 3.
	assert.InDelta(t, 1, r.Baselines["copy"]["node_f1"], 1e-12, "as sets")
	assert.InDelta(t, 1, r.Baselines["copy"]["link_f1"], 1e-12)

	require.Equal(t, "mrr", r.Rows[3].Metric)
	lead := r.Rows[3].Baseline
	assert.Equal(t, []int{2, 4}, []int{r.Rows[3].Tasks, r.Rows[3].Asked})
	assert.Equal(t, "markov1", lead.Name)
	assert.InDelta(t, r.Rows[3].Value-lead.Value, lead.Lead.Mean, 1e-12)
	assert.Less(t, lead.Lead.Interval[1], 0.0, "markov1 is better on both episodes")
	assert.Equal(t, tooFew, r.Rows[3].Verdict)
	assert.Len(t, r.TooFew, 4)
}

// Without a train split each test is held out in turn.
func TestLeaveOneOut(t *testing.T) {
	d := small()
	for i := range d.Examples {
		d.Examples[i].Split = Test
	}
	for i := range d.Examples[:2] {
		d.Examples[i].Split = "" // a set without a split
	}
	s := &spy{histories: map[string][]string{}}
	r, err := Evaluate(t.Context(), d, s.train, Options{})
	require.NoError(t, err)
	assert.True(t, r.LeaveOneOut)
	assert.Zero(t, r.TrainEpisodes)
	assert.Equal(t, 5, r.TestEpisodes)
	assert.Equal(t, []string{"2", "3", "4", "5"}, s.histories["fetch|parse the page"])
	assert.Equal(t, []string{"1", "2", "4", "5"}, s.histories["fetch|mail the page"])
	assert.Equal(t, []string{"1", "3", "4", "5"}, s.histories["fetch parse|store the page"])
	assert.Equal(t, []string{"1", "2", "3", "4"}, s.histories["fetch mail|mail what you fetch"])
}

// The same bytes on one processor and on many, whatever the order in which tests are done.
func TestReportIsTheSameOnAnyNumberOfProcessors(t *testing.T) {
	d := small()
	for i := range 60 {
		tools := []string{"fetch", "parse", "store", "mail"}
		d.Examples = append(d.Examples, chain(fmt.Sprint("x", i), []string{Train, Test}[i%2], []string{"store it", "mail the page", ""}[i%3],
			tools[i%4], tools[i/4%4], tools[i/16%4]))
	}
	report := func(processors int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		r, err := Evaluate(t.Context(), d, Suggester(suggest.ProfileSeed, suggest.MeasureOptions{WithoutLearned: true}), Options{Profile: "seed"})
		require.NoError(t, err)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, report(1), report(7))
}

func TestEvaluateErrors(t *testing.T) {
	s := &spy{histories: map[string][]string{}}
	_, err := Evaluate(t.Context(), &Data{Name: "empty"}, s.train, Options{})
	assert.ErrorIs(t, err, ErrNothingToTest)

	broken := errors.New("no memory")
	_, err = Evaluate(t.Context(), small(), func(context.Context, *Data, []*Example) ([]Predictor, error) { return nil, broken }, Options{})
	assert.EqualError(t, err, "evaluate on small: train on 3 episodes: no memory")
	_, err = Evaluate(t.Context(), small(), func(context.Context, *Data, []*Example) ([]Predictor, error) {
		return []Predictor{{Next: func(Question) ([]Candidate, error) { return nil, broken }}}, nil
	}, Options{})
	assert.EqualError(t, err, `evaluate on small: next of "4": no memory`)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Evaluate(ctx, small(), s.train, Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestHoldOut(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	episodes := []episodic.Episode{{ID: "c", Time: day(3)}, {ID: "a", Time: day(1)}, {ID: "d", Time: day(4)}, {ID: "b", Time: day(2)}, {ID: "b2", Time: day(2)}}
	order := func(share float64) (ids []string) {
		examples, err := HoldOut(episodes, share)
		require.NoError(t, err)
		for _, x := range examples {
			ids = append(ids, x.Split+" "+x.Episode.ID)
		}
		return ids
	}
	assert.Equal(t, []string{"train a", "train b", "train b2", "test c", "test d"}, order(0.4), "by time, then as recorded")
	episodes[4].Time = time.Time{}
	assert.Equal(t, []string{"train c", "train a", "test d", "train b", "test b2"}, order(0.4), "spread evenly where a time is missing")
	for _, share := range []float64{0, 1, -1, 0.01, 0.99} {
		_, err := HoldOut(episodes, share)
		assert.Error(t, err, "%v", share)
	}
}
