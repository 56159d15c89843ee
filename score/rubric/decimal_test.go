package rubric

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseDecimal(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Decimal
		bad  string
	}{
		{in: "3", want: 30000}, {in: "3.5", want: 35000}, {in: "3.3500", want: 33500}, {in: "0.0001", want: 1},
		{in: "-0.5", want: -5000}, {in: "1.00000000", want: 10000}, {in: "007", want: 70000},
		{in: "0.00001", bad: "more than 4 decimal places"}, {in: "99999999999999999999", bad: "too large"},
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

func TestDecimalText(t *testing.T) {
	assert.Equal(t, "3.35", Decimal(33500).String())
	assert.Equal(t, "3", Whole(3).String())
	assert.Equal(t, "0", Decimal(0).String())
	assert.Equal(t, "-0.5", Decimal(-5000).String())
	assert.Equal(t, "3.00", Whole(3).Fixed(2))
	assert.Equal(t, "3.13", Decimal(31250).Fixed(2), "half up")
	assert.Equal(t, "-3.12", Decimal(-31250).Fixed(2), "halves go up, not away from zero")
	assert.Equal(t, "4", Decimal(35000).Fixed(0))
	data, err := json.Marshal(map[string]Decimal{"x": Hundredths(335)})
	require.NoError(t, err)
	assert.Equal(t, `{"x":3.35}`, string(data))
}

func TestDecimalsKeepTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Decimal(rapid.Int64Range(-1e15, 1e15).Draw(t, "d"))
		back, err := ParseDecimal(d.String())
		require.NoError(t, err)
		require.Equal(t, d, back)
	})
}

// Comparing and rounding agree with big fractions.
func TestRatioAgainstBigRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) ratio {
			return ratio{rapid.Int64().Draw(t, name+" num"), rapid.Int64Range(1, 1<<62).Draw(t, name+" den")}
		}
		a, b := draw("a"), draw("b")
		require.Equal(t, a.Rat().Cmp(b.Rat()), a.Cmp(b))
		require.Zero(t, a.Cmp(a))
		c := ratio{int64(rapid.Int32().Draw(t, "num")), int64(rapid.Int32Range(1, 1<<31-1).Draw(t, "den"))}
		require.Equal(t, c.Rat().Cmp(b.Rat()), c.Cmp(b))
		require.Equal(t, RoundHalfUp(c.Rat(), 4), c.Round(4))
	})
	rapid.Check(t, func(t *rapid.T) {
		x := big.NewRat(rapid.Int64Range(-1e12, 1e12).Draw(t, "num"), rapid.Int64Range(1, 1e6).Draw(t, "den"))
		n := rapid.IntRange(0, 4).Draw(t, "places")
		got := RoundHalfUp(x, n).Rat()
		step := big.NewRat(1, []int64{1, 10, 100, 1000, 10000}[n])
		half := new(big.Rat).Mul(step, big.NewRat(1, 2))
		off := new(big.Rat).Sub(got, x) // in (−half, +half]
		require.LessOrEqual(t, off.Cmp(half), 0)
		require.Positive(t, off.Cmp(new(big.Rat).Neg(half)))
		require.True(t, new(big.Rat).Quo(got, step).IsInt())
		small := ratio{x.Num().Int64(), x.Denom().Int64()} // without big numbers
		require.Equal(t, RoundHalfUp(x, n), small.Round(n))
		require.Zero(t, small.Cmp(lowest(7*small.num, 7*small.den)))
	})
}
