package score

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// reviewRubric is a rubric with every rule in it: two ceilings, a gate with a cap, floors, bands and warnings.
const reviewRubric = `
id: review
dimensions:
  - {name: accuracy, weight: 0.5, scale: {min: 0, max: 10}, anchors: [{from: 9, label: A}, {from: 0, label: C}, {from: 5, label: B}]}
  - {name: clarity, weight: 0.3, scale: {min: 0, max: 10, integer: true}}
  - {name: style, weight: 0.2, scale: {min: 0, max: 10}, conditional: true}
weights_sum: 1
floors: [{dimension: clarity, below: 1}]
ceilings: [{dimension: accuracy, below: 7, cap: 7}, {dimension: accuracy, below: 5, cap: 4}]
gates: [{name: unsafe, cap: 0}, {name: forged, fails: true, consequence: flagged}]
bands: [{verdict: good, at_least: 7.5}, {verdict: fair, at_least: 5, caution: true}, {verdict: bad, fails: true}]
warnings: [{name: unclear, dimension: clarity, below: 4}, {name: low, below: 50, text: Low quality}]
tie_breaks: [accuracy, style]
`

func card(scores ...any) Card {
	c := Card{Scores: map[string]*Decimal{}}
	for i := 0; i < len(scores); i += 2 {
		if scores[i+1] == nil {
			c.Scores[scores[i].(string)] = nil
			continue
		}
		d, err := ParseDecimal(fmt.Sprint(scores[i+1]))
		if err != nil {
			panic(err)
		}
		c.Scores[scores[i].(string)] = &d
	}
	return c
}

func TestScore(t *testing.T) {
	r := MustLoad([]byte(reviewRubric))
	below := func(composite string) string { return "Composite score " + composite + " below threshold of 5.0" }
	for _, tt := range []struct {
		name                               string
		card                               Card
		gate, composite, uncapped, ceiling string
		verdict, reason, warnings          string
	}{
		{"by hand: .5·8 + .3·9 + .2·6", card("accuracy", 8, "clarity", 9, "style", 6), "", "7.9", "7.9", "", "good", "", ""},
		{"not applicable leaves the denominator: (.5·8 + .3·8) / .8", card("accuracy", 8, "clarity", 8, "style", nil), "", "8", "8", "", "good", "", ""},
		{"the lower ceiling counts", card("accuracy", 4, "clarity", 10, "style", 10), "", "4", "7", "4", "bad", below("4.00"), "low"},
		{"a ceiling is no floor", card("accuracy", 1, "clarity", 1, "style", 1), "", "1", "1", "4", "bad", below("1.00"), "unclear low"},
		{"just below a ceiling's bound", card("accuracy", "6.9999", "clarity", 10, "style", 10), "", "7", "8.49995", "7", "fair", "", ""},
		{"at the bound", card("accuracy", 7, "clarity", 10, "style", 10), "", "8.5", "8.5", "", "good", "", ""},
		{"a floor fails first", card("accuracy", 10, "clarity", 0, "style", 10), "", "7", "7", "", "bad", "clarity scored 0 (below minimum threshold of 1)", "unclear"},
		{"the gate's cap comes last", card("accuracy", 4, "clarity", 10, "style", 10), "unsafe", "0", "7", "4", "bad", below("0.00"), "low"},
		{"a gate that fails", card("accuracy", 10, "clarity", 10, "style", 10), "forged", "10", "10", "", "bad", "gate forged failed", ""},
		{"as many places as it takes", card("accuracy", "9.398", "clarity", 1, "style", 0), "", "4.999", "4.999", "", "bad", below("4.999"), "unclear low"},
		{"never up to the threshold", card("accuracy", "9.3999", "clarity", 1, "style", 0), "", "4.99995", "4.99995", "", "bad", below("4.9999"), "unclear low"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.card.FailedGates = strings.Fields(tt.gate)
			res, err := r.Score(tt.card)
			require.NoError(t, err)
			assert.Zero(t, res.Composite.Cmp(rat(t, tt.composite)), "composite %v", res.Composite)
			assert.Zero(t, res.Uncapped.Cmp(rat(t, tt.uncapped)), "uncapped %v", res.Uncapped)
			assert.Equal(t, tt.ceiling == "", res.Ceiling == nil)
			if res.Ceiling != nil {
				assert.Equal(t, tt.ceiling, res.Ceiling.String())
			}
			assert.Equal(t, tt.verdict, res.Verdict)
			assert.Equal(t, tt.reason, strings.Join(res.Reasons, "; "))
			var warnings []string
			for _, w := range res.Warnings {
				warnings = append(warnings, w.Name)
			}
			assert.Equal(t, tt.warnings, strings.Join(warnings, " "))
		})
	}
}

