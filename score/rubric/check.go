package rubric

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// checker collects the faults of a definition.
type checker struct {
	r      *Rubric
	faults []error
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

func (c *checker) name(place, name string, form *regexp.Regexp) {
	if !form.MatchString(name) {
		c.fault("%s: %s is no name; names are lower-case letters, digits and _, a letter first, at most 64", place, shown(name))
	}
}

func (c *checker) text(place string, texts ...string) {
	for _, t := range texts {
		if len(t) > maxText {
			c.fault("%s: a text is longer than %d bytes", place, maxText)
		}
	}
}

func (c *checker) head() {
	d := &c.r.def
	c.name("id", d.ID, idForm)
	c.text("title or description", d.Title, d.Description)
	if d.Aggregate != mean && d.Aggregate != Sum {
		c.fault("aggregate: %s is neither mean nor sum", shown(string(d.Aggregate)))
	}
	if d.BandsOn != onComposite && d.BandsOn != onPercent {
		c.fault("bands_on: %s is neither composite nor percent", shown(string(d.BandsOn)))
	}
	if c.r.places < 0 || c.r.places > places {
		c.fault("places: %d is not 0 to %d", c.r.places, places)
	}
}

func (c *checker) dimensions() {
	d := &c.r.def
	switch {
	case len(d.Dimensions) == 0:
		c.fault("dimensions: there is none")
	case len(d.Dimensions) > maxDimensions:
		c.fault("dimensions: more than %d", maxDimensions)
		return
	}
	sum, bounded := Decimal(0), true
	for i := range d.Dimensions {
		dim := &d.Dimensions[i]
		place := fmt.Sprintf("dimensions[%d]", i)
		c.name(place+".name", dim.Name, nameForm)
		c.text(place, dim.Title, dim.Description)
		if _, twice := c.r.at[dim.Name]; twice {
			c.fault("%s.name: %s comes twice", place, shown(dim.Name))
		}
		c.r.at[dim.Name] = i
		if dim.Weight < 0 || dim.Weight > maxWeight {
			c.fault("%s.weight: %v is not 0 to %v", place, dim.Weight, Decimal(maxWeight))
			bounded = false
			continue
		}
		sum += dim.Weight
		c.scale(place, dim)
	}
	if !bounded {
		return
	}
	if sum == 0 && len(d.Dimensions) > 0 {
		c.fault("dimensions: every weight is 0")
	}
	if off := sum - d.WeightsSum; d.WeightsSum != 0 && max(off, -off) > unit/1000 {
		c.fault("the weights add up to %v, not to %v", sum, d.WeightsSum)
	}
}

func (c *checker) scale(place string, dim *Dimension) {
	s := dim.Scale
	switch {
	case s.Min >= s.Max:
		c.fault("%s.scale: min %v is not below max %v", place, s.Min, s.Max)
	case s.Min < -maxScore || s.Max > maxScore:
		c.fault("%s.scale: beyond %v", place, Decimal(maxScore))
	case s.Max <= 0:
		c.fault("%s.scale: max %v is not above 0", place, s.Max)
	case s.Integer && (s.Min%unit != 0 || s.Max%unit != 0):
		c.fault("%s.scale: an integer scale has whole ends", place)
	}
	if len(dim.Anchors) > maxRules {
		c.fault("%s.anchors: more than %d", place, maxRules)
		return
	}
	slices.SortStableFunc(dim.Anchors, func(a, b anchor) int { return cmp.Compare(a.From, b.From) })
	for i, a := range dim.Anchors {
		c.text(place+".anchors", a.Label, a.Text, a.Example)
		if a.From < s.Min || a.From > s.Max {
			c.fault("%s.anchors: from %v is off the scale", place, a.From)
		}
		if i > 0 && dim.Anchors[i-1].From == a.From {
			c.fault("%s.anchors: two from %v", place, a.From)
		}
	}
}

// known checks the name of a dimension that a rule speaks of.
func (c *checker) known(place, name string) {
	if _, ok := c.r.at[name]; !ok {
		c.fault("%s: there is no dimension %s", place, shown(name))
	}
}

func (c *checker) rules() {
	d := &c.r.def
	for what, n := range map[string]int{"floors": len(d.Floors), "ceilings": len(d.Ceilings), "gates": len(d.Gates),
		"bands": len(d.Bands), "warnings": len(d.Warnings), "tie_breaks": len(d.TieBreaks)} {
		if n > maxRules {
			c.fault("%s: more than %d", what, maxRules)
		}
	}
	for i, f := range d.Floors {
		if f.Dimension != "" {
			c.known(fmt.Sprintf("floors[%d].dimension", i), f.Dimension)
		}
	}
	for i, x := range d.Ceilings {
		c.known(fmt.Sprintf("ceilings[%d].dimension", i), x.Dimension)
		if x.Cap < -maxScore || x.Cap > maxScore {
			c.fault("ceilings[%d].cap: beyond %v", i, Decimal(maxScore))
		}
	}
	for i, g := range d.Gates {
		place := fmt.Sprintf("gates[%d]", i)
		c.name(place+".name", g.Name, nameForm)
		c.text(place, g.Description, g.Consequence)
		if _, twice := c.r.gates[g.Name]; twice {
			c.fault("%s.name: %s comes twice", place, shown(g.Name))
		}
		c.r.gates[g.Name] = i
		if g.Cap != nil && (*g.Cap < -maxScore || *g.Cap > maxScore) {
			c.fault("%s.cap: beyond %v", place, Decimal(maxScore))
		}
	}
	for i, w := range d.Warnings {
		place := fmt.Sprintf("warnings[%d]", i)
		c.name(place+".name", w.Name, nameForm)
		c.text(place, w.Text)
		if w.Dimension != "" {
			c.known(place+".dimension", w.Dimension)
		}
	}
	for i, name := range d.TieBreaks {
		c.known(fmt.Sprintf("tie_breaks[%d]", i), name)
		if slices.Index(d.TieBreaks, name) < i {
			c.fault("tie_breaks[%d]: %s comes twice", i, shown(name))
		}
	}
}

func (c *checker) bands() {
	bands := c.r.def.Bands
	for i, b := range bands {
		place := fmt.Sprintf("bands[%d]", i)
		last := i == len(bands)-1
		switch {
		case b.Verdict == "" || len(b.Verdict) > 64:
			c.fault("%s.verdict: 1 to 64 bytes are needed", place)
		case b.Fails && b.Caution:
			c.fault("%s: a verdict either fails or asks for caution", place)
		case b.AtLeast == nil && !last:
			c.fault("%s.at_least: only the last band goes without", place)
		case b.AtLeast != nil && last:
			c.fault("%s.at_least: the last band takes all the rest", place)
		case i > 0 && b.AtLeast != nil && bands[i-1].AtLeast != nil && *b.AtLeast >= *bands[i-1].AtLeast:
			c.fault("%s.at_least: bands fall from the best to the worst", place)
		case i > 0 && bands[i-1].Fails && !b.Fails:
			c.fault("%s: a band below one that fails has to fail too", place)
		}
	}
	if len(bands) > 0 && !bands[len(bands)-1].Fails && c.r.canFail() {
		c.fault("bands: the last band has to fail, because floors or gates do")
	}
}

// canFail reports whether a card can fail whatever its composite.
func (r *Rubric) canFail() bool {
	return len(r.def.Floors) > 0 || slices.ContainsFunc(r.def.Gates, func(g Gate) bool { return g.Fails })
}
