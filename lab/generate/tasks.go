package main

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A task is a kind of task that comes up again and again:
//
//	task merge_pr 30
//	  say Merge PR {pr} in {repo} once it is green
//	  say [1] tell me when #{pr} is merged
//	  do 5 forge:get_pull_request forge:get_checks forge:merge_pull_request
//
// with its weight among all kinds, the wordings people use, all equally often, and the paths they
// take, each with its weight. A wording may ask for some of the paths only: their numbers from 1.
type task struct {
	kind   string
	weight int
	say    []wording
	do     []weighted[path]
}

type wording struct {
	text  string
	paths []int // indices into do; none means any
}

// ways lists the paths that answer a wording.
func (t task) ways(w wording) []weighted[path] {
	if len(w.paths) == 0 {
		return t.do
	}
	var ways []weighted[path]
	for _, i := range w.paths {
		ways = append(ways, t.do[i])
	}
	return ways
}

// weighted is a thing and how often it is drawn.
type weighted[T any] struct {
	thing  T
	weight int
}

// An area holds the tasks of one file; a working session mostly stays in one area.
type area struct {
	name  string
	tasks []weighted[task]
}

func (a area) weight() int {
	sum := 0
	for _, t := range a.tasks {
		sum += t.weight
	}
	return sum
}

// parseTasks reads tasks/*.txt, in the order of their names.
func parseTasks() ([]area, error) {
	names, err := fs.Glob(texts, "tasks/*.txt")
	if err != nil {
		return nil, err
	}
	var areas []area
	for _, name := range names {
		lines, err := readLines(name)
		if err != nil {
			return nil, err
		}
		a := area{name: name}
		for _, l := range lines {
			if err := a.add(l); err != nil {
				return nil, err
			}
		}
		for _, t := range a.tasks {
			if err := t.thing.check(); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		areas = append(areas, a)
	}
	return areas, nil
}

func (a *area) add(l line) error {
	if !l.indented {
		if len(l.words) != 3 || l.words[0] != "task" {
			return l.errorf("want task KIND WEIGHT")
		}
		weight, err := strconv.Atoi(l.words[2])
		if err != nil {
			return l.errorf("weight of task %s: %w", l.words[1], err)
		}
		a.tasks = append(a.tasks, weighted[task]{task{kind: l.words[1], weight: weight}, weight})
		return nil
	}
	if len(a.tasks) == 0 {
		return l.errorf("no task yet")
	}
	t := &a.tasks[len(a.tasks)-1].thing
	switch l.words[0] {
	case "say":
		w, err := parseWording(l.after(1))
		if err != nil {
			return l.errorf("%w", err)
		}
		t.say = append(t.say, w)
	case "do":
		if len(l.words) < 3 {
			return l.errorf("want do WEIGHT PATH")
		}
		weight, err := strconv.Atoi(l.words[1])
		if err != nil {
			return l.errorf("weight of a path: %w", err)
		}
		p, err := parsePath(l.words[2:])
		if err != nil {
			return l.errorf("%w", err)
		}
		t.do = append(t.do, weighted[path]{p, weight})
	default:
		return l.errorf("want say or do, not %q", l.words[0])
	}
	return nil
}

// parseWording takes the numbers off a wording such as "[1,3] Merge {pr}".
func parseWording(s string) (wording, error) {
	numbers, text, ok := strings.Cut(strings.TrimPrefix(s, "["), "] ")
	if !ok || !strings.HasPrefix(s, "[") {
		return wording{text: s}, nil
	}
	w := wording{text: text}
	for n := range strings.SplitSeq(numbers, ",") {
		i, err := strconv.Atoi(n)
		if err != nil {
			return wording{}, fmt.Errorf("paths of %q: %w", text, err)
		}
		w.paths = append(w.paths, i-1)
	}
	return w, nil
}

// check reports a wording that asks for a path that is not there, and a path that none asks for.
func (t task) check() error {
	asked := make([]bool, len(t.do))
	for _, w := range t.say {
		for i := range t.do {
			asked[i] = asked[i] || len(w.paths) == 0
		}
		for _, i := range w.paths {
			if i < 0 || i >= len(t.do) {
				return fmt.Errorf("task %s has no path %d, which %q asks for", t.kind, i+1, w.text)
			}
			asked[i] = true
		}
	}
	for i, yes := range asked {
		if !yes {
			return fmt.Errorf("task %s: no wording asks for path %d", t.kind, i+1)
		}
	}
	return nil
}
