package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Four of five tasks tried a tool that fails. Plans follow the others; where nobody says how tasks ended, the more
// frequent tool is planned.
func TestPlansFollowSuccesses(t *testing.T) {
	tools, others := office(60)
	tools = append(tools, Tool{Name: "omega_push"}, Tool{Name: "omega_roll"})
	fails, works := int32(len(tools)-2), int32(len(tools)-1)
	services := []string{"shop", "search", "mail", "login", "billing", "chat", "maps"}
	history := func(reported bool) []Task {
		var tasks []Task
		for i := range 100 {
			task := Task{Text: fmt.Sprintf("release the %s service %d", services[i%7], i), Steps: []int32{4, works}, After: [][]int32{nil, {0}}}
			if i%5 < 4 {
				task.Steps = []int32{4, fails}
				task.Failed = reported
			}
			tasks = append(tasks, task)
		}
		return append(tasks, others...)
	}
	for _, tt := range []struct {
		reported  bool
		want, not int32
	}{{false, fails, works}, {true, works, fails}} {
		m := Fit(NewTexts(tools), nil, history(tt.reported))
		for _, service := range services {
			got := names(m.Plan("release the "+service+" service 777", nil))
			assert.Contains(t, got, tt.want, "outcomes are reported: %v", tt.reported)
			assert.NotContains(t, got, tt.not, "outcomes are reported: %v", tt.reported)
		}
	}
}
