package suggest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each required input of each task of a plan is given by a result of an earlier task, by the intent, or it is missing, and
// only one of these.
func TestRequiredInputsOfPlans(t *testing.T) {
	m := sampleModel(t)
	ids, given := 0, 0
	for i := 0; i < m.Past.N; i += 23 {
		for j, task := range planned(t, m, DAGRequest{Intent: m.Past.Episode(i).Intent}).DAG.Tasks {
			schemas := m.Catalog.SchemasOf(task.Tool)
			if schemas == nil {
				require.Empty(t, task.Missing)
				continue
			}
			for name, from := range task.Arguments {
				var k int
				if n, _ := fmt.Sscanf(from.From, "t%d.", &k); n == 1 {
					require.LessOrEqual(t, k, j, "%s of %s", name, task.ID)
				} else {
					require.Equal(t, "intent", from.From)
				}
			}
			for _, in := range schemas.Inputs() {
				missing := slices.Contains(task.Missing, in.Name)
				if !in.Required {
					require.False(t, missing)
					continue
				}
				_, wired := task.Arguments[in.Name]
				assert.NotEqual(t, wired, missing, "%s of %s", in.Name, task.Tool)
				if strings.HasSuffix(strings.ToLower(in.Name), "id") {
					if ids++; wired {
						given++
					}
				}
			}
		}
	}
	assert.Greater(t, float64(given), .3*float64(ids))
}
