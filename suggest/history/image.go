package history

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/codec"
)

// An Image is a snapshot of a state for writing. The state copies the data that it shares with an image
// before it changes the data.
type Image struct {
	counted
	view    *Catalog
	past    Episodes
	growing []*grown
}

// counted is the part of an image that is encoded as it is.
type counted struct {
	IDs      []string
	Out      [][]transition
	Uses     []Usage
	Gone     []int32
	Sources  []string
	Evidence []evidence
	Totals   Totals
	Memory   *episodic.Image
	Wires    []byte     // an encoded [Wiring], because the state changes it in place
	Growing  []int32    // of the episodes that may still grow, the index among the past episodes
	Values   [][]Values // of the episodes that may still grow
}

// gob numbers types in the order in which a process first encodes them. init encodes these types first, so that equal
// states have equal bytes in every process.
func init() {
	enc := gob.NewEncoder(io.Discard)
	for _, v := range []any{&Wiring{}, &counted{Memory: &episodic.Image{}}, &Episode{}} {
		mustNotFail(enc.Encode(v))
	}
}

// Image returns a snapshot of the state. It costs one pass over the nodes.
func (s *State) Image() *Image {
	clear(s.own)
	var wires bytes.Buffer
	mustNotFail(gob.NewEncoder(&wires).Encode(s.wires))
	i := &Image{
		counted: counted{
			IDs: slices.Clip(s.ids), Out: slices.Clone(s.out), Uses: slices.Clone(s.uses), Sources: slices.Clip(s.sources.names),
			Evidence: slices.Clone(s.sources.evidence), Totals: s.totals, Memory: s.memory.Image(), Wires: wires.Bytes(),
		},
		view: s.catalog(), past: s.episodes(),
	}
	for n := range s.gone {
		i.Gone = append(i.Gone, n)
	}
	slices.Sort(i.Gone)
	for _, g := range s.growing.Values() {
		i.growing = append(i.growing, &grown{Grown: *g.Clone()})
		i.Growing, i.Values = append(i.Growing, g.past), append(i.Values, slices.Clone(g.values))
	}
	return i
}

// Write writes the image for [ReadState].
func (i *Image) Write(w *codec.Writer) error {
	for _, list := range []any{i.view.Own, i.view.Capabilities, i.growing} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b) // as in events, so that schemas are not altered
		enc.SetEscapeHTML(false)
		if err := enc.Encode(list); err != nil {
			return err
		}
		w.Blob(b.Bytes())
	}
	enc := gob.NewEncoder(w)
	if err := enc.Encode(&i.counted); err != nil {
		return err
	}
	for e := range i.past.N {
		if err := enc.Encode(i.past.Episode(e)); err != nil {
			return err
		}
	}
	return nil
}

// lenient accepts schemas as they were written, also with duplicate names and invalid UTF-8.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// ReadState reads the output of [Image.Write]. If it is damaged, r fails and the state is empty.
func ReadState(r *codec.Reader) *State {
	s := NewState()
	if err := s.read(r); err != nil {
		r.Fail("%w", err)
		return NewState()
	}
	return s
}

// read fills an empty state.
func (s *State) read(r *codec.Reader) (err error) {
	i := &Image{}
	var tools []catalog.Tool
	var caps []catalog.Capability
	for _, list := range []any{&tools, &caps, &i.growing} {
		if err := jsonv2.Unmarshal(r.Blob(), list, lenient); err != nil {
			return err
		}
	}
	dec := gob.NewDecoder(r)
	if err := dec.Decode(&i.counted); err != nil {
		return err
	}
	for _, id := range i.IDs {
		s.node(id)
	}
	for _, name := range i.Sources {
		s.sourceID(name)
	}
	if err := i.check(len(s.ids), len(s.sources.names)); err != nil {
		return err
	}
	if s.memory, err = i.counted.Memory.Memory(len(s.ids), len(s.sources.names)); err != nil {
		return err
	}
	for id := range s.sources.names {
		s.trust(int32(id))
	}
	s.out, s.uses, s.totals, s.sources.evidence = i.Out, i.Uses, i.Totals, i.Evidence
	for n := range s.ids {
		s.shown.touched[int32(n)] = true
	}
	for _, n := range i.Gone {
		s.gone[n] = true
	}
	for _, t := range tools {
		s.tools[t.ID] = &Schemas{Tool: t}
	}
	for _, c := range caps {
		s.caps[c.ID] = c
	}
	for e := range int32(s.totals.Episodes) {
		var p Episode
		if err := dec.Decode(&p); err != nil {
			return err
		}
		if !p.possible(len(s.ids), len(s.sources.names)) {
			return fmt.Errorf("episode %d cannot be", e)
		}
		s.past.Set(e, p)
		s.sources.bySource.Set(p.Source, s.sources.bySource.At(p.Source)+1)
	}
	for k, g := range i.growing {
		g.past, g.values = i.Growing[k], i.Values[k]
		s.growing.Add(g.ID, g)
	}
	if err := gob.NewDecoder(bytes.NewReader(i.Wires)).Decode(s.wires); err != nil || s.wires.Fits(len(s.ids)) {
		return err
	}
	return errors.New("argument wiring of tools that there are not")
}

// check returns an error if an index or a length of the image is out of range.
func (i *Image) check(nodes, sources int) error {
	out := func(n int32) bool { return n < 0 || int(n) >= nodes }
	grow := len(i.growing)
	wrong := i.counted.Memory == nil || i.Totals.Episodes > math.MaxInt32 || slices.ContainsFunc(i.Gone, out) ||
		nodes != len(i.IDs) || len(i.Out) != nodes || len(i.Uses) != nodes ||
		sources != len(i.Sources) || len(i.Evidence) != sources || len(i.Growing) != grow || len(i.Values) != grow
	for _, row := range i.Out {
		last := int32(-1)
		for _, t := range row {
			wrong = wrong || t.To <= last || out(t.To) || t.Only < 0 || int(t.Only) > sources
			last = t.To
		}
	}
	for k, g := range i.growing {
		wrong = wrong || g == nil || k >= len(i.Growing) || k >= len(i.Values) || int(i.Growing[k]) >= int(i.Totals.Episodes) ||
			len(i.Values[k]) != len(g.Steps) || len(g.Numbers) != len(g.Steps)
	}
	if wrong {
		return errors.New("parts of a snapshot do not fit each other")
	}
	return nil
}

// possible reports whether the nodes, source, links and outcomes of an episode are within range.
func (p *Episode) possible(nodes, sources int) bool {
	n, out := len(p.Nodes), func(n int32) bool { return n < 0 || int(n) >= nodes }
	wrong := slices.ContainsFunc(p.Nodes, out) || p.Source < 0 || int(p.Source) >= sources ||
		int(p.Outcome) >= len(outcomes) || p.Before != nil && len(p.Before) != n
	for at, before := range p.Before {
		wrong = wrong || slices.ContainsFunc(before, func(b int32) bool { return b < 0 || int(b) >= at })
	}
	return !wrong && (len(p.StepOutcomes) == 0 || len(p.StepOutcomes) == n && int(slices.Max(p.StepOutcomes)) < len(outcomes))
}
