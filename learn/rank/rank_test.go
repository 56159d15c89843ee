package rank

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tools of the tests: an issue tracker, a mail program, a calendar, and a tool that no task uses.
const (
	searchIssues int32 = iota
	commentIssue
	closeIssue
	searchMail
	sendMail
	listEvents
	createEvent
	translate
)

var tools = []Tool{
	{Name: "search_issues", Text: "Find issues in the tracker by words.", Server: 0},
	{Name: "comment_issue", Text: "Add a comment to an issue.", Server: 0},
	{Name: "close_issue", Text: "Close an issue that is done.", Server: 0},
	{Name: "search_mail", Text: "Find messages in the mailbox.", Server: 1},
	{Name: "send_mail", Text: "Send a message to somebody.", Server: 1},
	{Name: "list_events", Text: "List the events of the calendar.", Server: 2},
	{Name: "create_event", Text: "Add a meeting to the calendar.", Server: 2},
	{Name: "translate_text", Text: "Translate a document into another language. Keeps its layout.", Server: -1},
}

// history draws tasks of five sorts, each with a word of its own that no other task has.
func history(n int) (tasks []*Task) {
	sorts := []struct {
		request string
		steps   []int32
	}{
		{"comment on the open bugs about %s", []int32{searchIssues, commentIssue}},
		{"close the finished bugs about %s", []int32{searchIssues, closeIssue}},
		{"answer the letters about %s", []int32{searchMail, sendMail}},
		{"arrange a meeting about %s", []int32{listEvents, createEvent, sendMail}},
		{"which meetings are there about %s", []int32{listEvents}},
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		s := sorts[random.IntN(len(sorts))]
		t := &Task{Intent: fmt.Sprintf(s.request, fmt.Sprintf("subject%d", i)), Steps: s.steps, Group: uint64(i)}
		for k := 1; k < len(t.Steps); k++ {
			t.Links = append(t.Links, [2]int32{t.Steps[k-1], t.Steps[k]})
		}
		tasks = append(tasks, t)
	}
	return tasks
}

func fit(t *testing.T, tasks []*Task) *Model {
	m := Fit(tools, tasks, Options{Foreign: []string{"water the plants", "iron my shirts"}})
	require.NotNil(t, m)
	return m
}

func TestTheRequestDecidesBetweenFollowers(t *testing.T) {
	m := fit(t, history(200))
	for _, tt := range []struct {
		context []int32
		request string
		want    int32
	}{
		{[]int32{searchIssues}, "comment on the bugs about paint", commentIssue},
		{[]int32{searchIssues}, "close the bugs about paint", closeIssue},
		{[]int32{listEvents}, "", createEvent},
		{[]int32{listEvents, createEvent}, "", sendMail},
		{[]int32{searchIssues, commentIssue, listEvents}, "arrange a meeting", createEvent}, // two tasks in one session
		{nil, "which meetings are there about paint", listEvents},
	} {
		list := m.Next(Situation{tt.context, tt.request})
		require.NotEmpty(t, list)
		assert.Equal(t, tools[tt.want].Name, tools[list[0].Tool].Name, "%v", tt)
	}
}

// A tool that nobody used is found by the words of its text, with and without a history of others.
func TestTextFindsAToolWithoutHistory(t *testing.T) {
	for _, n := range []int{0, 1, 10, 200} {
		list := fit(t, history(n)).Find("translate this document into another language")
		require.NotEmpty(t, list, n)
		assert.Equal(t, translate, list[0].Tool, "%d tasks", n)
	}
}

func TestExplanationsAddUp(t *testing.T) {
	m := fit(t, history(150))
	for _, s := range []Situation{{[]int32{searchIssues}, "close the bugs"}, {[]int32{listEvents}, ""}, {nil, "answer the letters"}} {
		for _, r := range m.Next(s) {
			e, ok := m.Explain(s, r.Tool)
			require.True(t, ok)
			sum := e.Reference + e.Base
			for _, v := range e.Groups {
				sum += v
			}
			assert.InDelta(t, r.Score, sum, 1e-6, "%v %v", s, r)
		}
	}
	_, ok := m.Explain(Situation{}, searchIssues)
	assert.False(t, ok)
}

func TestModelOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := fit(t, history(80))
	runtime.GOMAXPROCS(4)
	four := fit(t, history(80))
	for _, s := range []Situation{{[]int32{searchIssues}, "close the bugs"}, {[]int32{listEvents}, ""}, {nil, "answer the letters"}} {
		assert.Equal(t, one.Next(s), four.Next(s))
	}
	assert.Equal(t, one.Needs("answer the letters"), four.Needs("answer the letters"))
}

// Where requests and tools have nothing to do with each other, nothing is learned: a task is no evidence for itself.
func TestNoiseTeachesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	word := func() string { return fmt.Sprintf("word%d", random.IntN(40)) }
	var tasks []*Task
	for i := range 300 {
		tasks = append(tasks, &Task{Intent: word() + " " + word() + " " + word(), Steps: []int32{int32(random.IntN(7))}, Group: uint64(i)})
	}
	m := fit(t, tasks)
	sum, n := 0.0, 0.0
	for range 50 {
		best := m.Needs(word() + " " + word() + " " + word())[0]
		sum, n = sum+Chance(best.Score), n+1
	}
	assert.Less(t, sum/n, .35, "one in seven is right")
}

// Without a history of its own a tool has the rows of one that no task used.
func TestHiddenToolHasNoPast(t *testing.T) {
	tasks := history(100)
	h := Count(NewTexts(tools, tasks), tasks, func() bool { return false })
	r := h.request("close the finished bugs")
	defer r.close()
	seen, hidden := h.table(asked{[]int32{searchIssues}, r, -1}), h.table(asked{[]int32{searchIssues}, r, closeIssue})
	require.Equal(t, seen.Tools, hidden.Tools)
	for i, tool := range seen.Tools {
		if tool != closeIssue {
			assert.Equal(t, seen.row(i), hidden.row(i))
			continue
		}
		for _, k := range []Row{Ridge, Votes, Copies, Best, NearSet, Tasks, Cooccurrence, Graph, PageRank} {
			assert.Zero(t, hidden.row(i)[k], Features[k].Name)
		}
		assert.Equal(t, float32(ln(0)), hidden.row(i)[Order1])
		assert.Positive(t, hidden.row(i)[Text])
		assert.Positive(t, seen.row(i)[Ridge])
	}
}

func TestEveryRowIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Features {
		assert.NotEmpty(t, f.Group)
		assert.NotEmpty(t, f.Meaning)
		assert.False(t, names[f.Name], f.Name)
		names[f.Name] = true
	}
}
