// Package report reviews the sessions that hosts left on this machine: which tools they call, what fails, what repeats,
// and how many of the latest calls a model of the earlier ones would have named.
//
//	Machine.Places ──▶ Look ──▶ Collect (a stream of episodes, bounded memory) ──▶ Report ──▶ text · JSON
//
// Nothing is stored and nothing leaves the process. Of a call only the tool, the shape of its arguments, its outcome
// and its duration are looked at; requests, values and texts of errors never reach a report.
package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
	"waymark/internal/bounded"
	"waymark/internal/plural"
)

// Limits of memory.
const (
	mostTools    = 20_000 // with counts of their own
	mostEpisodes = 20_000 // the newest, for what Waymark would have named
	mostShown    = 15     // rows of each list
)

// leastSessions is how many sessions must have had a server before it is called unused.
const leastSessions = 20

// leastLoop is how many equal calls in a row are a loop.
const leastLoop = 3

// Collection is what is known of the sessions read so far.
type Collection struct {
	page     Report // without its sections
	tools    map[string]*counts
	sessions map[sessionKey]int64           // start of the first call in seconds, 0 if not known
	loops    map[string]*loop               // by tool
	servers  map[string]map[sessionKey]bool // sessions by server and host
	newest   []episodic.Episode
}

type sessionKey struct {
	host string
	id   [12]byte
}

// loop sums up the calls of one tool again and again with arguments of one shape.
type loop struct{ times, calls, longest, failed int }

// counts of one tool.
type counts struct {
	calls, failures, timed int
	kinds                  map[string]int
	durations              map[int64]int
}

func newCounts() *counts { return &counts{kinds: map[string]int{}, durations: map[int64]int{}} }

// maxDamaged bounds the list of what could not be used.
const maxDamaged = 100

// Memory is the limit for the collector within which a report is made: what is live stays well below it, and with the
// program a gigabyte of sessions takes less than 500 MB.
const Memory = 380 << 20

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
	return &Collection{page: Report{Unknown: []string{}, Damaged: []ingest.Reason{}}, tools: map[string]*counts{}, sessions: map[sessionKey]int64{}, loops: map[string]*loop{},
		servers: map[string]map[sessionKey]bool{}}
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
		if unknown := host + ", " + it.Dropped; strings.HasPrefix(it.Dropped, "version ") && !slices.Contains(c.page.Unknown, unknown) {
			c.page.Unknown = append(c.page.Unknown, unknown)
		}
	case it.Episode != nil:
		c.episode(host, it.Episode)
	}
}

func (c *Collection) episode(host string, e *episodic.Episode) {
	sum := sha256.Sum256([]byte(e.Session))
	session := sessionKey{host, [12]byte(sum[:12])}
	c.sessions[session] += 0 // known, if not when it began
	if !e.Time.IsZero() {
		if at := c.sessions[session]; at == 0 || e.Time.Unix() < at {
			c.sessions[session] = e.Time.Unix()
		}
		if c.page.From.IsZero() || e.Time.Before(c.page.From) {
			c.page.From = e.Time
		}
		if e.Time.After(c.page.To) {
			c.page.To = e.Time
		}
	}
	c.page.Tasks++
	for i := range e.Steps {
		c.step(session, &e.Steps[i])
	}
	c.findLoops(e.Steps)
	kept := *e
	kept.Session = string(sum[:12])
	for i := range kept.Steps {
		s := &kept.Steps[i]
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
	if n := len(c.newest) - mostEpisodes; n > 0 {
		c.newest = slices.Delete(c.newest, 0, n)
	}
}

func (c *Collection) step(session sessionKey, s *episodic.Step) {
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
	if server := serverOf(s.Tool); server != "" {
		if c.servers[server] == nil {
			c.servers[server] = map[sessionKey]bool{}
		}
		c.servers[server][session] = true
	}
}

func serverOf(tool string) string {
	server, _, ok := catalog.Split(tool)
	if !ok {
		return ""
	}
	return server
}

// findLoops counts calls of one tool with one shape of arguments that came right after each other. Calls that were made
// in parallel are no loop.
func (c *Collection) findLoops(steps []episodic.Step) {
	for i := 0; i < len(steps); {
		n := 1
		for i+n < len(steps) && repeats(&steps[i+n-1], &steps[i+n]) {
			n++
		}
		if n >= leastLoop {
			l := c.loops[steps[i].Tool]
			if l == nil {
				l = &loop{}
				c.loops[steps[i].Tool] = l
			}
			l.times, l.calls, l.longest = l.times+1, l.calls+n, max(l.longest, n)
			for _, s := range steps[i : i+n] {
				if s.Outcome == episodic.Failure {
					l.failed++
				}
			}
		}
		i += n
	}
}

// repeats reports whether a step is the one before it again: the same tool and shape of arguments, not in parallel.
func repeats(before, s *episodic.Step) bool {
	return s.Tool == before.Tool && s.Shape == before.Shape && (s.Group == "" || s.Group != before.Group)
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
	for kind, n := range other.kinds {
		t.kinds[kind] += n
	}
	for b, n := range other.durations {
		t.durations[b] += n
	}
}

// unused lists configured servers that no session used, of those that at least [leastSessions] sessions had: a session
// had a server for certain if it began after the file that names the server was last changed.
func (c *Collection) unused(configs []Config) Section {
	s := Section{Title: "Configured servers that no session used"}
	judged := 0
	for _, cfg := range configs {
		info, err := os.Stat(cfg.Path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > bounded.Document {
			continue
		}
		text, err := os.ReadFile(cfg.Path)
		if err != nil {
			continue
		}
		launches, _, err := ingest.Launches(filepath.Base(cfg.Path), text)
		if err != nil {
			continue
		}
		had := 0
		for session, began := range c.sessions {
			if session.host == cfg.Host && began > info.ModTime().Unix() {
				had++
			}
		}
		for _, l := range launches {
			if l.Disabled || had < leastSessions {
				continue
			}
			if judged++; !c.uses(l.Name) {
				s.Notes = append(s.Notes, fmt.Sprintf("%s (%s): not called in %s that had it.", l.Name, cfg.Host, plural.Of(had, "session")))
			}
		}
	}
	slices.Sort(s.Notes)
	if judged == 0 {
		s.Notes = []string{fmt.Sprintf("Not judged: no configuration of servers was in place for %d sessions.", leastSessions)}
	} else if s.Notes == nil {
		s.Notes = []string{fmt.Sprintf("None of %d.", judged)}
	}
	return s
}

// uses reports whether any session called a tool of a server, however the host spells its name.
func (c *Collection) uses(server string) bool {
	for used := range c.servers {
		if strings.Contains(folded(used), folded(server)) { // plugins put their own name around it
			return true
		}
	}
	return false
}

func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}
