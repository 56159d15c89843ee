package rubric

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// A Definition is a rubric as data.
type Definition struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	// Aggregate is "mean" (Σ weight·score / Σ weight, the default) or "sum" (Σ weight·score).
	Aggregate Aggregate `json:"aggregate,omitempty"`
	// WeightsSum is what the weights of all dimensions add up to, to within .001; 0 is not checked.
	WeightsSum Decimal `json:"weights_sum,omitempty"`
	// Places is how many decimals a composite shows, 0 to 4, half up; 2 if absent.
	Places *int `json:"places,omitempty"`

	Dimensions []Dimension `json:"dimensions"`
	Floors     []Floor     `json:"floors,omitempty"`
	Ceilings   []Ceiling   `json:"ceilings,omitempty"`
	Gates      []Gate      `json:"gates,omitempty"`
	Bands      []Band      `json:"bands,omitempty"`
	BandsOn    bandsOn     `json:"bands_on,omitempty"`
	Warnings   []warning   `json:"warnings,omitempty"`

	// TieBreaks name the dimensions that decide between equal composites, the first one first.
	TieBreaks []string `json:"tie_breaks,omitempty"`
}

// Aggregate is the formula of the composite.
type Aggregate string

const (
	mean Aggregate = "mean"
	Sum  Aggregate = "sum"
)

// bandsOn is the value that bands apply to.
type bandsOn string

const (
	onComposite bandsOn = "composite" // the default
	onPercent   bandsOn = "percent"   // of the largest composite possible
)

// A Dimension is one criterion of a rubric.
type Dimension struct {
	Name        string  `json:"name"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Weight      Decimal `json:"weight"`
	Scale       Scale   `json:"scale"`
	// Conditional permits a card to say that the dimension does not apply.
	Conditional bool     `json:"conditional,omitempty"`
	Anchors     []anchor `json:"anchors,omitempty"`
}

// A Scale is the range of a score, both ends included.
type Scale struct {
	Min     Decimal `json:"min"`
	Max     Decimal `json:"max"`
	Integer bool    `json:"integer,omitempty"`
}

// An Anchor is the meaning of scores from From up to the next anchor.
type anchor struct {
	From    Decimal `json:"from"`
	Label   string  `json:"label,omitempty"`
	Text    string  `json:"text,omitempty"`
	Example string  `json:"example,omitempty"`
}

// A Floor fails a card with a score below it, whatever the composite.
type Floor struct {
	Dimension string  `json:"dimension,omitempty"` // empty: every dimension
	Below     Decimal `json:"below"`
}

// A Ceiling bounds the composite of a card whose score of Dimension is below Below. The lowest counts.
type Ceiling struct {
	Dimension string  `json:"dimension"`
	Below     Decimal `json:"below"`
	Cap       Decimal `json:"cap"`
}

// A Gate is a condition apart from the scores. Its cap, if any, applies after the ceilings.
type Gate struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Cap         *Decimal `json:"cap,omitempty"`
	Fails       bool     `json:"fails,omitempty"` // a card that fails this gate fails altogether
	Consequence string   `json:"consequence,omitempty"`
}

// A Band gives a verdict to composites (or percents) from AtLeast on. The last band has no AtLeast.
type Band struct {
	Verdict string   `json:"verdict"`
	AtLeast *Decimal `json:"at_least,omitempty"`
	Fails   bool     `json:"fails,omitempty"`   // not ranked
	Caution bool     `json:"caution,omitempty"` // passes, but is flagged
}

// A Warning is a remark on a low score of a dimension, or on a low percent where none is named.
type warning struct {
	Name      string  `json:"name"`
	Dimension string  `json:"dimension,omitempty"`
	Below     Decimal `json:"below"`
	Text      string  `json:"text,omitempty"`
}

// The bounds keep every product and sum of the kernel within 64 bits.
const (
	maxDimensions = 64
	maxRules      = 64
	maxWeight     = 1000 * unit
	maxScore      = 1000 * unit
	maxText       = 4000
)

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
var idForm = regexp.MustCompile(`^[a-z][a-z0-9_.:-]{0,63}$`)

// A Rubric is a checked Definition. It is safe for concurrent use and must not be changed.
type Rubric struct {
	def     Definition
	at      map[string]int // dimension by name
	gates   map[string]int
	ties    []int // the tie-breaking dimensions
	places  int
	percent bool // something looks at the percent
}

// New checks a definition. The error lists every fault with its place.
func New(def Definition) (*Rubric, error) {
	def.Dimensions = slices.Clone(def.Dimensions)
	for i := range def.Dimensions {
		def.Dimensions[i].Anchors = slices.Clone(def.Dimensions[i].Anchors) // they are sorted
	}
	r := &Rubric{def: def, at: map[string]int{}, gates: map[string]int{}, places: 2}
	d := &r.def
	if d.Aggregate == "" {
		d.Aggregate = mean
	}
	if d.BandsOn == "" {
		d.BandsOn = onComposite
	}
	if d.Places != nil {
		r.places = *d.Places
	}
	c := checker{r: r}
	c.head()
	c.dimensions()
	c.rules()
	c.bands()
	if len(c.faults) > 0 {
		return nil, fmt.Errorf("rubric %s: %w", shown(d.ID), errors.Join(c.faults...))
	}
	for _, name := range d.TieBreaks {
		r.ties = append(r.ties, r.at[name])
	}
	r.percent = d.BandsOn == onPercent && len(d.Bands) > 0
	for _, w := range d.Warnings {
		r.percent = r.percent || w.Dimension == ""
	}
	return r, nil
}

// MustNew is New for definitions that are part of the program.
func MustNew(def Definition) *Rubric {
	r, err := New(def)
	if err != nil {
		panic(err)
	}
	return r
}

// Definition returns the definition with the defaults filled in. Its lists must not be modified.
func (r *Rubric) Definition() Definition { return r.def }

// Dimension returns the dimension of that name.
func (r *Rubric) Dimension(name string) (Dimension, bool) {
	i, ok := r.at[name]
	if !ok {
		return Dimension{}, false
	}
	return r.def.Dimensions[i], true
}

// AnchorOf returns the anchor of a score, zero if there is none.
func (d Dimension) AnchorOf(score Decimal) anchor {
	for i := len(d.Anchors) - 1; i >= 0; i-- {
		if d.Anchors[i].From <= score {
			return d.Anchors[i]
		}
	}
	return anchor{}
}

// OnScale reports whether a score can be given on the scale.
func (s Scale) OnScale(score Decimal) bool {
	return score >= s.Min && score <= s.Max && (!s.Integer || score%unit == 0)
}

func (s Scale) String() string {
	if s.Integer {
		return fmt.Sprintf("%v to %v in whole numbers", s.Min, s.Max)
	}
	return fmt.Sprintf("%v to %v", s.Min, s.Max)
}
