package api

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFourDigits(t *testing.T) {
	text, err := Encode(map[string]any{"a": 0.123456, "b": 123456.0, "c": 1e-7 / 3, "d": []float64{-98.7654, 1}, "e": 1234567}, fourDigits)
	assert.NoError(t, err)
	assert.JSONEq(t, `{"a":0.1235,"b":123456,"c":3.333e-8,"d":[-98.77,1],"e":1234567}`, string(text))
	_, err = Encode(math.NaN(), fourDigits)
	assert.Error(t, err)
}
