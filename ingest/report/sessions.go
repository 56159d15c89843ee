// Package report summarises the sessions that hosts left on this machine: which tools they call, which calls fail, and
// how many of the latest calls a model of the earlier ones would have predicted.
//
//	Machine.Places ──▶ Look ──▶ Make (a stream of episodes, bounded memory) ──▶ Report
//
// Nothing is stored and no data leaves the process. Of a call only the tool, its outcome and its duration are used;
// requests, values and error texts never appear in a report.
package report

import (
	"cmp"
	"context"
	"maps"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
)

// Limits that bound the memory and the size of a report.
const (
	mostTools    = 20_000 // tools, and servers, that are counted separately
	mostEpisodes = 5_000  // newest episodes; bounds the training time in next
	mostShown    = 15     // rows of each list
)

// Memory is the limit for the garbage collector while a report is made: live data stays well below it, and the whole
// program needs less than 500 MB for a gigabyte of sessions.
const Memory = 380 << 20

// collection holds the sessions read so far.
type collection struct {
	Report
	tools, servers map[string]*counts
	sessions       map[string]bool
	newest         []episodic.Episode
}

// counts are the counts of one tool or server.
type counts struct {
	calls, failures int
	kinds           map[string]int
	durations       map[int64]int
}

// Make reads the places and summarises their contents. progress receives the current activity and the calls read.
func Make(ctx context.Context, places []Place, now time.Time, progress func(what string, calls int)) (*Report, error) {
	c, seen := newCollection(places), ingest.Seen{}
	for i := range places {
		p := &places[i]
		if p.Status != Read || p.Files == 0 {
			continue
		}
		for it, err := range ingest.Read(ctx, p.Path, ingest.Options{Format: p.Format, DropIntents: true, Now: now, Seen: seen}) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err != nil { // continue with the other places
				p.Status = NotRead + "the files cannot be read"
				break
			}
			if it.Unread {
				p.Files--
			}
			it.File = filepath.Join(p.Shown, it.File)
			if at := strings.LastIndex(it.Dropped, ": "); strings.HasPrefix(it.Dropped, "/") && at >= 0 {
				it.Dropped = it.Dropped[at+2:] // without the JSON pointer: its names may come from user data
			}
			if c.Import.Add(it); it.Episode != nil {
				c.episode(p.Host, it.Episode)
			}
			progress(p.Host, c.Calls)
		}
	}
	c.cut()
	c.Sessions = len(c.sessions)
	if c.Calls == 0 {
		return &c.Report, ctx.Err()
	}
	progress("what Waymark would have named", 0)
	next, err := c.next(ctx)
	if err != nil {
		return nil, err
	}
	c.Sections = append([]Section{next}, c.used()...)
	return &c.Report, ctx.Err()
}

func newCollection(places []Place) *collection {
	return &collection{Report: Report{Searched: places, Sections: []Section{}}, tools: map[string]*counts{},
		servers: map[string]*counts{}, sessions: map[string]bool{}}
}

func (c *collection) episode(host string, e *episodic.Episode) {
	c.sessions[host+"\x00"+e.Session] = true
	if !e.Time.IsZero() && (c.From.IsZero() || e.Time.Before(c.From)) {
		c.From = e.Time
	}
	if e.Time.After(c.To) {
		c.To = e.Time
	}
	c.Tasks++
	for i := range e.Steps {
		s := &e.Steps[i]
		c.Calls++
		server, _, ok := catalog.Split(s.Tool)
		if !ok {
			server = "(tools of the hosts)"
		}
		count(c.tools, s.Tool, s)
		count(c.servers, server, s)
		s.Error, s.Shape = "", ""
	}
	if c.newest = append(c.newest, *e); len(c.newest) >= 2*mostEpisodes {
		c.cut()
	}
}

// cut keeps the newest mostEpisodes episodes.
func (c *collection) cut() {
	slices.SortStableFunc(c.newest, func(a, b episodic.Episode) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID))
	})
	c.newest = slices.Delete(c.newest, 0, max(0, len(c.newest)-mostEpisodes))
}

func count(all map[string]*counts, name string, s *episodic.Step) {
	t := all[name]
	if t == nil {
		if len(all) == mostTools {
			return
		}
		t = &counts{kinds: map[string]int{}, durations: map[int64]int{}}
		all[name] = t
	}
	t.calls++
	if s.Outcome == episodic.Failure || s.ErrorKind != "" {
		t.failures++
		t.kinds[cmp.Or(s.ErrorKind, "tool")]++
	}
	if s.DurationMS > 0 {
		t.durations[rounded(s.DurationMS)]++
	}
}

// rounded rounds a duration to five significant bits, which bounds the number of distinct durations.
func rounded(ms int64) int64 {
	shift := max(0, bits.Len64(uint64(ms))-5)
	return ms>>shift<<shift | 1<<shift>>1
}

// quantile returns a quantile of the durations, nil if none is known.
func (t *counts) quantile(q float64) any {
	timed := 0
	for _, n := range t.durations {
		timed += n
	}
	rank := int(q * float64(timed))
	for _, ms := range slices.Sorted(maps.Keys(t.durations)) {
		if rank -= t.durations[ms]; rank < 0 {
			return millis(ms)
		}
	}
	return nil
}
