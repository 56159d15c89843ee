package evaluate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func claims(confidence float64, right, wrong int) (list []Prediction) {
	for range right {
		list = append(list, Prediction{confidence, true})
	}
	for range wrong {
		list = append(list, Prediction{confidence, false})
	}
	return list
}

// Two levels of confidence fill five bins each: the error is the mean of their gaps.
func TestExpectedCalibrationError(t *testing.T) {
	for _, tt := range []struct {
		name   string
		claims []Prediction
		want   float64
	}{
		{"exact", slices.Concat(claims(0.9, 9, 1), claims(0.5, 5, 5)), 0},
		{"too sure", slices.Concat(claims(0.9, 5, 5), claims(0.5, 5, 5)), 0.2},
		{"gaps do not cancel", slices.Concat(claims(0.9, 5, 5), claims(0.5, 9, 1)), 0.4},
		{"one level over all bins", claims(0.7, 3, 7), 0.4},
		{"fewer than bins", claims(0.6, 1, 1), 0.1},
		{"none", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.InDelta(t, tt.want, Calibrate(tt.claims, 1).ECE, 1e-12)
			rand.New(rand.NewPCG(1, 1)).Shuffle(len(tt.claims), func(i, j int) { tt.claims[i], tt.claims[j] = tt.claims[j], tt.claims[i] })
			assert.InDelta(t, tt.want, Calibrate(tt.claims, 1).ECE, 1e-12, "the order of claims is no matter")
		})
	}
}

// A model that is right as often as it says lies in its band 9 times of 10; one that claims .2 too
// much lies above. A small sample of a perfect model fails the .05 but passes by its band.
func TestCalibrationBand(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	inside, passed := 0, 0
	for range 100 {
		var list []Prediction
		for range 60 {
			c := r.Float64()
			list = append(list, Prediction{c, r.Float64() < c})
		}
		c := Calibrate(list, 1)
		require.Greater(t, c.Band[1], goodECE, "60 claims are few")
		if c.ECE >= c.Band[0] && c.ECE <= c.Band[1] {
			inside++
		}
		if c.Calibrated == nil { // it passes, and 60 are too few to say so
			passed++
		}
	}
	assert.InDelta(t, 0.9, float64(inside)/100, 0.08)
	assert.InDelta(t, 0.95, float64(passed)/100, 0.05)

	var list []Prediction
	for range 2000 {
		c := 0.2 + 0.8*r.Float64()
		list = append(list, Prediction{c, r.Float64() < c-0.2})
	}
	c := Calibrate(list, 1)
	assert.False(t, *c.Calibrated)
	assert.InDelta(t, 0.2, c.ECE, 0.03)
	assert.Less(t, c.Band[1], goodECE)
	assert.Equal(t, c, Calibrate(list, 1))
}

// A few claims never show that confidence is calibrated; they may well show that it is not.
func TestCalibrationOfFewClaims(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name   string
		claims []Prediction
		want   *bool
	}{
		{"right, and too few", claims(1, LeastClaims-1, 0), nil},
		{"right, and enough", claims(1, LeastClaims, 0), &yes},
		{"wrong, though few", claims(0.95, 0, 5), &no},
	} {
		assert.Equal(t, tt.want, Calibrate(tt.claims, 1).Calibrated, tt.name)
	}
}
