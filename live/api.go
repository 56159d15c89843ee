package live

import (
	"fmt"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/suggest"
	"waymark/suggest/evaluate"
	"waymark/suggest/mine"
)

// Rejection is one item that was not stored, and the reason.
type Rejection struct {
	Line  int    `json:"line,omitempty"` // position in the request, from 1
	ID    string `json:"id"`
	Error string `json:"error"`
	// Conflict: the id is recorded already, with other content.
	Conflict bool `json:"-"`
}

// RecordResult is the result of Record. Seq is the last event that counts: the last one written, if any was.
type RecordResult struct {
	Accepted   int         `json:"accepted"`
	Duplicates int         `json:"duplicates"`
	Rejected   []Rejection `json:"rejected"`
	Seq        uint64      `json:"seq"`
}

// PutResult is the result of a change of the catalog.
type PutResult struct {
	Added     int         `json:"added"`
	Updated   int         `json:"updated"`
	Unchanged int         `json:"unchanged"`
	Changed   []string    `json:"changed"` // tools whose contract (fingerprint) changed
	Rejected  []Rejection `json:"rejected"`
	Flagged   []Flagged   `json:"flagged,omitempty"` // what the checks found in entries that were stored
	Seq       uint64      `json:"seq"`

	stored []string // ids of those added and updated
}

// Feedback is the outcome of a suggestion, which is identified either by SuggestionID (and ID, by default the first
// suggestion of that answer), or by Context and ID.
type Feedback struct {
	SuggestionID string           `json:"suggestion_id,omitempty"`
	Context      []string         `json:"context,omitempty"`
	ID           string           `json:"id,omitempty"`
	Used         bool             `json:"used"`
	Outcome      episodic.Outcome `json:"outcome,omitempty"`
}

// Selection selects what to forget. Exactly one of Source, Episode and Before is set.
type Selection struct {
	Source  string    `json:"source,omitempty"`
	Episode string    `json:"episode,omitempty"`
	Before  time.Time `json:"before,omitzero"`
}

// Parts returns how many of its fields are set.
func (s Selection) Parts() (n int) {
	for _, set := range []bool{s.Source != "", s.Episode != "", !s.Before.IsZero()} {
		if set {
			n++
		}
	}
	return n
}

// ForgetResult is the result of Forget.
type ForgetResult struct {
	Erased int    `json:"erased"`
	Seq    uint64 `json:"seq"`
}

// JobState is the state of a job.
type JobState string

const (
	JobRunning  JobState = "running"
	JobDone     JobState = "done"
	JobFailed   JobState = "failed"
	JobCanceled JobState = "canceled"
	JobRefused  JobState = "refused" // the new model would lose; the previous one stays
)

// Job is work on the model of a workspace, running or past: a build that starts by itself, a rebuild, an evaluation, a
// verification or a search for proposals.
type Job struct {
	ID         string        `json:"id"`
	Kind       string        `json:"kind" doc:"build (measures of the recorded events), rebuild (replay of the log, evaluated on held-out tasks), judge (only that evaluation), verify or mine."`
	Reason     string        `json:"reason" doc:"Reason for the start: requested, or the cause of an automatic start."`
	State      JobState      `json:"state" enum:"running,done,failed,canceled,refused"`
	Phase      string        `json:"phase"`    // judge, replay, pagerank, communities, spectral, text, publish, compare; of mining: mine, keep
	Progress   float64       `json:"progress"` // 0..1 over all phases
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	Error      string        `json:"error,omitempty"`
	Verify     *VerifyReport `json:"verify,omitempty"`
	Version    string        `json:"model_version,omitempty"`
	At         uint64        `json:"at,omitempty"` // the event of a build or rebuild

	Mined *MineReport `json:"mined,omitempty"` // what mining found

	Forced bool           `json:"forced,omitempty"` // published regardless of the gate
	Gate   *evaluate.Gate `json:"gate,omitempty"`   // comparison of the new model with the active one
}

// String returns the result of a job in one line.
func (j Job) String() string {
	took := j.FinishedAt.Sub(j.StartedAt).Round(time.Millisecond)
	text := strings.TrimSuffix(string(j.State)+": "+j.Error, ": ")
	switch v := j.Verify; {
	case v != nil:
		text = fmt.Sprintf("replayed %s: the running model and the replay are ", catalog.Plural(v.Events, "event"))
		text += map[bool]string{true: "equal", false: "DIFFERENT in " + strings.Join(v.Differences, ", ")}[v.Equal]
	case j.State == JobDone && j.Kind == "judge":
		text = fmt.Sprintf("would be published; judged in %s", took)
	case j.State == JobDone:
		text = fmt.Sprintf("rebuilt in %s; model %s", took, suggest.ShortVersion(j.Version))
	case j.State == JobRefused:
		text = fmt.Sprintf("NOT published: %s; judged in %s", j.Error, took)
	}
	if j.Gate != nil {
		text += fmt.Sprintf("; %v", j.Gate)
	}
	return text
}

// MineReport is the result of mining.
type MineReport struct {
	mine.Report
	Proposed int `json:"proposed"` // proposals that wait for a decision now
	Decided  int `json:"decided"`  // found again, but approved or rejected before
}

// VerifyReport compares the running model with a fresh replay of the log.
type VerifyReport struct {
	Equal       bool     `json:"equal"`
	Events      uint64   `json:"events"`
	Version     string   `json:"model_version"`
	RunningHash string   `json:"running_hash"`
	ReplayHash  string   `json:"replay_hash"`
	Differences []string `json:"differences"` // parts of the model that differ
}