func rat(t *testing.T, s string) *big.Rat {
	x, ok := new(big.Rat).SetString(s)
	require.True(t, ok, s)
	return x
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	r := MustLoad([]byte(reviewRubric))
	for _, tt := range []struct {
		name string
		card Card
		want string
	}{
		{"missing", card("accuracy", 8, "style", 6), "clarity: the score is missing"},
		{"missing although conditional", card("accuracy", 8, "clarity", 6), "style: the score is missing"},
		{"unknown", card("accuracy", 8, "clarity", 6, "style", 1, "charm", 1), "charm: there is no such dimension; there are accuracy, clarity, style"},
		{"off the scale", card("accuracy", 11, "clarity", 6, "style", 1), "accuracy: 11 is off the scale of 0 to 10"},
		{"below the scale", card("accuracy", -1, "clarity", 6, "style", 1), "accuracy: -1 is off the scale of 0 to 10"},
		{"no integer", card("accuracy", 8, "clarity", 6.5, "style", 1), "clarity: 6.5 is off the scale of 0 to 10 in whole numbers"},
		{"always applies", card("accuracy", nil, "clarity", 6, "style", 1), "accuracy: always applies"},
		{"unknown not applicable", card("accuracy", 8, "clarity", 6, "style", 1, "x y", nil), `"x y": there is no such dimension`},
		{"nothing", Card{}, "accuracy: the score is missing"},
	} {
		_, err := r.Score(tt.card)
		var se *RequestError
		if assert.ErrorAs(t, err, &se, tt.name) {
			assert.Contains(t, err.Error(), tt.want, tt.name)
		}
	}
}

func TestSumKeepsItsMaximum(t *testing.T) {
	r := MustLoad([]byte(`
id: points
aggregate: sum
dimensions:
  - {name: a, weight: 2, scale: {min: 0, max: 3}}
  - {name: b, weight: 0.5, scale: {min: 0, max: 2}, conditional: true}
bands_on: percent
bands: [{verdict: A, at_least: 90}, {verdict: F}]
`))
	res, err := r.Score(card("a", 3, "b", 1))
	require.NoError(t, err)
	assert.Equal(t, "6.5", r.Shown(res.Composite).String())
	assert.Equal(t, "7", r.Shown(res.Max).String())
	assert.Equal(t, "92.86", Round(res.Percent(), 2).String()) // 650/7 = 92.857…
	assert.Equal(t, "A", res.Verdict)
	res, err = r.Score(card("a", "2.6999", "b", nil)) // 5.3998 of 6 = 89.9967 %
	require.NoError(t, err)
	assert.Equal(t, "6", r.Shown(res.Max).String())
	assert.Equal(t, "F", res.Verdict, "bands come before rounding")

	r = MustLoad([]byte(`{"id":"x","dimensions":[{"name":"a","weight":1,"scale":{"min":0,"max":1},"conditional":true}]}`))
	_, err = r.Score(card("a", nil))
	assert.ErrorContains(t, err, "no dimension with a weight applies")
}

// Equal composites go by accuracy, then style (not applicable is last), then id.
func TestRank(t *testing.T) {
	r := MustLoad([]byte(reviewRubric))
	cards := map[string]Card{
		"z-best":   card("accuracy", 9, "clarity", 9, "style", 9),
		"b-tie":    card("accuracy", 8, "clarity", 8, "style", 8),
		"a-tie":    card("accuracy", 8, "clarity", 8, "style", 8),
		"accurate": card("accuracy", 9, "clarity", 7, "style", 7), // 4.5 + 2.1 + 1.4 = 8
		"bare":     card("accuracy", 8, "clarity", 8, "style", nil),
		"failed":   card("accuracy", 10, "clarity", 0, "style", 10),
	}
	want := map[string]int{"z-best": 1, "accurate": 2, "a-tie": 3, "b-tie": 4, "bare": 5, "failed": 0}
	var ids []string
	for id := range cards {
		ids = append(ids, id)
	}
	for range 20 { // in any order
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		results := make([]Result, len(ids))
		for i, id := range ids {
			var err error
			results[i], err = r.Score(cards[id])
			require.NoError(t, err)
		}
		got := map[string]int{}
		for i, n := range r.Rank(ids, results) {
			got[ids[i]] = n
		}
		assert.Equal(t, want, got)
	}
}

