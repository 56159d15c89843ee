package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/codec"
	"waymark/suggest/learn/wiring"
)

// An Image is a state at one moment, to be written. It shares with the state what the state copies
// before it changes it.
type Image struct {
	ids      []string
	out      [][]transition
	uses     []Usage
	gone     []int32
	view     *Catalog
	memory   *episodic.Image
	past     Episodes
	names    []string
	totals   Totals
	claims   claims
	evidence []evidence

	growing []*grown
	wires   []byte

	bypasses map[string]uint64
}

// Image returns the state as it is now, at the cost of one pass over the nodes.
func (s *State) Image() *Image {
	clear(s.own)
	var wires codec.Writer
	s.wires.Write(&wires)
	i := &Image{
		ids: slices.Clip(s.ids), out: slices.Clone(s.out), uses: slices.Clone(s.uses), view: s.catalog(),
		memory: s.memory.Image(), past: s.episodes(), names: slices.Clip(s.sources.names), totals: s.totals, claims: maps.Clone(s.claims), evidence: slices.Clone(s.sources.evidence), growing: s.growing.image(), wires: wires.Bytes, bypasses: s.bypasses.show(),
	}
	for n := range s.gone {
		i.gone = append(i.gone, n)
	}
	slices.Sort(i.gone)
	return i
}

// Write writes the image for [ReadState].
func (i *Image) Write(w *codec.Writer) error {
	w.Texts(i.ids)
	for _, row := range i.out {
		w.Uint(uint64(len(row)))
		last := int64(0)
		for _, t := range row {
			w.Int(int64(t.to) - last)
			last = int64(t.to)
			w.Uint(uint64(t.only))
			w.Uint(t.halves)
			w.Uint(t.count)
			w.Uint(t.within)
		}
	}
	for _, u := range i.uses {
		w.Uint(u.Steps)
		w.Uint(u.Ends)
		w.Uint(u.Roots)
		w.Uint(uint64(u.only))
	}
	w.Ints(i.gone)
	w.Uint(uint64(len(i.view.Own)))
	for k := range i.view.Own {
		if err := writeJSON(w, &i.view.Own[k]); err != nil {
			return fmt.Errorf("tool %q: %w", i.view.Own[k].ID, err)
		}
	}
	w.Uint(uint64(len(i.view.Capabilities)))
	for k := range i.view.Capabilities {
		if err := writeJSON(w, &i.view.Capabilities[k]); err != nil {
			return fmt.Errorf("capability %q: %w", i.view.Capabilities[k].ID, err)
		}
	}
	w.Texts(i.names)
	for _, e := range i.evidence {
		w.Uint(uint64(e.shared))
		w.Uint(uint64(e.alone))
	}
	i.memory.Write(w)
	i.claims.write(w)
	i.writePast(w)
	for _, n := range i.totals.all() {
		w.Uint(*n)
	}
	w.Blob(i.wires)
	writeBypasses(w, i.bypasses)
	return i.writeGrowing(w)
}

// writeJSON writes a value as an event does: HTML characters stay as they are.
func writeJSON(w *codec.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Blob(b.Bytes())
	return nil
}

// writePast writes the fields of all episodes as columns.
func (i *Image) writePast(w *codec.Writer) {
	intents := make([]string, i.past.N)
	var lengths, nodes, links, after []int32
	for e := range i.past.N {
		p := i.past.Episode(e)
		intents[e] = p.Intent
		lengths, nodes = append(lengths, int32(len(p.Nodes))), append(nodes, p.Nodes...)
		links, after = append(links, int32(len(p.After))), append(after, p.After...)
	}
	w.Texts(intents)
	w.Ints(lengths)
	w.Ints(nodes)
	w.Ints(links)
	w.Ints(after)
	for e := range i.past.N {
		p := i.past.Episode(e)
		w.Uint(uint64(p.Outcome))
		w.Bool(p.Limited)
		w.Uint(uint64(p.Source))
		w.Int(p.Time)
		w.Blob(p.StepOutcomes)
	}
}

func (t *Totals) all() []*uint64 {
	return []*uint64{
		&t.Episodes, &t.Steps, &t.Outcomes[0], &t.Outcomes[1], &t.Outcomes[2],
		&t.StepOutcomes[0], &t.StepOutcomes[1], &t.StepOutcomes[2],
	}
}

// ReadState reads what [Image.Write] wrote. What is damaged fails r.
func ReadState(r *codec.Reader) *State {
	s := NewState()
	for _, id := range r.Texts() {
		if s.Knows(id) {
			r.Fail("id %q stands twice", id)
			break
		}
		s.node(id)
	}
	n := len(s.ids)
	for i := range s.out {
		s.out[i] = readRow(r, n)
		if len(s.out[i]) > 0 {
			s.shown.led.add(int32(i))
		}
	}
	for i := range s.uses {
		s.uses[i] = Usage{Steps: r.Uint(), Ends: r.Uint(), Roots: r.Uint(), only: int32(r.Uint())}
		s.shown.used.add(int32(i))
	}
	for _, i := range r.Ints() {
		s.gone[i] = true
		if i < 0 || int(i) >= n {
			r.Fail("node %d of %d is gone", i, n)
		}
	}
	s.readCatalog(r)
	for _, name := range r.Texts() {
		if _, twice := s.sources.source[name]; twice {
			r.Fail("source %q stands twice", name)
		}
		s.sourceID(name)
	}
	for i := range s.sources.evidence {
		s.sources.evidence[i] = evidence{int32(r.Uint()), int32(r.Uint())}
	}
	s.memory = episodic.ReadMemory(r, n, len(s.sources.names))
	for id := range s.sources.names {
		s.trust(int32(id))
	}
	s.claims = readClaims(r, len(s.sources.names), n)
	past := s.readPast(r)
	for _, n := range s.totals.all() {
		*n = r.Uint()
	}
	if s.totals.Episodes != uint64(past) {
		r.Fail("%d episodes, where %d are counted", past, s.totals.Episodes)
	}
	wires := codec.NewReader(r.Blob())
	s.wires = wiring.Read(wires, n)
	if err := wires.End(); err != nil {
		r.Fail("%w", err)
	}
	s.readBypasses(r)
	s.readGrowing(r)
	if r.Err() != nil {
		return NewState()
	}
	return s
}

