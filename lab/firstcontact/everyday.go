package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/lab/labelled"
	"waymark/suggest"
	"waymark/suggest/evaluate"
)

// expected is a request of everyday life with the tools that are a sensible first step: ids, or regular expressions
// of "id name: description".
type expected struct {
	Request string
	Right   []string
}

// askEveryday asks the requests of a file of testdata/everyday for the first search result and for plans.
func (s *set) askEveryday(m *suggest.Model, profile, file string, patterns, misses bool) error {
	rows, err := lines(file, func(expected) bool { return true })
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s: no requests", file)
	}
	described := map[string]string{}
	for _, t := range s.data.Tools {
		described[t.ID] = t.ID + " " + t.Name + ": " + t.Description
	}
	found, first, contains, twins := 0, 0, 0, 0
	for _, r := range rows {
		right := func(id string) bool { return slices.Contains(r.Right, id) }
		if patterns {
			any, err := regexp.Compile("(?i)" + strings.Join(r.Right, "|"))
			if err != nil {
				return err
			}
			right = func(id string) bool { return any.MatchString(described[id]) }
		}
		ranked, err := search(m, profile, r.Request)
		if err != nil {
			return err
		}
		tools, _, confidence, warnings, err := plan(m, profile, r.Request)
		if err != nil {
			return err
		}
		hit := len(ranked) > 0 && right(ranked[0])
		begins := len(tools) > 0 && right(tools[0])
		if hit {
			found++
		}
		if begins {
			first++
		}
		if slices.ContainsFunc(tools, right) {
			contains++
		}
		if s.twins(tools) {
			twins++
		}
		if misses && (!hit || !begins) {
			fmt.Printf("    %q: search %v, plan %v (%.2f %v)\n", r.Request, ranked[:min(3, len(ranked))], tools, confidence, warnings)
		}
	}
	fmt.Printf("  %-8s %-24s n %3d  first search result right %d, first step right %d, plan has a right tool %d, plans with twins %d\n",
		profile, filepath.Base(file), len(rows), found, first, contains, twins)
	return nil
}

// twins reports whether a plan has two tools of equal names on different servers: they do the same thing.
func (s *set) twins(tools []string) bool {
	seen := map[string]string{}
	for _, id := range tools {
		name := nameWords("", id)
		if other, ok := seen[name]; ok && other != id {
			return true
		}
		seen[name] = id
	}
	return false
}

// plan returns the tools of a plan in its order, its links, confidence and warnings.
func plan(m *suggest.Model, profile, intent string) (tools []string, links []evaluate.Link, confidence float64, warnings []string, err error) {
	no := false
	answer, err := m.Plan(suggest.DAGRequest{Intent: intent, Profile: profile, Explain: &no})
	if err != nil {
		return nil, nil, 0, nil, err
	}
	tool := map[string]string{}
	for _, t := range answer.DAG.Tasks {
		tools = append(tools, t.Tool)
		tool[t.ID] = t.Tool
		for _, d := range t.DependsOn {
			if l := (evaluate.Link{From: tool[d], To: t.Tool}); l.From != l.To && !slices.Contains(links, l) {
				links = append(links, l)
			}
		}
	}
	return tools, links, answer.Confidence, answer.Warnings, nil
}

// foreign is a wish that no tool of a set serves, but for the sets excepted.
type foreign struct {
	Request string
	Except  []string
}

// askForeign counts the foreign requests that a plan recognises, and the requests and needs that it takes for foreign.
func (s *set) askForeign(m *suggest.Model, profile, file, half string, misses bool) error {
	rows, err := lines(file, func(f foreign) bool {
		return !slices.Contains(f.Except, s.name) && (half == "both" || develops(f.Request) == (half == "develop"))
	})
	if err != nil {
		return err
	}
	var away, home []float64
	count := func(text string, expect bool, to *[]float64) (flagged bool, err error) {
		_, _, confidence, warnings, err := plan(m, profile, text)
		flagged = slices.Contains(warnings, suggest.WarnForeign) && confidence < 0.3
		if misses && flagged != expect {
			fmt.Printf("    foreign %v, expected %v: %.2f %q\n", flagged, expect, confidence, text)
		}
		*to = append(*to, confidence)
		return flagged, err
	}
	caught, wrong := 0, 0
	for _, r := range rows {
		flagged, err := count(r.Request, true, &away)
		if err != nil {
			return err
		}
		if flagged {
			caught++
		}
	}
	texts := []string{}
	for i := range s.data.Examples {
		if x := &s.data.Examples[i]; x.Split == evaluate.Test && x.Episode.Intent != "" && len(texts) < 200 {
			texts = append(texts, x.Episode.Intent)
		}
	}
	for _, r := range s.requests {
		texts = append(texts, r.Short, r.Plain)
	}
	for _, n := range s.needs {
		texts = append(texts, n.A, n.B)
	}
	for _, text := range texts {
		flagged, err := count(text, false, &home)
		if err != nil {
			return err
		}
		if flagged {
			wrong++
		}
	}
	fmt.Printf("  %-8s foreign   %d of %d recognised, %d of %d others taken for foreign, AUROC of the confidence %.3f\n",
		profile, caught, len(rows), wrong, len(texts), auroc(home, away))
	return nil
}

// auroc is the probability that a value of high is above one of low, ties counted half.
func auroc(high, low []float64) float64 {
	sum := 0.0
	for _, h := range high {
		for _, l := range low {
			switch {
			case h > l:
				sum++
			case h == l:
				sum += 0.5
			}
		}
	}
	return sum / float64(max(1, len(high)*len(low)))
}

// cold is the catalog of livemcp and mcp_catalog without a history.
func cold(ctx context.Context, o options) (*set, error) {
	s := &set{name: "cold"}
	have := map[string]bool{}
	for _, name := range []string{"livemcp", "mcp_catalog"} {
		folder, err := labelled.Read(ctx, filepath.Join(o.datasets, name))
		if err != nil {
			return nil, err
		}
		s.data.Tools = append(s.data.Tools, slices.DeleteFunc(folder.Tools, func(t catalog.Tool) bool { return have[t.ID] })...)
		for _, t := range folder.Tools {
			have[t.ID] = true
		}
	}
	return s, nil
}
