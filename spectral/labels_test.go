package spectral_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/spectral"
)

// Overlaps counted by hand.
func TestStableLabels(t *testing.T) {
	for _, row := range []struct {
		name                    string
		previous, current, want []int32
	}{
		{"renamed", []int32{0, 0, 1, 1, 2}, []int32{2, 2, 0, 0, 1}, []int32{0, 0, 1, 1, 2}},
		{"nothing before", nil, []int32{0, 1, 0}, []int32{0, 1, 0}},
		{"one split: the larger half keeps the name", []int32{0, 0, 0, 0, 0}, []int32{0, 0, 1, 1, 1}, []int32{1, 1, 0, 0, 0}},
		{"two joined: the larger name stays", []int32{0, 0, 1, 1, 1}, []int32{0, 0, 0, 0, 0}, []int32{1, 1, 1, 1, 1}},
		{"a name that vanished is not given again", []int32{0, 0, 5, 5}, []int32{0, 0, -1, -1, 1, 1}, []int32{0, 0, -1, -1, 6, 6}},
		{"equal overlaps: the smaller names", []int32{0, 1, 0, 1}, []int32{0, 0, 1, 1}, []int32{0, 0, 1, 1}},
		{"the largest overlap first", []int32{0, 0, 0, 1, 1, 1, 1}, []int32{0, 0, 1, 0, 0, 0, 1}, []int32{1, 1, 0, 1, 1, 1, 0}},
	} {
		assert.Equal(t, row.want, spectral.StableLabels(row.previous, row.current), row.name)
	}
}

func ExampleStableLabels() {
	yesterday := []int32{0, 0, 1, 1, 1}
	today := []int32{1, 1, 0, 0, 0, 2} // numbered by another first row, and one cluster is new
	fmt.Println(spectral.StableLabels(yesterday, today))
	// Output: [0 0 1 1 1 2]
}
