// Package report reviews the sessions that hosts left on this machine: which tools they call, what fails, and how many of
// the latest calls a model of the earlier ones would have named.
//
//	Machine.Places ──▶ Look ──▶ Collect (a stream of episodes, bounded memory) ──▶ Report
//
// Nothing is stored and nothing leaves the process. Of a call only the tool, its outcome and its duration are looked at;
// requests, values and texts of errors never reach a report.
package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/episodic"
	"waymark/ingest"
)

// Limits of memory.
const (
	mostTools    = 20_000 // with counts of their own
	mostEpisodes = 20_000 // the newest, for what Waymark would have named
	mostShown    = 15     // rows of each list
	maxDamaged   = 100    // reasons why something could not be used
)

// Memory is the limit for the collector within which a report is made: what is live stays well below it, and with the
// program a gigabyte of sessions takes less than 500 MB.
const Memory = 380 << 20

// Collection is what is known of the sessions read so far.
type Collection struct {
	page     Report // without its sections
	tools    map[string]*counts
	sessions map[session]bool
	newest   []episodic.Episode
}

type session struct {
	host string
	id   [12]byte
}

// counts of one tool.
type counts struct {
	calls, failures, timed int
	kinds                  map[string]int
	durations              map[int64]int
}

func newCounts() *counts { return &counts{kinds: map[string]int{}, durations: map[int64]int{}} }

// Collect reads the places. It tells progress after each episode.
func Collect(ctx context.Context, places []Place, now time.Time, progress func(host string, calls int)) (*Collection, error) {
	c := newCollection()
	c.page.Searched = places
	seen := ingest.Seen{}
	for i := range places {
		p := &places[i]
		if p.Status != Read || p.Files == 0 {
			continue
		}
		for it, err := range ingest.Read(ctx, p.Path, ingest.Options{Format: p.Format, DropIntents: true, Now: now, Seen: seen}) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err != nil { // of one place: the others still count
				p.Status = NotRead + "the files cannot be read"
				break
			}
			it.File = filepath.Join(p.Shown, it.File)
			if it.Unread {
				p.Files--
			}
			c.item(p.Host, it)
			progress(p.Host, c.page.Calls)
		}
	}
	c.cut()
	return c, nil
}

func newCollection() *Collection {
	return &Collection{page: Report{Damaged: []ingest.Reason{}}, tools: map[string]*counts{}, sessions: map[session]bool{}}
}

func (c *Collection) item(host string, it ingest.Item) {
	switch {
	case it.Tally != nil:
		c.page.Lines += it.Tally.Lines
		c.page.Skipped += it.Tally.Skipped
	case it.Dropped != "":
		c.page.Dropped++
		if len(c.page.Damaged) < maxDamaged {
			reason := it.Dropped
			if strings.HasPrefix(reason, "/") { // a place in the JSON, whose names may be anybody's
				reason = reason[strings.LastIndex(reason, ": ")+1:]
			}
			c.page.Damaged = append(c.page.Damaged, ingest.Reason{File: it.File, Line: it.Line, Reason: strings.TrimSpace(reason)})
		}
	case it.Episode != nil:
		c.episode(host, it.Episode)
	}
}

func (c *Collection) episode(host string, e *episodic.Episode) {
	sum := sha256.Sum256([]byte(e.Session))
	c.sessions[session{host, [12]byte(sum[:12])}] = true
	if !e.Time.IsZero() {
		if c.page.From.IsZero() || e.Time.Before(c.page.From) {
			c.page.From = e.Time
		}
		if e.Time.After(c.page.To) {
			c.page.To = e.Time
		}
	}
	c.page.Tasks++
	kept := *e
	kept.Session = string(sum[:12])
	for i := range kept.Steps {
		s := &kept.Steps[i]
		c.step(s)
		s.Error, s.Shape, s.Inputs, s.Outputs = "", "", nil, nil
	}
	if c.newest = append(c.newest, kept); len(c.newest) >= 2*mostEpisodes {
		c.cut()
	}
}

// cut keeps the newest episodes.
func (c *Collection) cut() {
	slices.SortStableFunc(c.newest, func(a, b episodic.Episode) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID))
	})
	c.newest = slices.Delete(c.newest, 0, max(0, len(c.newest)-mostEpisodes))
}

func (c *Collection) step(s *episodic.Step) {
	c.page.Calls++
	t := c.tools[s.Tool]
	if t == nil {
		if len(c.tools) == mostTools {
			return
		}
		t = newCounts()
		c.tools[s.Tool] = t
	}
	t.calls++
	if s.Outcome == episodic.Failure || s.ErrorKind != "" {
		t.failures++
		t.kinds[cmp.Or(s.ErrorKind, "tool")]++
	}
	if s.DurationMS > 0 {
		t.timed++
		t.durations[rounded(s.DurationMS)]++
	}
}

// rounded is a duration with five significant bits, so that as many are counted as a page needs.
func rounded(ms int64) int64 {
	shift := max(0, bits.Len64(uint64(ms))-5)
	return ms>>shift<<shift | 1<<shift>>1
}

// quantile of durations, nil where none is known.
func (t *counts) quantile(q float64) any {
	rank := int(q * float64(t.timed))
	for _, ms := range slices.Sorted(maps.Keys(t.durations)) {
		if rank -= t.durations[ms]; rank < 0 {
			return millis(ms)
		}
	}
	return nil
}

func (t *counts) add(other *counts) {
	t.calls, t.failures, t.timed = t.calls+other.calls, t.failures+other.failures, t.timed+other.timed
	for b, n := range other.durations {
		t.durations[b] += n
	}
}
