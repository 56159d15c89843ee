package score

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	idForm   = regexp.MustCompile(`^[a-z][a-z0-9_.:-]{0,63}$`)
)

// A Rubric is a checked Definition. It is immutable and safe for concurrent use.
type Rubric struct {
	def    Definition
	at     map[string]int // index of a dimension by name
	places int
}

// New validates a definition and fills in its defaults. If a field is outside its limits, the error names the first
// such field; otherwise the error lists all faults with their places.
func New(def Definition) (*Rubric, error) {
	r := &Rubric{def: def, at: map[string]int{}, places: 2}
	d := &r.def
	d.Aggregate, d.BandsOn = cmp.Or(d.Aggregate, Mean), cmp.Or(d.BandsOn, onComposite)
	if d.Places != nil {
		r.places = *d.Places
	}
	d.Dimensions = slices.Clone(d.Dimensions)
	for i := range d.Dimensions {
		dim := &d.Dimensions[i]
		rising := func(a, b Anchor) int { return cmp.Compare(a.From, b.From) }
		dim.Anchors = slices.SortedStableFunc(slices.Values(dim.Anchors), rising)
	}
	if err := Check(d); err != nil {
		return nil, fmt.Errorf("rubric %s: %w", quoted(d.ID), err)
	}
	c := checker{}
	c.name("id", d.ID, idForm)
	c.need(d.Aggregate == Mean || d.Aggregate == Sum, "aggregate: %s is neither mean nor sum", quoted(string(d.Aggregate)))
	bandsOn := d.BandsOn == onComposite || d.BandsOn == onPercent
	c.need(bandsOn, "bands_on: %s is neither composite nor percent", quoted(d.BandsOn))
	c.dimensions(r)
	c.rules(r)
	c.bands(d)
	if len(c.faults) > 0 {
		return nil, fmt.Errorf("rubric %s: %w", quoted(d.ID), errors.Join(c.faults...))
	}
	return r, nil
}

// checker collects the faults of a definition.
type checker struct{ faults []error }

// need adds a fault unless ok.
func (c *checker) need(ok bool, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Errorf(format, args...))
	}
}

func (c *checker) name(place, name string, form *regexp.Regexp) {
	c.need(form.MatchString(name), "%s: %s is not a name; names are lower-case letters, digits and _, a letter first, at most 64",
		place, quoted(name))
}

func (c *checker) dimensions(r *Rubric) {
	d := r.def
	c.need(len(d.Dimensions) > 0, "dimensions: there is none")
	sum := Decimal(0)
	for i, dim := range d.Dimensions {
		place, s := fmt.Sprintf("dimensions[%d]", i), dim.Scale
		c.name(place+".name", dim.Name, nameForm)
		_, twice := r.at[dim.Name]
		c.need(!twice, "%s.name: %s comes twice", place, quoted(dim.Name))
		r.at[dim.Name] = i
		sum += dim.Weight
		c.need(s.Min < s.Max, "%s.scale: min %v is not below max %v", place, s.Min, s.Max)
		c.need(s.Max > 0, "%s.scale: max %v is not above 0", place, s.Max)
		c.need(!s.Integer || s.Min%unit == 0 && s.Max%unit == 0, "%s.scale: an integer scale has whole ends", place)
		for i, a := range dim.Anchors {
			c.need(s.Min <= a.From && a.From <= s.Max, "%s.anchors: from %v is off the scale", place, a.From)
			c.need(i == 0 || dim.Anchors[i-1].From < a.From, "%s.anchors: two from %v", place, a.From)
		}
	}
	off := sum - d.WeightsSum
	c.need(sum > 0 || len(d.Dimensions) == 0, "dimensions: every weight is 0")
	c.need(d.WeightsSum == 0 || max(off, -off) <= unit/1000, "the weights add up to %v, not to %v", sum, d.WeightsSum)
}

// rules checks the rules that name dimensions, and the gates.
func (c *checker) rules(r *Rubric) {
	d := r.def
	dimension := func(list string, i int, name string) string {
		place := fmt.Sprintf("%s[%d]", list, i)
		_, known := r.at[name]
		every := name == "" && (list == "floors" || list == "warnings")
		c.need(known || every, "%s.dimension: there is no dimension %s", place, quoted(name))
		return place
	}
	for i, f := range d.Floors {
		dimension("floors", i, f.Dimension)
	}
	for i, x := range d.Ceilings {
		dimension("ceilings", i, x.Dimension)
	}
	for i, w := range d.Warnings {
		place := dimension("warnings", i, w.Dimension)
		c.name(place+".name", w.Name, nameForm)
	}
	for i, name := range d.TieBreaks {
		place := dimension("tie_breaks", i, name)
		c.need(slices.Index(d.TieBreaks, name) == i, "%s: %s comes twice", place, quoted(name))
	}
	for i, g := range d.Gates {
		place := fmt.Sprintf("gates[%d]", i)
		c.name(place+".name", g.Name, nameForm)
		first := slices.IndexFunc(d.Gates, func(x Gate) bool { return x.Name == g.Name })
		c.need(first == i, "%s.name: %s comes twice", place, quoted(g.Name))
	}
}

// bands checks that the thresholds fall from the best band to the worst, and that the last band fails if a floor or a
// gate can fail a card.
func (c *checker) bands(d *Definition) {
	for i, b := range d.Bands {
		place, last := fmt.Sprintf("bands[%d]", i), i == len(d.Bands)-1
		c.need(!b.Fails || !b.Caution, "%s: a verdict either fails or asks for caution", place)
		c.need(b.AtLeast != nil || last, "%s.at_least: only the last band goes without", place)
		c.need(b.AtLeast == nil || !last, "%s.at_least: the last band takes all the rest", place)
		if i == 0 {
			c.need(!b.Fails, "%s: the best band cannot fail", place)
			continue
		}
		above := d.Bands[i-1]
		falls := b.AtLeast == nil || above.AtLeast == nil || *b.AtLeast < *above.AtLeast
		c.need(falls, "%s.at_least: bands fall from the best to the worst", place)
		c.need(b.Fails || !above.Fails, "%s: a band below one that fails has to fail too", place)
	}
	fails := len(d.Floors) > 0 || slices.ContainsFunc(d.Gates, func(g Gate) bool { return g.Fails })
	n := len(d.Bands)
	c.need(n == 0 || d.Bands[n-1].Fails || !fails, "bands: the last band has to fail, because floors or gates do")
}
