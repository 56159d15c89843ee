package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
)

// Suggester trains the engine itself: the catalog and the history are folded and measured as they are
// in a workspace, and the profile answers; "" and auto are what held-out tasks of the history speak for,
// as in a workspace that was rebuilt. A history without episodes is a cold start.
func Suggester(profile string, o suggest.MeasureOptions) Trainer {
	if o.CatalogCache == nil {
		o.CatalogCache = new(suggest.CatalogCache) // for all histories of an evaluation
	}
	return func(ctx context.Context, d *Data, history []*Example) (Predictor, error) {
		o, choice := o, suggest.Choice{}
		switch {
		case profile == suggest.ProfileLearned:
			o.Learn = true
		case profile != suggest.ProfileSeed && !o.WithoutLearned:
			episodes := make([]episodic.Episode, len(history))
			for i, x := range history {
				episodes[i] = x.Episode
			}
			var err error
			t := Trial{New: Recipe{Tools: d.Tools, Capabilities: d.Capabilities, Options: o}, Episodes: episodes}
			if choice, _, err = Judge(ctx, t); err != nil {
				return Predictor{}, err
			}
			o.Learn = choice.Learned()
		}
		m, err := trained(ctx, d, history, o, choice)
		if err != nil {
			return Predictor{}, err
		}
		a := suggester{model: m, profile: profile}
		if _, err := a.Rank(Question{}, 1); err != nil {
			return Predictor{}, err // a profile that the engine refuses
		}
		a.orSeed = true
		for kind, taken := range taken(choice) {
			a.learned[kind] = (profile == suggest.ProfileLearned || taken == suggest.ProfileLearned) && a.teaches(kind)
		}
		return Predictor{a, a, a}, nil
	}
}

// trained is the model of a history, in which profile auto goes by a choice.
func trained(ctx context.Context, d *Data, history []*Example, o suggest.MeasureOptions, auto suggest.Choice) (*suggest.Model, error) {
	s := o.CatalogCache.State(d.Tools, d.Capabilities)
	for _, x := range history {
		s.Record(&x.Episode)
	}
	counts := s.Freeze()
	measures, err := suggest.Measure(ctx, counts, o)
	if err != nil {
		return nil, err
	}
	measures.Choose(auto)
	return suggest.NewModel(counts, measures, suggest.Stamp{Version: "evaluation", Seq: uint64(len(history))})
}

// suggester asks a model the way its clients do, without explanations.
type suggester struct {
	model   *suggest.Model
	profile string
	orSeed  bool        // answers what the profile has learned nothing about
	learned [kinds]bool // what is answered by what was learned
}

// teaches reports whether the history is long enough to learn about a kind of question.
func (a suggester) teaches(kind int) bool {
	next, needs := a.model.Teaches()
	return kind == kindIntent && needs || kind != kindIntent && next
}

// seed reports whether the seed profile has to answer: there may be enough to learn what comes next, say,
// and nothing to learn what intents need, which is what a question becomes whose context nobody knows.
func (a suggester) seed(err error) bool {
	var refused *suggest.RequestError
	return a.orSeed && errors.As(err, &refused) && refused.Field == "profile"
}

var unexplained = new(bool)

// Rank is [Ranker]; the model gives at most [suggest.MaxLimit].
func (a suggester) Rank(q Question, limit int) ([]Candidate, error) {
	found, err := a.next(q, atMost(limit), unexplained)
	return candidates(found), err
}

func (a suggester) next(q Question, limit int, explain *bool) ([]suggest.Suggestion, error) {
	answer, err := a.ask(q, limit, explain)
	return answer.Suggestions, err
}

// ask answers with the seed profile where the model refuses the one under test and orSeed allows that.
func (a suggester) ask(q Question, limit int, explain *bool) (suggest.NextAnswer, error) {
	answer, err := a.model.Next(suggest.NextRequest{
		Context: recent(q.Context), Intent: q.Intent, Limit: limit, Profile: a.profile, Explain: explain,
	})
	if a.seed(err) {
		return suggester{model: a.model, profile: suggest.ProfileSeed}.ask(q, limit, explain)
	}
	if err != nil {
		return answer, fmt.Errorf("next: %w", err)
	}
	return answer, nil
}

func candidates(found []suggest.Suggestion) []Candidate {
	cs := make([]Candidate, len(found))
	for i, s := range found {
		cs[i] = Candidate{s.ID, s.Confidence}
	}
	return cs
}

// Find is [Finder]: what may come next when nothing was done yet. The model gives at most [suggest.MaxLimit].
func (a suggester) Find(intent string, limit int) ([]string, error) {
	found, err := a.next(Question{Intent: intent}, suggest.MaxLimit, unexplained)
	var ids []string
	for _, s := range found {
		if s.Kind == catalog.KindTool && len(ids) < atMost(limit) {
			ids = append(ids, s.ID)
		}
	}
	return ids, err
}

// Plan is [Planner]. A capability in a plan stands for itself.
func (a suggester) Plan(intent string) (Plan, error) {
	answer, err := a.model.Plan(suggest.DAGRequest{Intent: intent, Profile: a.profile, Explain: unexplained})
	if a.seed(err) {
		return suggester{model: a.model, profile: suggest.ProfileSeed}.Plan(intent)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("dag: %w", err)
	}
	var p Plan
	tasks := answer.DAG.Tasks
	for _, t := range tasks {
		p.Tools = append(p.Tools, t.Tool)
		for _, id := range t.DependsOn {
			if i := slices.IndexFunc(tasks, func(t suggest.Task) bool { return t.ID == id }); i >= 0 {
				p.Links = append(p.Links, Link{tasks[i].Tool, t.Tool})
			}
		}
	}
	return p, nil
}

// recent is as much of a context as the model takes.
func recent(context []string) []string {
	return context[max(0, len(context)-suggest.MaxContext):]
}

func atMost(limit int) int {
	if limit == 0 {
		return suggest.MaxLimit
	}
	return min(limit, suggest.MaxLimit)
}

// Search is [Searcher].
func (a suggester) Search(query string, limit int) ([]string, error) {
	answer, err := a.model.Search(suggest.SearchRequest{
		Query: query, Limit: limit, Kinds: []catalog.Kind{catalog.KindTool}, Profile: a.profile, Explain: unexplained,
	})
	if a.seed(err) {
		return suggester{model: a.model, profile: suggest.ProfileSeed}.Search(query, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	ids := make([]string, len(answer.Results))
	for i, r := range answer.Results {
		ids[i] = r.ID
	}
	return ids, nil
}

// Foreign is [Doubter].
func (a suggester) Foreign(intent string) (bool, error) {
	answer, err := a.model.Plan(suggest.DAGRequest{Intent: intent, Profile: a.profile, Explain: unexplained})
	if a.seed(err) {
		return suggester{model: a.model, profile: suggest.ProfileSeed}.Foreign(intent)
	}
	return slices.Contains(answer.Warnings, suggest.WarnForeign), err
}
