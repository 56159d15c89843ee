package rank

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
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

func fit(t testing.TB, tasks []*Task) *Model {
	m := Fit(NewTexts(tools, nil, nil), tasks, Options{})
	require.NotNil(t, m)
	return m
}

// fitted is of a history of each sort of task; tests read it.
var fitted = sync.OnceValue(func() *Model { return Fit(NewTexts(tools, nil, nil), history(80), Options{}) })

func TestTheRequestDecidesBetweenFollowers(t *testing.T) {
	m := fitted()
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
		list := m.Next(Situation{Context: tt.context, Intent: tt.request}).Ranked
		require.NotEmpty(t, list)
		assert.Equal(t, tools[tt.want].Name, tools[list[0].Tool].Name, "%v", tt)
	}
}

// A tool that nobody used is found by the words of its text, with and without a history of others.
func TestTextFindsAToolWithoutHistory(t *testing.T) {
	for n, m := range map[int]*Model{0: fit(t, nil), 1: fit(t, history(1)), 10: fit(t, history(10)), 80: fitted()} {
		list := m.Find(Situation{Intent: "translate this document into another language"}).Ranked
		require.NotEmpty(t, list, n)
		assert.Equal(t, translate, list[0].Tool, "%d tasks", n)
	}
}

var situations = []Situation{
	{Context: []int32{searchIssues}, Intent: "close the bugs"}, {Context: []int32{listEvents}}, {Intent: "answer the letters"},
}

func TestExplanationsAddUp(t *testing.T) {
	m := fitted()
	answers := []*Answer{m.Plan(Situation{Intent: "answer the letters"}).Answer}
	for _, s := range situations {
		answers = append(answers, m.Next(s))
	}
	for _, a := range answers {
		for _, r := range a.Ranked {
			e, ok := a.Explain(r.Tool)
			require.True(t, ok)
			sum := e.Bias + e.Slope*e.Score
			for _, v := range e.Groups {
				sum += v
			}
			assert.InDelta(t, r.Score, sum, 1e-6, "%v", r)
		}
	}
	_, ok := m.Next(Situation{}).Explain(searchIssues)
	assert.False(t, ok)
}

func TestModelOnAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	four := fitted()
	runtime.GOMAXPROCS(1)
	one := fit(t, history(80))
	for _, s := range situations {
		assert.Equal(t, one.Next(s).Ranked, four.Next(s).Ranked)
		assert.Equal(t, one.Next(s).Chances, four.Next(s).Chances)
	}
	find := Situation{Intent: "answer the letters"}
	assert.Equal(t, one.Find(find).Ranked, four.Find(find).Ranked)
}

// Where requests and tools have nothing to do with each other, nothing is learned: a task is no evidence for itself.
func TestNoiseTeachesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	word := func() string { return fmt.Sprintf("word%d", random.IntN(40)) }
	var tasks []*Task
	for i := range 120 {
		tasks = append(tasks, &Task{Intent: word() + " " + word() + " " + word(), Steps: []int32{int32(random.IntN(7))}, Group: uint64(i)})
	}
	m := fit(t, tasks)
	sum, n := 0.0, 0.0
	for range 50 {
		sum, n = sum+m.Plan(Situation{Intent: word() + " " + word() + " " + word()}).Chances[0], n+1
	}
	assert.Less(t, sum/n, .35, "one in seven is right")
}

// Where the same two requests come again and again, the first places of all that was held out are right; neither foreign
// words nor tools of neither request are sure all the same.
func TestForeignWordsAreNotSureWhereFewRequestsRecur(t *testing.T) {
	named := slices.Clone(tools)
	for i := range named {
		named[i].Text = ""
	}
	random := rand.New(rand.NewPCG(5, 6))
	var tasks []*Task
	for i := range 120 {
		task := &Task{Intent: "comment on the open bugs", Steps: []int32{searchIssues, commentIssue, sendMail}, Group: 1}
		if random.IntN(2) == 0 {
			task = &Task{Intent: "answer the letters", Steps: []int32{searchMail, commentIssue, sendMail}, Group: 2}
		}
		task.Intent += fmt.Sprint(" ", i%9)
		tasks = append(tasks, task)
	}
	m := Fit(NewTexts(named, nil, nil), tasks, Options{})
	for _, words := range []string{"dim", "wake the janitor", "lanterns of the harbour"} {
		assert.Less(t, m.Find(Situation{Intent: words}).Chances[0], .5, words)
	}
	for _, request := range []string{"comment on the open bugs", "answer the letters"} {
		a := m.Find(Situation{Intent: request})
		assert.Greater(t, a.Chances[2], .9, request)
		assert.Less(t, a.Chances[len(a.Chances)-1], .5, request)
		assert.IsNonIncreasing(t, a.Chances)
	}
}

// Past requests word for word are planned as they went, however short the history is.
func TestARequestAskedAgainIsPlannedAsItWent(t *testing.T) {
	tasks := history(8)
	m := fit(t, tasks)
	for _, task := range tasks {
		var planned []int32
		for _, s := range m.Plan(Situation{Intent: task.Intent}).Steps {
			planned = append(planned, s.Tool)
		}
		assert.Equal(t, task.Steps, planned, task.Intent)
	}
}

// A noun that has the stem of a verb asks for nothing to be changed, nor does a question; its second clause may.
func TestVerbsOfARequest(t *testing.T) {
	send := actionOf(&Tool{Name: "reply", Effect: Changes})
	for request, want := range map[string]struct{ asked, reads bool }{
		"draft an answer to the letter":                    {false, false},
		"answer the letter":                                {true, false},
		"who answered the letter":                          {false, true},
		"which letters are late? answer them":              {true, false},
		"show the notification":                            {false, true},
		"look up the address and inform the sales team":    {true, false},
		"what did they write about the reply of the bank?": {false, true},
	} {
		a := asksOf(request)
		asked := slices.ContainsFunc(send.families, func(f int) bool { return a.families[f] })
		assert.Equal(t, want.asked, asked, request)
		assert.Equal(t, want.reads, a.reads, request)
	}
}

// Of tools that change something, the one that the request has a verb for is planned, and no other one that has nothing of
// its own; an effect that is only guessed keeps no tool out.
func TestWhatChangesSomethingIsAskedFor(t *testing.T) {
	for _, annotated := range []bool{true, false} {
		catalog := slices.Clone(tools)
		for _, tool := range []int32{commentIssue, closeIssue, sendMail, createEvent} {
			if annotated {
				catalog[tool].Effect = Changes
			}
		}
		m := Fit(NewTexts(catalog, nil, nil), history(60), Options{})
		r := m.history.request("which bugs are there about paint", nil)
		table := m.history.table(tableInput{nil, r, -1, nil})
		m.find.setFound(table.Values, nil)
		d := newDraft(r, table, &m.needs, nil)
		planable := func(tool int32) bool { return d.chance[tool] > 0 }
		assert.True(t, planable(searchIssues))
		assert.Equal(t, !annotated, planable(commentIssue), "annotated %v", annotated)
		r.close()
	}
}
