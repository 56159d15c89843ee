package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"waymark/catalog"
	"waymark/episodic"
)

// The history covers 180 days, and is used more from month to month, as a new thing is.
var firstDay = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC) // a Monday

const days = 180

// A history is the one who throws the dice.
type history struct {
	dice     *rand.Rand
	areas    []weighted[area]
	entities map[string][]string
	tools    []string // what a mistaken call may be: tools that only read
}

func newHistory(areas []area, entities map[string][]string, tools []catalog.Tool) *history {
	h := &history{dice: rand.New(rand.NewPCG(seed, 0)), entities: entities}
	for _, a := range areas {
		h.areas = append(h.areas, weighted[area]{a, a.weight()})
	}
	for _, t := range tools {
		if *t.Annotations.ReadOnly {
			h.tools = append(h.tools, t.ID)
		}
	}
	return h
}

// run returns n episodes in order of time. They come in sessions of one to five tasks, mostly of one
// area of work.
func (h *history) run(n int) ([]episodic.Episode, error) {
	var episodes []episodic.Episode
	for session := 1; len(episodes) < n; session++ {
		home := draw(h.dice, h.areas)
		at := h.start(home)
		for range 1 + min(h.dice.IntN(5), h.dice.IntN(5)) {
			a := home
			if h.dice.IntN(100) < 18 {
				a = draw(h.dice, h.areas)
			}
			e, err := h.episode(draw(h.dice, a.tasks))
			if err != nil {
				return nil, err
			}
			e.Time = at
			e.Session = fmt.Sprint(session)
			episodes = append(episodes, e)
			at = at.Add(time.Duration(90+h.dice.IntN(2400)) * time.Second)
		}
	}
	episodes = episodes[:n]
	slices.SortStableFunc(episodes, func(a, b episodic.Episode) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Session, b.Session))
	})
	numbers := make(map[string]int) // sessions too are numbered in order of time
	for i := range episodes {
		e := &episodes[i]
		if numbers[e.Session] == 0 {
			numbers[e.Session] = 1 + len(numbers)
		}
		e.ID = fmt.Sprintf("sample-%04d", i+1)
		e.Session = fmt.Sprintf("session-%03d", numbers[e.Session])
	}
	return episodes, nil
}

// start draws the time at which a session begins: office hours on working days; operations also at
// night and on some weekends. Taking the larger of two days, as a rule, makes the use grow.
func (h *history) start(a area) time.Time {
	operations := a.name == "tasks/operations.txt"
	for {
		day := h.dice.IntN(days)
		if h.dice.IntN(10) < 7 {
			day = max(day, h.dice.IntN(days))
		}
		hour := 7 + h.dice.IntN(11)
		if operations && h.dice.IntN(4) == 0 {
			hour = h.dice.IntN(24)
		}
		t := firstDay.AddDate(0, 0, day).Add(time.Duration(hour*3600+h.dice.IntN(3600)) * time.Second)
		weekend := t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
		if !weekend || operations && h.dice.IntN(4) == 0 || h.dice.IntN(20) == 0 {
			return t
		}
	}
}

// A step on its way: what it waits for, by index, and what it will say.
type step struct {
	tool   string
	after  []int
	layer  int
	alone  bool
	failed *fault
}

// What is known of an episode, in percent; chosen so that about a quarter of the steps stay unknown.
const (
	silentPercent  = 11 // hosts that report no outcome of any step
	unknownPercent = 16 // of the other steps
	unratedPercent = 18 // of the episodes that did not fail
	spoiltPercent  = 3  // all went well and still it was not what was wanted
	noisePercent   = 5
	cutPercent     = 2
)

// How much of the structure a host reports, in percent.
var reports = []weighted[string]{{"graph", 50}, {"groups", 22}, {"order", 28}}

