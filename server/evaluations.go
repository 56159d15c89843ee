package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/server/internal/route"
	"waymark/storage"
	"waymark/suggest/evaluate"
)

// The command line evaluates the own history, which takes minutes; the workspace keeps the last report, so that the page
// can show it.

const evaluationRow = "evaluation"

type keptEvaluation struct {
	At     time.Time       `json:"at" doc:"When the report was stored."`
	Report json.RawMessage `json:"report" doc:"As waymark evaluate --json prints it; docs/lab/quality.md says what the numbers mean."`

	Comparisons []comparedMetric `json:"comparisons" doc:"Each metric beside the best baseline, from the report."`
}

// comparedMetric is a comparison with its verdict in words.
type comparedMetric struct {
	Question      string           `json:"question"`
	Metric        string           `json:"metric"`
	Tasks         int              `json:"tasks"`
	Value         float64          `json:"value"`
	Interval      []float64        `json:"interval,omitempty" doc:"Of the value, 95 %."`
	Baseline      string           `json:"baseline,omitempty" doc:"The best one."`
	BaselineValue float64          `json:"baseline_value"`
	Lead          []float64        `json:"lead,omitempty" doc:"Mean, and the two ends of its interval of 95 %."`
	Verdict       evaluate.Verdict `json:"verdict,omitempty" enum:"leads,even,behind,too few"`
}

// evaluationBody is the most that an evaluation may have, which is more than any other body.
const evaluationBody = 4 << 20

func (s *Server) evaluationRoutes(r *route.Table) {
	route.Add(r, route.Rule{Scope: request.ScopeRead}, huma.Operation{OperationID: "get-evaluation", Method: http.MethodGet, Path: "/v1/evaluation", Tags: []string{"Model"}, Summary: "The last evaluation on the own history",
		Description: "404 until `waymark evaluate --store` has stored one.", Errors: []int{http.StatusNotFound}}, s.getEvaluation)
	route.Add(r, route.Rule{Scope: request.ScopeWrite, Body: evaluationBody}, huma.Operation{OperationID: "store-evaluation", Method: http.MethodPut, Path: "/v1/evaluation", Tags: []string{"Model"}, Summary: "Store an evaluation on the own history",
		Description: "In the place of the last one. The body is what waymark evaluate --json prints."}, s.putEvaluation)
}

func (s *Server) getEvaluation(ctx context.Context, _ *struct{}) (out keptEvaluation, err error) {
	table := s.cfg.Store.Table(request.From(ctx).Workspace)
	value, _, err := table.Get(ctx, evaluationRow)
	if errors.Is(err, storage.ErrNotFound) {
		return out, problem.New(http.StatusNotFound, "no evaluation is stored; `waymark evaluate --store` stores one")
	}
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(value, &out)
}

func (s *Server) putEvaluation(ctx context.Context, q *question[json.RawMessage]) (out keptEvaluation, err error) {
	var report evaluate.Report
	dec := json.NewDecoder(bytes.NewReader(q.Body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&report); err != nil {
		return out, problem.New(http.StatusUnprocessableEntity, "the body is no report of an evaluation: "+err.Error())
	}
	text, err := json.Marshal(report)
	if err != nil {
		return out, err
	}
	kept := keptEvaluation{At: s.cfg.Now().UTC(), Report: text, Comparisons: []comparedMetric{}}
	for _, c := range report.Comparisons() {
		one := comparedMetric{Question: c.Question, Metric: c.Metric, Tasks: c.Tasks, Value: c.Value, Baseline: c.Baseline, BaselineValue: c.BaselineValue, Verdict: c.Verdict()}
		if c.CI != nil {
			one.Interval = c.CI[:]
		}
		if c.Lead != nil {
			one.Lead = []float64{c.Lead.Mean, c.Lead.Interval[0], c.Lead.Interval[1]}
		}
		kept.Comparisons = append(kept.Comparisons, one)
	}
	value, err := json.Marshal(kept)
	if err != nil {
		return out, err
	}
	table := s.cfg.Store.Table(request.From(ctx).Workspace)
	if err := table.Put(ctx, evaluationRow, value); err != nil {
		return out, err
	}
	return kept, nil
}
