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

// State of a proposal.
type State string

const (
	Proposed State = "proposed"
	Approved State = "approved"
	Rejected State = "rejected"
)

// Proposal is a capability that the history suggests.
type Proposal struct {
	ID         string             `json:"id"` // names its tools and their order: what is the same has the same id
	State      State              `json:"state"`
	Rank       int                `json:"rank,omitempty"` // among those that wait for a decision, from 1
	Capability catalog.Capability `json:"capability"`
	Composite  score.Decimal      `json:"composite"` // by the rubric
	Verdict    string             `json:"verdict"`
	Caution    bool               `json:"caution,omitempty"`
	Scores     []Score            `json:"scores"`
	Evidence   Evidence           `json:"evidence"`
	Notes      []string           `json:"notes,omitempty"`  // what whoever approves it should know
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

// Evidence is what was counted.
type Evidence struct {
	Tasks     int      `json:"tasks"`    // that did it, in this order
	Sessions  int      `json:"sessions"` // of them
	Together  int      `json:"together"` // tasks in which its calls stand close together, in whatever order
	All       int      `json:"all"`      // tasks that call all its tools
	Succeeded int      `json:"succeeded"`
	Known     int      `json:"known"`     // tasks that did it whose outcome is known
	BaseRate  float64  `json:"base_rate"` // of success, of tasks with its tools
	Saved     int      `json:"calls_saved"`
	Calls     int      `json:"calls"`              // of the whole history
	Nearest   string   `json:"nearest,omitempty"`  // the capability that is most like it
	Jaccard   float64  `json:"jaccard"`            // of the tools of both
	Examples  []string `json:"examples,omitempty"` // ids of the newest episodes that did it
}

// History is what proposals are made from.
type History struct {
	Episodes     func() iter.Seq2[*episodic.Episode, error] // in the order recorded, the same each time
	Tool         func(id string) (catalog.Tool, bool)
	Capabilities []catalog.Capability
}

//go:embed rubric.yaml
var bundled []byte

// Bundled is the rubric that proposals are scored by.
var Bundled = score.MustLoad(bundled)

// Report is what came of mining.
type Report struct {
	Proposals []Proposal `json:"-"`
	Episodes  int        `json:"episodes"`
	Sessions  int        `json:"sessions"` // of them; one without a session counts as one
	Long      int        `json:"long"`     // of them, those with as many calls as a pattern has at least
	Asked     Asked      `json:"asked"`
	Patterns  int        `json:"patterns"`
	Weak      int        `json:"weak"`    // patterns that the rubric turns down
	Partial   bool       `json:"partial"` // something may be missing: a limit of work or of proposals was met
}

// Asked is what a pattern takes.
type Asked struct {
	Support  int `json:"support"`   // fewest tasks that did it
	Sessions int `json:"sessions"`  // fewest sessions among them
	Least    int `json:"min_tools"` // fewest calls
	Most     int `json:"max_tools"` // most calls
}

// ErrStopped says that the options' Stop ended the work.
var ErrStopped = errors.New("mining was stopped")

// Propose mines a history and makes proposals of what it finds, best first.
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
	for i, rank := range o.Rubric.Rank(ids, results) { // 0: it fails
		all[i].Rank = rank
	}
	r.Proposals = slices.DeleteFunc(all, func(p Proposal) bool { return p.Rank == 0 })
	slices.SortFunc(r.Proposals, func(a, b Proposal) int { return cmp.Compare(a.Rank, b.Rank) })
	r.Weak = len(drafts) - len(r.Proposals)
	return r, nil
}

// taskID names the task at a place of a pattern.
func taskID(i int) string { return fmt.Sprintf("t%d", i+1) }

// contentID names tools and their order.
func contentID(tools []string, after [][]int) string {
	h := sha256.New()
	for i, t := range tools {
		fmt.Fprintf(h, "%q %v\n", t, after[i])
	}
	return "p" + hex.EncodeToString(h.Sum(nil)[:6])
}
