package contribution

import "testing"

// A message of seven deltas, all of them scored by rule.
func BenchmarkScore(b *testing.B) {
	r := Request{Role: adversarialCritic, Text: join(pool[:7]), Anchors: &Anchors{Max: 236}}
	b.SetBytes(int64(len(r.Text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Score(r); err != nil {
			b.Fatal(err)
		}
	}
}