// readRow reads targets as differences to the one before, which must rise.
func readRow(r *codec.Reader, nodes int) []transition {
	row := make([]transition, r.Len(5))
	last := int64(-1)
	for i := range row {
		to := r.Int() + max(last, 0)
		if to <= last || to >= int64(nodes) {
			r.Fail("a transition to node %d of %d, after one to %d", to, nodes, last)
			return nil
		}
		last = to
		row[i] = transition{to: int32(to), only: int32(r.Uint()), halves: r.Uint(), count: r.Uint(), within: r.Uint()}
	}
	return row
}

// readPast reads what writePast wrote. Everything that later serves as an index is checked here. Steps and
// links of all episodes share two arrays, cut so that appending to one cannot overwrite the next.
func (s *State) readPast(r *codec.Reader) (episodes int) {
	intents, lengths, nodes, links, after := r.Texts(), r.Ints(), r.Ints(), r.Ints(), r.Ints()
	if len(intents) != len(lengths) || len(links) != len(lengths) {
		r.Fail("%d intents of %d episodes, with links of %d", len(intents), len(lengths), len(links))
		return 0
	}
	for _, n := range nodes {
		if n < 0 || int(n) >= len(s.ids) {
			r.Fail("an episode with node %d of %d", n, len(s.ids))
			return 0
		}
	}
	for e := range intents {
		n, l, outcome, limited, source := int(lengths[e]), int(links[e]), r.Uint(), r.Bool(), r.Uint()
		if n < 0 || n > len(nodes) || l < 0 || l > len(after) || outcome > 2 || source >= uint64(len(s.sources.names)) {
			r.Fail("episode %d has %d steps, %d links, outcome %d and source %d", e, n, l, outcome, source)
			return 0
		}
		p := Episode{Intent: intents[e], Nodes: nodes[:n:n], Time: r.Int(), Source: int32(source), Outcome: uint8(outcome), Limited: limited}
		if worked := r.Blob(); len(worked) == n && n > 0 && slices.Max(worked) <= 2 {
			p.StepOutcomes = slices.Clone(worked)
		} else if len(worked) > 0 {
			r.Fail("episode %d has outcomes of %d of %d steps, or unknown ones", e, len(worked), n)
			return 0
		}
		if l > 0 {
			p.After = after[:l:l]
			if !linked(p.After, n) {
				r.Fail("episode %d has links that no %d steps have", e, n)
				return 0
			}
		}
		s.past.Set(int32(e), p)
		nodes, after = nodes[n:], after[l:]
		s.sources.bySource.Set(int32(source), s.sources.bySource.At(int32(source))+1)
	}
	return len(intents)
}

// linked reports whether after says of each of n steps which earlier ones it came after.
func linked(after []int32, n int) bool {
	for i := range n {
		if len(after) == 0 || after[0] < 0 || int(after[0]) >= len(after) {
			return false
		}
		k := after[0]
		last := int32(-1)
		for _, j := range after[1 : 1+k] {
			if j <= last || int(j) >= i {
				return false
			}
			last = j
		}
		after = after[1+k:]
	}
	return len(after) == 0
}

// outcomes are in the order of outcomeIndex.
var outcomes = [3]episodic.Outcome{episodic.Unknown, episodic.Success, episodic.Failure}

// readCatalog reads tools and capabilities, on all processors.
func (s *State) readCatalog(r *codec.Reader) {
	tools := make([]*Schemas, r.Len(1))
	readJSON(r, len(tools), func(i int, b []byte) error {
		tools[i] = &Schemas{}
		return jsonv2.Unmarshal(b, &tools[i].Tool, lenient)
	})
	caps := make([]catalog.Capability, r.Len(1))
	readJSON(r, len(caps), func(i int, b []byte) error { return jsonv2.Unmarshal(b, &caps[i], lenient) })
	if r.Err() != nil {
		return
	}
	known := func(id string) {
		if !s.Knows(id) {
			r.Fail("the catalog has %q, which was never seen", id)
		}
	}
	for _, t := range tools {
		known(t.ID)
		s.tools[t.ID] = t
	}
	for _, c := range caps {
		known(c.ID)
		for _, t := range c.Tools {
			known(t)
		}
		s.caps[c.ID] = c
	}
}

// lenient reads schemas as they were written, also with names that repeat.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// readJSON reads n values and decodes them on all processors.
func readJSON(r *codec.Reader, n int, decode func(i int, b []byte) error) {
	blobs := make([][]byte, n)
	for i := range blobs {
		blobs[i] = r.Blob()
	}
	if r.Err() != nil {
		return
	}
	var group errgroup.Group
	parts := runtime.GOMAXPROCS(0)
	for p := range parts {
		group.Go(func() error {
			for i := p; i < n; i += parts {
				if err := decode(i, blobs[i]); err != nil {
					return fmt.Errorf("value %d of %d: %w", i, n, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		r.Fail("%w", err)
	}
}