// episode plays one task.
func (h *history) episode(t task) (episodic.Episode, error) {
	w := pick(h.dice, t.say)
	intent, err := h.intent(w)
	if err != nil {
		return episodic.Episode{}, err
	}
	steps, failed := h.play(draw(h.dice, t.ways(w)).plan(h.dice))
	if len(steps) > 1 && h.dice.IntN(100) < noisePercent {
		steps = h.mistake(steps)
	}
	cut := len(steps) > 2 && !failed && h.dice.IntN(100) < cutPercent
	if cut { // someone lost interest
		steps = steps[:len(steps)-1]
	}

	e := episodic.Episode{Intent: intent, Steps: h.report(steps)}
	switch {
	case failed, !cut && h.dice.IntN(100) < spoiltPercent:
		e.Outcome = episodic.Failure
	case !cut && h.dice.IntN(100) >= unratedPercent:
		e.Outcome = episodic.Success
	}
	return e, nil
}

// play makes the calls of a plan; failures are mended as their fault says. It reports whether the
// task was given up.
func (h *history) play(plan []call) (steps []step, failed bool) {
	done := make([][]int, len(plan)) // per call the steps that stand for it: itself, its mend, or what it waited for
	for i, c := range plan {
		var after []int
		for _, d := range c.after {
			after = append(after, done[d]...)
		}
		slices.Sort(after)
		queue := []step{{tool: c.tool, after: slices.Compact(after), layer: c.layer, alone: c.alone}}
		for tries := 0; len(queue) > 0; tries++ {
			s := queue[0]
			queue = queue[1:]
			var before []string
			for _, a := range s.after {
				before = append(before, steps[a].tool)
			}
			f, fails := h.fails(s.tool, before, tries > 0)
			if !fails {
				steps = append(steps, s)
				done[i] = []int{len(steps) - 1}
				if len(queue) > 0 {
					queue[0].after = done[i]
				}
				continue
			}
			s.failed = &f
			steps = append(steps, s)
			m := draw(h.dice, f.mend)
			switch {
			case m.quit || tries >= 4:
				return steps, true
			case m.leave:
				done[i], queue = s.after, nil
			default:
				for k, tool := range m.calls {
					if tool == again {
						tool = s.tool
					}
					r := step{tool: tool, layer: s.layer}
					if k == 0 {
						r.after = s.after
					}
					queue = slices.Insert(queue, k, r)
				}
			}
		}
	}
	return steps, false
}

// mistake puts a call into the task that has nothing to do with it.
func (h *history) mistake(steps []step) []step {
	at := 1 + h.dice.IntN(len(steps)-1)
	steps = slices.Insert(steps, at, step{tool: pick(h.dice, h.tools), after: []int{at - 1}, layer: steps[at-1].layer})
	for i := range steps[at+1:] {
		s := &steps[at+1+i]
		s.after = slices.Clone(s.after)
		for k, a := range s.after {
			if a >= at {
				s.after[k]++
			}
		}
	}
	return steps
}

// report tells the steps as one of the kinds of hosts does: with what each waited for, in order with
// the parallel ones marked, or only in order.
func (h *history) report(steps []step) []episodic.Step {
	kind := draw(h.dice, reports)
	silent := h.dice.IntN(100) < silentPercent
	group := 0
	told := make([]episodic.Step, len(steps))
	for i, s := range steps {
		t := episodic.Step{ID: strconv.Itoa(i + 1), Tool: s.tool, DurationMS: h.duration(s.tool, s.failed)}
		if !silent && h.dice.IntN(100) >= unknownPercent {
			t.Outcome = episodic.Success
			if s.failed != nil {
				t.Outcome, t.Error, t.ErrorKind = episodic.Failure, s.failed.message, s.failed.kind
			}
		}
		switch kind {
		case "graph":
			t.DependsOn = []string{}
			for _, a := range s.after {
				t.DependsOn = append(t.DependsOn, strconv.Itoa(a+1))
			}
		case "groups":
			if i > 0 && s.together(steps[i-1]) {
				if told[i-1].Group == "" {
					group++
					told[i-1].Group = fmt.Sprintf("parallel-%d", group)
				}
				t.Group = told[i-1].Group
			}
		}
		told[i] = t
	}
	return told
}

// together reports whether a step ran side by side with the one before it.
func (s step) together(before step) bool {
	return s.alone && before.alone && s.layer == before.layer && slices.Equal(s.after, before.after)
}
