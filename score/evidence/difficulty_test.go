package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAssess(t *testing.T) {
	for _, tt := range []struct {
		question string
		entities []string
		words    int
		easy     bool
	}{
		{"What is the boiling point of water?", []string{}, 7, true},
		{"Who wrote Faust?", []string{"Faust"}, 3, true},
		{"Does Lake Baikal hold more water than Lake Superior?", []string{"Lake Baikal", "Lake Superior"}, 9, true},
		{"Did Lake Baikal, Lake Superior and Lake Tanganyika rise?", []string{"Lake Baikal", "Lake Superior", "Lake Tanganyika"}, 9, false},
		{"Does TRX phosphorylate p53 in HeLa cells?", []string{"TRX", "p53", "HeLa"}, 7, false},
		{"HTTP/2 is faster. Postgres is not. Why would I ask Postgres?", []string{"HTTP/2", "Postgres"}, 11, true},
		{"It was Anna's idea, and Anna's alone.", []string{"Anna"}, 7, true},
		{"why do the small birds that live in the old barn behind our house sing so much earlier in the year than those that live in town", []string{}, 27, false},
		{"", []string{}, 0, true},
	} {
		t.Run(tt.question, func(t *testing.T) {
			assert.Equal(t, Difficulty{Words: tt.words, Entities: tt.entities, Easy: tt.easy}, Assess(tt.question))
		})
	}
}
