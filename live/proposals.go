package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/score"
	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/mine"
)

// Proposals are rows of the workspace's table, because they are derived from the history and no part of it. Only an
// approved one becomes an event: its capability is put.
const proposalRow = "proposals/"

// MineOptions set the limits of proposals. Zero fields mean the defaults of package mine.
type MineOptions struct {
	Support  int           // fewest tasks
	Sessions int           // fewest sessions
	Least    int           // fewest calls
	Most     int           // most calls
	Limit    int           // most proposals that wait, default 100
	Rubric   *score.Rubric // default [mine.Bundled]
}

// mostProposals is how many wait at a time by default: more than a person reads.
const mostProposals = 100

// Mine starts a job that looks for capabilities in the history and proposes them. Undecided proposals
// that are not found again are deleted; approved and rejected ones stay as they are. If a job of this
// kind is running, Mine returns it.
func (e *Engine) Mine(ctx context.Context, o MineOptions) (Job, error) {
	if o.Rubric != nil {
		if err := mine.CheckRubric(o.Rubric); err != nil {
			return Job{}, &suggest.RequestError{Kind: suggest.Invalid, Field: "rubric", Detail: err.Error()}
		}
	}
	return described(e.start(Job{Kind: "mine", Reason: requested}, func(ctx context.Context, j *job) error { return e.mine(ctx, j, o) }))
}

