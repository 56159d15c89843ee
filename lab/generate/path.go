package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A path is a plan with choices left open. It is written as layers between spaces; each layer waits
// for all of the one before:
//
//	a b         b after a
//	a b+c d     b and c side by side, then d
//	a b>c+d e   two branches side by side: b then c, and d
//	a?40        a in 40 of 100 cases
//	a*2-4       a two to four times, one after the other
//	a^2-4       a two to four times, side by side
type path []layer

type layer []branch

type branch []item

type item struct {
	tool     string
	percent  int // chance that it is done at all
	min, max int
	parallel bool
}

// A call is a node of a plan: a tool and the calls that it waits for.
type call struct {
	tool  string
	after []int
	layer int  // the layer it belongs to
	alone bool // its branch is this one call, so that it may stand in a parallel group
}

func parsePath(words []string) (path, error) {
	var p path
	for _, w := range words {
		var l layer
		for b := range strings.SplitSeq(w, "+") {
			var br branch
			for s := range strings.SplitSeq(b, ">") {
				it, err := parseItem(s)
				if err != nil {
					return nil, err
				}
				br = append(br, it)
			}
			l = append(l, br)
		}
		p = append(p, l)
	}
	return p, nil
}

func parseItem(s string) (item, error) {
	it := item{percent: 100, min: 1, max: 1}
	var err error
	if tool, percent, ok := strings.Cut(s, "?"); ok {
		s = tool
		if it.percent, err = strconv.Atoi(percent); err != nil {
			return item{}, fmt.Errorf("chance of %s: %w", tool, err)
		}
	}
	if i := strings.IndexAny(s, "*^"); i >= 0 {
		it.parallel = s[i] == '^'
		if _, err := fmt.Sscanf(s[i+1:], "%d-%d", &it.min, &it.max); err != nil {
			return item{}, fmt.Errorf("how often in %s: %w", s, err)
		}
		s = s[:i]
	}
	server, name, ok := strings.Cut(s, ":")
	if !ok || server == "" || name == "" || it.min < 1 || it.max < it.min {
		return item{}, fmt.Errorf("%q is not a call", s)
	}
	it.tool = s
	return it, nil
}

// fixed reports whether the path leaves nothing open.
func (p path) fixed() bool {
	for _, l := range p {
		for _, b := range l {
			for _, it := range b {
				if it.percent != 100 || it.min != it.max {
					return false
				}
			}
		}
	}
	return true
}

// plan throws the dice for what the path leaves open. The calls come in an order in which each stands
// behind those that it waits for. A fixed path needs no dice.
func (p path) plan(dice *rand.Rand) []call {
	var calls []call
	var last []int // the calls that the next layer waits for
	for n, l := range p {
		var ends []int
		for _, b := range l {
			at := last
			for _, it := range b {
				if it.percent < 100 && dice.IntN(100) >= it.percent {
					continue
				}
				k := it.min
				if it.max > it.min {
					k += dice.IntN(it.max - it.min + 1)
				}
				var here []int
				for range k {
					calls = append(calls, call{it.tool, at, n, len(b) == 1 && (it.parallel || k == 1)})
					here = append(here, len(calls)-1)
					if !it.parallel {
						at, here = here, nil
					}
				}
				if it.parallel {
					at = here
				}
			}
			if len(at) > 0 && (len(last) == 0 || at[0] != last[0]) {
				ends = append(ends, at...)
			}
		}
		if len(ends) > 0 {
			last = ends
		}
	}
	return calls
}