// Neither the order of dimensions nor that of rules changes a result.
func TestPermutationInvariance(t *testing.T) {
	def := MustLoad([]byte(reviewRubric)).Definition()
	rapid.Check(t, func(t *rapid.T) {
		other := def
		other.Dimensions = rapid.Permutation(def.Dimensions).Draw(t, "dimensions")
		other.Ceilings = rapid.Permutation(def.Ceilings).Draw(t, "ceilings")
		other.Gates = rapid.Permutation(def.Gates).Draw(t, "gates")
		other.Warnings = rapid.Permutation(def.Warnings).Draw(t, "warnings")
		a, b := mustNew(def), mustNew(other)
		c := Card{Scores: map[string]*Decimal{
			"accuracy": new(Decimal(rapid.Int64Range(0, 100_000).Draw(t, "accuracy"))),
			"clarity":  new(Whole(rapid.IntRange(0, 10).Draw(t, "clarity"))),
			"style":    nil,
		}}
		if rapid.Bool().Draw(t, "style applies") {
			c.Scores["style"] = new(Decimal(rapid.Int64Range(0, 100_000).Draw(t, "style")))
		}
		if rapid.Bool().Draw(t, "unsafe") {
			c.FailedGates = []string{"unsafe"}
		}
		x, err := a.Score(c)
		require.NoError(t, err)
		y, err := b.Score(c)
		require.NoError(t, err)
		require.Zero(t, x.Composite.Cmp(y.Composite))
		require.Equal(t, x.Verdict, y.Verdict)
		require.ElementsMatch(t, x.Reasons, y.Reasons)
		require.ElementsMatch(t, x.Warnings, y.Warnings)
		require.Zero(t, a.Compare(&x, &x))
	})
}

func TestParseDecimal(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Decimal
		bad  string
	}{
		{in: "3", want: 30000}, {in: "3.5", want: 35000}, {in: "3.3500", want: 33500}, {in: "0.0001", want: 1},
		{in: "-0.5", want: -5000}, {in: "1.00000000", want: 10000}, {in: "007", want: 70000},
		{in: "0.00001", bad: "more than 4 decimal places"}, {in: "99999999999999999999", bad: "not a decimal"},
		{in: "", bad: "not a decimal"}, {in: "-", bad: "not a decimal"}, {in: "1.", bad: "not a decimal"}, {in: ".5", bad: "not a decimal"},
		{in: "1e3", bad: "not a decimal"}, {in: "+1", bad: "not a decimal"}, {in: "null", bad: "not a decimal"}, {in: "--1", bad: "not a decimal"},
	} {
		got, err := ParseDecimal(tt.in)
		if tt.bad != "" {
			assert.ErrorContains(t, err, tt.bad, tt.in)
			continue
		}
		assert.NoError(t, err, tt.in)
		assert.Equal(t, tt.want, got, tt.in)
	}
}

// Rounding is to the nearest step, halves upwards.
func TestRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := big.NewRat(rapid.Int64Range(-1e12, 1e12).Draw(t, "num"), rapid.Int64Range(1, 1e6).Draw(t, "den"))
		n := rapid.IntRange(0, 4).Draw(t, "places")
		got := Round(x, n).Rat()
		step := big.NewRat(1, []int64{1, 10, 100, 1000, 10000}[n])
		half := new(big.Rat).Mul(step, big.NewRat(1, 2))
		off := new(big.Rat).Sub(got, x) // in (−half, +half]
		require.LessOrEqual(t, off.Cmp(half), 0)
		require.Positive(t, off.Cmp(new(big.Rat).Neg(half)))
		require.True(t, new(big.Rat).Quo(got, step).IsInt())
	})
}

func mustNew(def Definition) *Rubric { return must(New(def)) }
