package evaluate

import (
	"context"
	"fmt"
	"slices"

	"waymark/catalog"
	"waymark/suggest"
	"waymark/suggest/history"
)

// Suggester returns a trainer of the engine itself, which folds and measures the catalog and the history as a workspace
// does. The predictors are the profile and, if that is another one, profile seed. No episodes: a cold start.
func Suggester(profile string, o suggest.MeasureOptions) Trainer {
	o.Learn = profile != suggest.ProfileSeed
	return func(ctx context.Context, d *Data, past []*Example) ([]Predictor, error) {
		m, err := modelOf(ctx, d, o, past, nil)
		if err != nil {
			return nil, err
		}
		all := []Predictor{engine(m, profile)}
		if o.Learn {
			all = append(all, engine(m, suggest.ProfileSeed))
		}
		_, err = all[0].Next(Question{}) // the engine may refuse the profile
		return all, err
	}
}

// modelOf returns a model that counts all examples and is measured on the known ones.
func modelOf(ctx context.Context, d *Data, o suggest.MeasureOptions, known, since []*Example) (*suggest.Model, error) {
	s := history.WithCatalog(d.Tools, d.Capabilities)
	for _, x := range known {
		s.Record(&x.Episode)
	}
	measures, err := suggest.Measure(ctx, s.Freeze(), o)
	if err != nil {
		return nil, err
	}
	for _, x := range since {
		s.Record(&x.Episode)
	}
	return suggest.NewModel(s.Freeze(), measures, suggest.Stamp{Version: "evaluation", Seq: uint64(len(known))})
}

// engine returns a predictor that asks a model as its clients do, without explanations. Find asks for the next tools
// with an empty context. A capability in a plan counts as one tool.
func engine(m *suggest.Model, profile string) Predictor {
	explain := new(bool)
	next := func(q Question) ([]suggest.Suggestion, error) {
		answer, err := m.Next(suggest.NextRequest{
			Context: q.Context[max(0, len(q.Context)-suggest.MaxContext):], Intent: q.Intent,
			Limit: suggest.MaxLimit, Profile: profile, Explain: explain,
		})
		if err != nil {
			return nil, fmt.Errorf("next: %w", err)
		}
		return answer.Suggestions, nil
	}
	return Predictor{
		Name: profile,
		Next: func(q Question) ([]Candidate, error) {
			found, err := next(q)
			list := make([]Candidate, len(found))
			for i, s := range found {
				list[i] = Candidate{s.ID, s.Confidence}
			}
			return list, err
		},
		Find: func(intent string) (ids []string, err error) {
			found, err := next(Question{Intent: intent})
			for _, s := range found {
				if s.Kind == catalog.KindTool {
					ids = append(ids, s.ID)
				}
			}
			return ids, err
		},
		Plan: func(intent string) (Plan, error) {
			answer, err := m.Plan(suggest.DAGRequest{Intent: intent, Profile: profile, Explain: explain})
			if err != nil {
				return Plan{}, fmt.Errorf("dag: %w", err)
			}
			p := Plan{Foreign: slices.Contains(answer.Warnings, suggest.WarnForeign)}
			tool := map[string]string{}
			for _, t := range answer.DAG.Tasks {
				tool[t.ID] = t.Tool
			}
			for _, t := range answer.DAG.Tasks {
				p.Tools = append(p.Tools, t.Tool)
				for _, id := range t.DependsOn {
					if from, ok := tool[id]; ok {
						p.Links = append(p.Links, Link{from, t.Tool})
					}
				}
			}
			return p, nil
		},
		Search: func(query string) (ids []string, err error) {
			answer, err := m.Search(suggest.SearchRequest{
				Query: query, Limit: 5, Kinds: []catalog.Kind{catalog.KindTool}, Profile: profile, Explain: explain,
			})
			if err != nil {
				return nil, fmt.Errorf("search: %w", err)
			}
			for _, r := range answer.Results {
				ids = append(ids, r.ID)
			}
			return ids, nil
		},
	}
}
