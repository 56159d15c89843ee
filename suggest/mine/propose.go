package mine

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/score"
)

// State is the state of a proposal.
type State string

const (
	Proposed State = "proposed"
	Approved State = "approved"
	Rejected State = "rejected"
)

// Proposal is a capability that the history suggests.
type Proposal struct {
	ID         string             `json:"id"` // hash of its tools and their order: equal patterns have equal ids
	State      State              `json:"state"`
	Rank       int                `json:"rank,omitempty"` // among the undecided proposals, from 1
	Capability catalog.Capability `json:"capability"`
	Composite  score.Decimal      `json:"composite"` // by the rubric
	Verdict    string             `json:"verdict"`
	Caution    bool               `json:"caution,omitempty"`
	Scores     []Score            `json:"scores"`
	Evidence   Evidence           `json:"evidence"`
	Notes      []string           `json:"notes,omitempty"`  // remarks for the person who approves it
	Reason     string             `json:"reason,omitempty"` // of a rejection
}

// Score is one dimension of the rubric.
type Score struct {
	Dimension   string        `json:"dimension"`
	Weight      score.Decimal `json:"weight"`
	Score       score.Decimal `json:"score"`
	Applies     bool          `json:"applies"`
	Explanation string        `json:"explanation"`
}

// Evidence holds the counts behind a proposal.
type Evidence struct {
	Tasks     int      `json:"tasks"`    // tasks with the pattern, in its order
	Sessions  int      `json:"sessions"` // sessions of these tasks
	Together  int      `json:"together"` // tasks in which its calls are close together, in any order
	All       int      `json:"all"`      // tasks that call all its tools
	Succeeded int      `json:"succeeded"`
	Known     int      `json:"known"`     // tasks with the pattern and a known outcome
	BaseRate  float64  `json:"base_rate"` // success rate of tasks with its tools
	Saved     int      `json:"calls_saved"`
	Calls     int      `json:"calls"`              // calls of the whole history
	Nearest   string   `json:"nearest,omitempty"`  // the most similar capability
	Jaccard   float64  `json:"jaccard"`            // similarity of its tools and those of Nearest
	Examples  []string `json:"examples,omitempty"` // ids of the newest episodes with the pattern
}

// History is the input of [Propose].
type History struct {
	Episodes     func() iter.Seq2[*episodic.Episode, error] // in the order recorded, the same each time
	Tool         func(id string) (catalog.Tool, bool)
	Capabilities []catalog.Capability
}

//go:embed rubric.yaml
var bundled []byte

// Bundled is the default rubric for proposals.
var Bundled = score.MustLoad(bundled)

// Report is the result of mining.
type Report struct {
	Proposals []Proposal `json:"-"`
	Episodes  int        `json:"episodes"`
	Sessions  int        `json:"sessions"` // sessions of these episodes; an episode without a session counts as one
	Long      int        `json:"long"`     // episodes with at least as many calls as the smallest pattern
	Asked     Asked      `json:"asked"`
	Patterns  int        `json:"patterns"`
	Weak      int        `json:"weak"`    // patterns that the rubric rejects
	Partial   bool       `json:"partial"` // something may be missing: a limit of work or of patterns was reached
}

// Asked holds the requirements for a pattern.
type Asked struct {
	Support  int `json:"support"`   // fewest tasks with the pattern
	Sessions int `json:"sessions"`  // fewest sessions among them
	Least    int `json:"min_tools"` // fewest calls
	Most     int `json:"max_tools"` // most calls
}

// ErrStopped is returned if Options.Stop ended the work.
var ErrStopped = errors.New("mining was stopped")

// Propose mines a history and returns proposals for the patterns that the rubric accepts, best first.
func Propose(h History, o Options) (Report, error) {
	o = o.filled()
	if err := CheckRubric(o.Rubric); err != nil {
		return Report{}, err
	}
	g, err := gather(h, o.Newest)
	if err != nil {
		return Report{}, err
	}
	found := Patterns(g.tasks, len(g.tools), o)
	if o.Stop != nil && o.Stop() {
		return Report{}, ErrStopped
	}
	r := Report{
		Asked: Asked{o.Support, o.Sessions, o.Least, o.Most}, Episodes: len(g.tasks), Sessions: g.sessions,
		Patterns: len(found.Patterns), Partial: found.Partial,
	}
	for _, t := range g.tasks {
		if len(t.Tools) >= o.Least {
			r.Long++
		}
	}
	drafts := make([]*draft, len(found.Patterns))
	for i := range drafts {
		drafts[i] = g.draft(&found.Patterns[i], h)
	}
	if err := g.read(h, drafts); err != nil {
		return Report{}, err
	}
	ids, results, all := make([]string, len(drafts)), make([]score.Result, len(drafts)), make([]Proposal, len(drafts))
	for i, d := range drafts {
		if all[i], results[i], err = d.score(g, h, o.Rubric, o.Support); err != nil {
			return Report{}, err
		}
		ids[i] = all[i].ID
	}
	for i, rank := range o.Rubric.Rank(ids, results) { // 0: the rubric rejects it
		all[i].Rank = rank
	}
	r.Proposals = slices.DeleteFunc(all, func(p Proposal) bool { return p.Rank == 0 })
	slices.SortFunc(r.Proposals, func(a, b Proposal) int { return cmp.Compare(a.Rank, b.Rank) })
	r.Weak = len(drafts) - len(r.Proposals)
	return r, nil
}

// taskID returns the id of the task at index i of a pattern.
func taskID(i int) string { return fmt.Sprintf("t%d", i+1) }

// contentID returns an id that depends only on the tools and their order.
func contentID(tools []string, after [][]int) string {
	h := sha256.New()
	for i, t := range tools {
		fmt.Fprintf(h, "%q %v\n", t, after[i])
	}
	return "p" + hex.EncodeToString(h.Sum(nil)[:6])
}
