package rank

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkNext answers with a request in catalogs of which at most 2,000 tools were ever used.
func BenchmarkNext(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		words := func(from, k int) (text string) {
			for range k {
				text += fmt.Sprintf("word%d ", from+random.IntN(50))
			}
			return text
		}
		tools := make([]Tool, n)
		for i := range tools {
			tools[i] = Tool{Name: fmt.Sprintf("tool%d", i), Text: words(i%3000, 8), Server: int32(i / 20)}
		}
		var tasks []*Task
		for i := range 1_500 {
			t := &Task{Group: uint64(i)}
			for range 4 {
				t.Steps = append(t.Steps, int32(random.IntN(min(n, 2_000))*(n/min(n, 2_000))))
			}
			t.Intent = words(int(t.Steps[0])%3000, 8)
			tasks = append(tasks, t)
		}
		m := &Model{history: Count(NewTexts(tools, nil, nil).read(tasks), tasks, func() bool { return false })}
		m.next.trees = fit(b, history(80)).next.trees
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Next(Situation{Context: tasks[0].Steps[:2], Intent: tasks[0].Intent})
			}
		})
	}
}
