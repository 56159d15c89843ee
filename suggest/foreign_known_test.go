package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func clinic(t *testing.T) *world {
	w := newWorld(t)
	w.tool("vet:check_stock", "Looks up how much of a drug is left.", "", "")
	w.tool("vet:order_supplies", "Orders drugs from the supplier.", "", "")
	w.tool("vet:book_appointment", "Books an appointment for a patient.", "", "")
	w.episode("we are low on amoxicillin", "vet:check_stock", "vet:order_supplies")
	w.episode("rex limps since yesterday", "vet:book_appointment")
	return w
}

// A request of the history is never foreign, however little the texts of tools say about it.
func TestARequestOfTheHistoryIsServed(t *testing.T) {
	m := clinic(t).model()
	for _, intent := range []string{"we are low on amoxicillin", "We are low on Amoxicillin!", "rex limps since yesterday"} {
		a := planned(t, m, DAGRequest{Intent: intent})
		assert.NotContains(t, a.Warnings, WarnForeign, intent)
		assert.NotEmpty(t, a.DAG.Tasks, intent)
	}
}

// Numbers and stop words ask for nothing: plans and next tools are as careful with them as searches.
func TestNumbersAndStopWordsAskForNothing(t *testing.T) {
	for name, m := range map[string]*Model{"sample": sampleModel(t), "clinic": clinic(t).model()} {
		for _, intent := range []string{"2", "what is 2+2", "what is 7*6", "do it", "and then"} {
			a := planned(t, m, DAGRequest{Intent: intent})
			assert.Contains(t, a.Warnings, WarnForeign, "%s: %s", name, intent)
			assert.Less(t, a.Confidence, 0.3, "%s: %s", name, intent)
			for _, task := range a.DAG.Tasks {
				assert.LessOrEqual(t, task.Confidence, 0.3, "%s: %s", name, intent)
			}
			n := next(t, m, NextRequest{Intent: intent})
			assert.Contains(t, n.Warnings, WarnForeign, "%s: %s", name, intent)
			for _, s := range n.Suggestions {
				assert.Less(t, s.Confidence, 0.3, "%s: %s", name, intent)
			}
		}
	}
}

// What was recorded a moment ago is planned as it was done, beside many other tasks.
func TestARequestOfTheHistoryIsPlannedAsItWasDone(t *testing.T) {
	w := sampleWorld(t)
	measures := sampleModel(t).measures // of the same counts
	w.episode("page the owner", "metrics:list_alerts", "pager:page_owner")
	a := planned(t, w.since(measures), DAGRequest{Intent: "page the owner"})
	assert.ElementsMatch(t, []string{"metrics:list_alerts", "pager:page_owner"}, tools(a))
}

// A word that only past requests have is right as it is written, from the build on.
func TestWordsOfPastRequestsAreNotCorrected(t *testing.T) {
	w := newWorld(t)
	w.tool("x:search", "searches the reports of a customer", "", "")
	asked := func(m *Model) string {
		q, err := m.newQuery(nil, "serach now", nil)
		require.NoError(t, err)
		defer q.close()
		return q.wording.intent
	}
	require.Equal(t, "search now", asked(w.model()))
	w.episode("open serach", "x:search")
	require.Equal(t, "serach now", asked(w.model()))
}