func (e *Engine) mine(ctx context.Context, j *job, o MineOptions) error {
	e.progress(j, "mine", 0)
	forgets := e.forgets.Load()
	if err := e.Wait(ctx, e.Counted()); err != nil { // the model counts everything acknowledged before
		return err
	}
	m := e.Model()
	report, err := mine.Propose(mine.History{
		Episodes: func() iter.Seq2[*episodic.Episode, error] { return e.episodes(ctx) },
		Tool:     m.Tool, Capabilities: m.Capabilities(),
	}, mine.Options{
		Support: o.Support, Sessions: o.Sessions, Least: o.Least, Most: o.Most, Rubric: o.Rubric,
		Stop:     func() bool { return ctx.Err() != nil },
		Progress: func(done float64) { e.progress(j, "mine", .1+float64(.8*done)) },
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("mine workspace %q: %w", e.name, err)
	}
	if cut := len(report.Proposals) - cmp.Or(o.Limit, mostProposals); cut > 0 {
		report.Proposals, report.Partial = report.Proposals[:len(report.Proposals)-cut], true
	}
	e.progress(j, "keep", .95)
	e.proposing.Lock()
	defer e.proposing.Unlock()
	if e.forgets.Load() != forgets {
		return errors.New("episodes were forgotten meanwhile; mine again")
	}
	kept, err := e.keepProposals(ctx, report.Proposals)
	if err != nil {
		return fmt.Errorf("keep the proposals of workspace %q: %w", e.name, err)
	}
	e.update(j, func(j *Job) {
		j.Mined = &MineReport{Report: report, Proposed: kept, Decided: len(report.Proposals) - kept}
	})
	return nil
}

// keepProposals replaces the undecided proposals by new ones and returns how many it stored.
func (e *Engine) keepProposals(ctx context.Context, found []mine.Proposal) (kept int, err error) {
	stored, err := e.Proposals(ctx, "")
	if err != nil {
		return 0, err
	}
	before := map[string]mine.State{}
	for _, p := range stored {
		before[p.ID] = p.State
	}
	for _, p := range found {
		if state := cmp.Or(before[p.ID], mine.Proposed); state != mine.Proposed {
			continue
		}
		kept++
		p.Rank = kept
		if err := e.putProposal(ctx, p); err != nil {
			return kept, err
		}
		delete(before, p.ID)
	}
	var keys []string
	for id, state := range before {
		if state == mine.Proposed {
			keys = append(keys, proposalRow+id)
		}
	}
	return kept, e.table.Delete(ctx, keys...)
}

func proposalChange(p mine.Proposal) (storage.Change, error) {
	value, err := json.Marshal(p)
	c := storage.Change{Key: proposalRow + p.ID, Value: value}
	return c, cmp.Or(err, fits(c))
}

func (e *Engine) putProposal(ctx context.Context, p mine.Proposal) error {
	row, err := proposalChange(p)
	if err != nil {
		return err
	}
	return e.table.Apply(ctx, row)
}

// Proposals lists the proposals in a state, "" for all: the undecided ones by rank, then the decided ones by id.
func (e *Engine) Proposals(ctx context.Context, state mine.State) ([]mine.Proposal, error) {
	all := []mine.Proposal{}
	for row, err := range e.table.List(ctx, proposalRow) {
		if err != nil {
			return nil, fmt.Errorf("list the proposals of workspace %q: %w", e.name, err)
		}
		var p mine.Proposal
		if err := json.Unmarshal(row.Value, &p); err != nil {
			return nil, fmt.Errorf("proposal %q: %w", row.Key, errors.Join(storage.ErrDamaged, err))
		}
		if state == "" || p.State == state {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b mine.Proposal) int {
		return cmp.Or(cmp.Compare(min(1, b.Rank), min(1, a.Rank)), cmp.Compare(a.Rank, b.Rank), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Proposal returns one proposal in any state.
func (e *Engine) Proposal(ctx context.Context, id string) (p mine.Proposal, err error) {
	value, _, err := e.table.Get(ctx, proposalRow+id)
	if errors.Is(err, storage.ErrNotFound) {
		return p, &suggest.RequestError{Kind: suggest.NotFound, Detail: fmt.Sprintf("there is no proposal %q", id)}
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(value, &p); err != nil {
		return p, fmt.Errorf("proposal %q: %w", id, errors.Join(storage.ErrDamaged, err))
	}
	return p, nil
}

// Approve approves a proposal: its capability, as edit changes it, is put into the catalog. If the proposal is
// approved already, its capability is put again; a rejected one may still be approved. The capability of a caller who
// is not trusted is quarantined. seq is the event of the capability.
func (e *Engine) Approve(ctx context.Context, id string, edit func(*catalog.Capability), by Trust) (p mine.Proposal, seq uint64, err error) {
	e.proposing.Lock()
	defer e.proposing.Unlock()
	if p, err = e.Proposal(ctx, id); err != nil {
		return p, 0, err
	}
	edit(&p.Capability)
	m := e.Model()
	if c, taken := m.Capability(p.Capability.ID); taken && p.State != mine.Approved {
		return p, 0, &suggest.RequestError{Kind: suggest.Invalid, Field: "id", Detail: fmt.Sprintf("there is a capability %q already; give another id", c.ID)}
	}
	done := p
	done.State, done.Rank, done.Reason = mine.Approved, 0, ""
	row, err := proposalChange(done)
	if err != nil {
		return p, 0, err
	}
	r, err := e.putCapabilities(ctx, []catalog.Capability{p.Capability}, by, map[string]storage.Change{p.Capability.ID: row})
	if err == nil && len(r.Rejected) > 0 {
		err = &suggest.RequestError{Kind: suggest.Invalid, Detail: r.Rejected[0].Error}
	}
	if err == nil && !slices.Contains(r.stored, p.Capability.ID) { // the capability is there already
		err = e.table.Apply(ctx, row)
	}
	if err != nil {
		return p, 0, err
	}
	return done, r.Seq, nil
}

// Reject rejects a proposal: the same calls in the same order are not proposed again. An approved proposal cannot be
// rejected; remove its capability instead.
func (e *Engine) Reject(ctx context.Context, id, reason string) (p mine.Proposal, err error) {
	e.proposing.Lock()
	defer e.proposing.Unlock()
	if p, err = e.Proposal(ctx, id); err != nil {
		return p, err
	}
	if p.State == mine.Approved {
		return p, &suggest.RequestError{Kind: suggest.Invalid, Detail: fmt.Sprintf("proposal %q is approved; remove capability %q instead", id, p.Capability.ID)}
	}
	p.State, p.Rank, p.Reason = mine.Rejected, 0, reason
	return p, e.putProposal(ctx, p)
}

// dropProposals deletes the undecided proposals, and from the decided ones the data that comes from episodes,
// because some episodes are forgotten.
func (e *Engine) dropProposals(ctx context.Context) error {
	e.proposing.Lock()
	defer e.proposing.Unlock()
	all, err := e.Proposals(ctx, "")
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.State == mine.Proposed {
			err = e.table.Delete(ctx, proposalRow+p.ID)
		} else {
			p.Evidence, p.Scores, p.Notes = mine.Evidence{}, nil, nil
			if c := &p.Capability; p.State == mine.Rejected { // its words come from intents
				*c = catalog.Capability{Tools: c.Tools, Tasks: c.Tasks}
			}
			err = e.putProposal(ctx, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
