package score

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"waymark/internal/codec"
)

// A Definition is a rubric as data. The limits of its fields, see [Check], ensure that every sum fits a [Decimal].
type Definition struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	// Aggregate is "mean" (Σ weight·score / Σ weight, the default) or "sum" (Σ weight·score).
	Aggregate Aggregate `json:"aggregate,omitempty"`
	// WeightsSum is the required sum of the weights of all dimensions, to within 0.001; 0 disables the check.
	WeightsSum Decimal `json:"weights_sum,omitempty"`
	// Places is the number of decimal places of a composite, 0 to 4, rounded half up; default 2.
	Places *int `json:"places,omitempty" max:"4"`

	Dimensions []Dimension `json:"dimensions" max:"64"`
	Floors     []Floor     `json:"floors,omitempty"`
	Ceilings   []Ceiling   `json:"ceilings,omitempty"`
	Gates      []Gate      `json:"gates,omitempty"`
	Bands      []Band      `json:"bands,omitempty"`
	BandsOn    string      `json:"bands_on,omitempty"` // composite (default) or percent
	Warnings   []Warning   `json:"warnings,omitempty"`

	// TieBreaks name the dimensions that order equal composites, the first one first.
	TieBreaks []string `json:"tie_breaks,omitempty"`
}

// Aggregate is the formula of the composite.
type Aggregate string

const (
	Mean Aggregate = "mean"
	Sum  Aggregate = "sum"
)

// Values of [Definition].BandsOn: bands apply to the composite, or to the composite in percent of its maximum.
const (
	onComposite = "composite"
	onPercent   = "percent"
)

// A Dimension is one criterion of a rubric.
type Dimension struct {
	Name        string  `json:"name"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Weight      Decimal `json:"weight" max:"1000"`
	Scale       Scale   `json:"scale"`
	// Conditional permits a card to exclude the dimension as not applicable.
	Conditional bool     `json:"conditional,omitempty"`
	Anchors     []Anchor `json:"anchors,omitempty"`
}

// A Scale is the range of a score, both ends included.
type Scale struct {
	Min     Decimal `json:"min" min:"-1000" max:"1000"`
	Max     Decimal `json:"max" min:"-1000" max:"1000"`
	Integer bool    `json:"integer,omitempty"`
}

// An Anchor describes the scores from From up to the next anchor.
type Anchor struct {
	From    Decimal `json:"from"`
	Label   string  `json:"label,omitempty"`
	Text    string  `json:"text,omitempty"`
	Example string  `json:"example,omitempty"`
}

// A Floor fails a card with a score below it, whatever the composite.
type Floor struct {
	Dimension string  `json:"dimension,omitempty"` // default: every dimension
	Below     Decimal `json:"below"`
}

// A Ceiling bounds the composite of a card whose score of Dimension is below Below. The lowest cap applies.
type Ceiling struct {
	Dimension string  `json:"dimension"`
	Below     Decimal `json:"below"`
	Cap       Decimal `json:"cap" min:"-1000" max:"1000"`
}

// A Gate is a condition that does not depend on the scores. Its cap applies after the ceilings.
type Gate struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Cap         *Decimal `json:"cap,omitempty" min:"-1000" max:"1000"`
	Fails       bool     `json:"fails,omitempty"` // a card that fails the gate fails altogether
	Consequence string   `json:"consequence,omitempty"`
}

// A Band is the verdict for composites (or percents) of at least AtLeast. The last band has no AtLeast.
type Band struct {
	Verdict string   `json:"verdict" is:"required" max:"64"`
	AtLeast *Decimal `json:"at_least,omitempty"`
	Fails   bool     `json:"fails,omitempty"`   // not ranked
	Caution bool     `json:"caution,omitempty"` // passes with a flag
}

// A Warning is a remark on a low score of Dimension, or on a low percent if Dimension is empty.
type Warning struct {
	Name      string  `json:"name"`
	Dimension string  `json:"dimension,omitempty"`
	Below     Decimal `json:"below"`
	Text      string  `json:"text,omitempty"`
}

// OnScale reports whether the score is on the scale.
func (s Scale) OnScale(score Decimal) bool {
	return score >= s.Min && score <= s.Max && (!s.Integer || score%unit == 0)
}

func (s Scale) String() string {
	if s.Integer {
		return fmt.Sprintf("%v to %v in whole numbers", s.Min, s.Max)
	}
	return fmt.Sprintf("%v to %v", s.Min, s.Max)
}

// AnchorOf returns the anchor of a score, the zero Anchor if there is none. Anchors are sorted by From.
func (d Dimension) AnchorOf(score Decimal) (found Anchor) {
	for _, a := range d.Anchors {
		if a.From <= score {
			found = a
		}
	}
	return found
}

// maxSource is the maximum size of a definition as text, in bytes.
const maxSource = 256 << 10

// Load parses a definition in YAML or JSON and compiles it. The text is one document; unknown and repeated fields are
// errors.
func Load(data []byte) (*Rubric, error) {
	if len(data) > maxSource {
		return nil, fmt.Errorf("rubric: the definition is larger than %d bytes", maxSource)
	}
	def, err := decodeYAML[Definition](data)
	if err != nil {
		return nil, fmt.Errorf("rubric: %w", err)
	}
	return New(def)
}

// MustLoad is Load for definitions that are part of the program. It panics on an error.
func MustLoad(data []byte) *Rubric { return must(Load(data)) }

// MustDecode decodes YAML data that is part of the program. It panics on an error, such as an unknown field.
func MustDecode[T any](data []byte) T { return must(decodeYAML[T](data)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// decodeYAML decodes one document of YAML, of which JSON is a subset, by the strict rules for JSON.
func decodeYAML[T any](data []byte) (v T, err error) {
	text := bytes.TrimSpace(data)
	if !bytes.HasPrefix(text, []byte("{")) {
		if text, err = yamlToJSON(data); err != nil {
			return v, err
		}
	}
	err = codec.Unmarshal(text, &v)
	var strict *codec.Error
	if !errors.As(err, &strict) || strict.Syntax {
		return v, err
	}
	place := cmp.Or(strings.ReplaceAll(strings.TrimPrefix(strict.Place, "/"), "/", "."), "definition")
	var decimal *DecimalError
	if errors.As(strict.Err, &decimal) {
		return v, fmt.Errorf("%s: %w", place, decimal)
	}
	return v, fmt.Errorf("%s: %s", place, strict.Reason)
}

func yamlToJSON(data []byte) ([]byte, error) {
	var document, more any
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&document); err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	return json.Marshal(document)
}
