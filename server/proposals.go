package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/live"
	"waymark/score"
	"waymark/server/internal/api"
	"waymark/suggest/mine"
)

// Capabilities are mined from the history and wait until a person approves or rejects them. Nothing is published
// automatically.

type (
	mineInput struct {
		Body *struct {
			Support  int             `json:"support,omitempty" minimum:"2" maximum:"1000000" doc:"Minimum number of tasks; default 3."`
			Sessions int             `json:"sessions,omitempty" minimum:"1" maximum:"1000000" doc:"Minimum number of distinct sessions; default 2."`
			Least    int             `json:"min_tools,omitempty" minimum:"2" maximum:"8" doc:"Minimum number of calls; default 2."`
			Most     int             `json:"max_tools,omitempty" minimum:"2" maximum:"8" doc:"Maximum number of calls; default 8."`
			Limit    int             `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"Maximum number of waiting proposals; default 100."`
			Rubric   json.RawMessage `json:"rubric,omitempty" doc:"A custom rubric over the dimensions support, success, cohesion, savings and novelty, 0 to 10 each: an object, or YAML text."`
		}
	}
	proposalsQuery struct {
		State string `query:"state" enum:"proposed,approved,rejected,all" default:"proposed" doc:"The state to list."`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of proposals in the list."`
	}
	proposalList struct {
		Proposals []mine.Proposal `json:"proposals"`
		Total     int             `json:"total"`
	}
	approveInput struct {
		api.ByID
		Body *struct {
			ID   string `json:"id,omitempty" maxLength:"256" doc:"New id of the capability."`
			Name string `json:"name,omitempty" maxLength:"256" doc:"Its name, likewise."`

			Capability *catalog.Capability `json:"capability,omitempty" doc:"The edited capability, which replaces the proposed one."`
		}
	}
	approvedProposal struct {
		mine.Proposal
		Seq uint64 `json:"seq" doc:"The event of the capability, for min_seq of a later question."`
	}
	rejectInput struct {
		api.ByID
		Body *struct {
			Reason string `json:"reason,omitempty" maxLength:"1024"`
		}
	}
)

func (s *Server) proposalRoutes(r *api.Table) {
	read, write := api.Rule{Scope: api.ScopeRead}, api.Rule{Scope: api.ScopeWrite}
	start := api.Op("Catalog", "mine", http.MethodPost, "/v1/proposals", "Mine the history for capabilities",
		"Starts a job; one that runs already is answered instead of a second. What it proposes takes the place of what waited before; what was approved or rejected stays so, and does not come back.")
	start.DefaultStatus = http.StatusAccepted
	api.AddForWorkspace(r, write, start, s.mine)
	api.AddForWorkspace(r, read, api.Op("Catalog", "list-proposals", http.MethodGet, "/v1/proposals", "List proposals", "Waiting proposals are sorted by rank, best first."), s.listProposals)
	api.AddForWorkspace(r, read, api.Op("Catalog", "get-proposal", http.MethodGet, "/v1/proposals/{id}", "One proposal", ""), s.getProposal)
	decide := api.Rule{Scope: api.ScopeAdmin}
	api.AddForWorkspace(r, decide, api.Op("Catalog", "approve-proposal", http.MethodPost, "/v1/proposals/{id}/approve", "Publish a proposal",
		"Its capability is put into the catalog."), s.approveProposal)
	api.AddForWorkspace(r, decide, api.Op("Catalog", "reject-proposal", http.MethodPost, "/v1/proposals/{id}/reject", "Reject a proposal",
		"The same calls in the same order are not proposed again."), s.rejectProposal)
}

func (s *Server) mine(ctx context.Context, e *live.Engine, in *mineInput) (job live.Job, err error) {
	var o live.MineOptions
	if b := in.Body; b != nil {
		o = live.MineOptions{Support: b.Support, Sessions: b.Sessions, Least: b.Least, Most: b.Most, Limit: b.Limit}
		if len(b.Rubric) > 0 {
			if o.Rubric, err = loadRubric(b.Rubric); err != nil {
				return job, api.Problem(http.StatusUnprocessableEntity, err.Error(), &huma.ErrorDetail{Location: "body.rubric", Message: err.Error()})
			}
		}
	}
	return e.Mine(ctx, o)
}

// loadRubric reads a rubric given as an object or as a text.
func loadRubric(raw json.RawMessage) (*score.Rubric, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = []byte(text)
	}
	return score.Load(raw)
}

func (s *Server) listProposals(ctx context.Context, e *live.Engine, q *proposalsQuery) (proposalList, error) {
	state := mine.State(q.State)
	if q.State == "all" {
		state = ""
	}
	all, err := e.Proposals(ctx, state)
	return proposalList{all[:min(len(all), q.Limit)], len(all)}, err
}

func (s *Server) getProposal(ctx context.Context, e *live.Engine, q *api.ByID) (mine.Proposal, error) {
	return e.Proposal(ctx, q.ID)
}

func (s *Server) approveProposal(ctx context.Context, e *live.Engine, in *approveInput) (approvedProposal, error) {
	edit := func(*catalog.Capability) {}
	if b := in.Body; b != nil {
		edit = func(c *catalog.Capability) {
			if b.Capability != nil {
				*c = *b.Capability
			}
			c.ID, c.Name = cmp.Or(b.ID, c.ID), cmp.Or(b.Name, c.Name)
		}
	}
	p, seq, err := e.Approve(ctx, in.ID, edit, api.From(ctx).Trust())
	return approvedProposal{p, seq}, err
}

func (s *Server) rejectProposal(ctx context.Context, e *live.Engine, in *rejectInput) (mine.Proposal, error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	return e.Reject(ctx, in.ID, reason)
}
