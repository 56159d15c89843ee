package evaluate

import (
	"context"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/suggest"
)

// Suggester trains the engine itself: the catalog and the history are folded and measured as they are
// in a workspace, and the profile answers. A history without episodes is a cold start.
func Suggester(profile string, o suggest.MeasureOptions) Trainer {
	if o.CatalogCache == nil {
		o.CatalogCache = new(suggest.CatalogCache) // for all histories of an evaluation
	}
	o.Learn = profile != suggest.ProfileSeed
	return func(ctx context.Context, d *Data, history []*Example) (Predictor, error) {
		m, err := trained(ctx, d, history, o)
		if err != nil {
			return Predictor{}, err
		}
		a := suggester{m, profile}
		if _, err := a.Rank(Question{}, 1); err != nil {
			return Predictor{}, err // a profile that the engine refuses
		}
		return Predictor{a, a, a}, nil
	}
}

// trained is the model of a history.
func trained(ctx context.Context, d *Data, history []*Example, o suggest.MeasureOptions) (*suggest.Model, error) {
	s := o.CatalogCache.State(d.Tools, d.Capabilities)
	for _, x := range history {
		s.Record(&x.Episode)
	}
	counts := s.Freeze()
	measures, err := suggest.Measure(ctx, counts, o)
	if err != nil {
		return nil, err
	}
	return suggest.NewModel(counts, measures, suggest.Stamp{Version: "evaluation", Seq: uint64(len(history))})
}

// suggester asks a model the way its clients do, without explanations.
type suggester struct {
	model   *suggest.Model
	profile string
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

func (a suggester) ask(q Question, limit int, explain *bool) (suggest.NextAnswer, error) {
	answer, err := a.model.Next(suggest.NextRequest{
		Context: recent(q.Context), Intent: q.Intent, Limit: limit, Profile: a.profile, Explain: explain,
	})
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
	return slices.Contains(answer.Warnings, suggest.WarnForeign), err
}
