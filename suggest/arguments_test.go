package suggest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each required input of each task of a plan is given by a result of an earlier task, by the intent, or it is missing, and
// only one of these.
func TestRequiredInputsOfPlans(t *testing.T) {
	m := sampleModel(t)
	plans, ids, given := 0, 0, 0
	asked := map[string]bool{}
	for i := 0; plans < 50; i += 17 {
		intent := m.Past.Episode(i).Intent
		if intent == "" || asked[intent] {
			continue
		}
		asked[intent] = true
		a := planned(t, m, DAGRequest{Intent: intent})
		if len(a.DAG.Tasks) == 0 {
			continue
		}
		plans++
		for j, task := range a.DAG.Tasks {
			schemas := m.Catalog.SchemasOf(task.Tool)
			if schemas == nil {
				require.Empty(t, task.Missing)
				continue
			}
			missing := map[string]bool{}
			for _, name := range task.Missing {
				require.False(t, missing[name])
				missing[name] = true
			}
			for name, from := range task.Arguments {
				var k int
				if n, _ := fmt.Sscanf(from.From, "t%d.", &k); n == 1 {
					require.LessOrEqual(t, k, j, "%s of %s in the plan for %q", name, task.ID, intent)
				} else {
					require.Equal(t, "intent", from.From)
				}
			}
			for _, in := range schemas.Inputs() {
				if !in.Required {
					require.False(t, missing[in.Name])
					continue
				}
				_, wired := task.Arguments[in.Name]
				assert.NotEqual(t, wired, missing[in.Name], "%s of %s in the plan for %q", in.Name, task.Tool, intent)
				if id := strings.ToLower(in.Name); strings.HasSuffix(id, "id") || strings.HasSuffix(id, "key") || strings.HasSuffix(id, "number") {
					if ids++; wired {
						given++
					}
				}
			}
		}
	}
	t.Logf("%d plans: %d of %d required ids are given", plans, given, ids)
	assert.Greater(t, float64(given), .3*float64(ids))
}
