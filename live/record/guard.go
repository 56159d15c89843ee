package record

import (
	"regexp"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/run"
)

// A call that repeats two that just failed in the same way is refused; package mcpserver adds what worked after such
// failures. Failures that may pass by themselves are no loop: messages that ask to wait, and calls after a pause.
//
//	desk:stamp {"letter":7}  failure: no such letter
//	desk:stamp {"letter":7}  failure: no such letter
//	desk:stamp {"letter":7}  refused
const (
	loopFailures = 2
	loopPause    = 2 * time.Second // after this pause a repeated call counts as deliberate
	mostFailing  = 64              // maximum number of calls kept for an episode
)

// failing holds the calls of an episode that failed since its last successful call, by tool and arguments.
type failing map[string]*failure

type failure struct {
	class string // kind and message, without numbers
	count int
	last  time.Time
}

// patience matches the messages of failures that a retry may resolve.
var patience = regexp.MustCompile(`(?i)\b(not (yet|ready|available yet|finished|done)|pending|in progress|still|busy|locked|try again|retry|wait|rate.?limit\w*|too many|throttl\w*|quota|temporar\w*|timed? ?out|timeout|overload\w*|unavailable|queued|429|502|503|504)\b`)

var numbers = regexp.MustCompile(`[0-9a-fA-F]*[0-9][0-9a-fA-F-]*`)

// loops reports whether a call repeats one that failed twice, and returns the answer to give instead. Calls of runs
// are exempt, because runs have their own rules for retries.
func (r *Recorder) loops(this *calling, now time.Time) (run.Result, bool) {
	r.mu.Lock()
	f := this.episode.failing[callKey(this)]
	refused := this.ID == "" && f != nil && f.count >= loopFailures && now.Sub(f.last) < loopPause
	r.mu.Unlock()
	if !refused {
		return run.Result{}, false
	}
	return run.Result{Failure: run.FailedPolicy, Repeated: true, Message: this.Tool +
		" failed twice with these arguments and the same error, so it is not called a third time: change the arguments, or do something else first"}, true
}

// noteFailure counts a failed call. A successful call clears all failures, because it may have removed their cause.
func (r *Recorder) noteFailure(this *calling, result *run.Result, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := this.episode
	switch {
	case err != nil, result.NeedsInput != nil, !result.Failure.Held():
		if err == nil && result.Failure == "" && result.NeedsInput == nil {
			e.failing = nil
		}
		return
	case result.Failure == run.FailedTimeout, patience.MatchString(result.Message):
		delete(e.failing, callKey(this))
		return
	}
	class := string(result.Failure) + " " + numbers.ReplaceAllString(result.Message, "")
	f := e.failing[callKey(this)]
	if f == nil || f.class != class || now.Sub(f.last) >= loopPause {
		f = &failure{class: class}
		if e.failing == nil || len(e.failing) >= mostFailing {
			e.failing = failing{}
		}
		e.failing[callKey(this)] = f
	}
	f.count, f.last = f.count+1, now
}

func callKey(c *calling) string {
	return strings.Join([]string{c.Tool, string(catalog.Canonical(c.Arguments))}, "\n")
}
