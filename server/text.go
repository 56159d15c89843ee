package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/live"
	"waymark/server/internal/api"
	"waymark/suggest"
)

// The text of an answer is the same on a terminal and in MCP. For example, for the next tool:
//
//	After fs:read_file, most likely first:
//	0.95 json:parse: followed fs:read_file 12 of 13 times
//	Wrong? waymark rule ban json:parse --after fs:read_file
//
// Each line has one suggestion, result or step. The last line is the command that keeps the first one out of later
// answers to the same question.

// Correction begins the line with the command that corrects an answer.
const Correction = "Wrong? "

// Beginning returns the ways to fill an empty store. where holds flags for the commands.
func Beginning(where string) string {
	return fmt.Sprintf("waymark import sample%[1]s, waymark import ~/.claude/projects%[1]s, "+
		"or waymark gateway add .mcp.json%[1]s with your host's list of servers", where)
}

// NextText returns the text of an answer to [POST /v1/next].
func NextText(a suggest.NextAnswer, context []string, intent string) string {
	last := a.LastKnown(context)
	head := "For this request, most likely first:"
	switch {
	case len(a.Suggestions) == 0:
		head = "No suggestion: nothing recorded fits this context or request. Use other words, or search for a tool."
	case a.Mode == suggest.Exploration:
		head = "Central tools to start with:"
	case last != "":
		head = "After " + catalog.ShownID(last) + ", most likely first:"
	}
	lines := []string{head}
	for _, s := range a.Suggestions {
		lines = append(lines, withReason(fmt.Sprintf("%.2f %s", s.Confidence, catalog.ShownID(s.ID)), s.Reason))
	}
	if a.Stop >= .5 {
		lines = append(lines, fmt.Sprintf("The task often ends here: probability %.2f.", a.Stop))
	}
	return closed(lines, a.Warnings, a.UnknownIDs, a.Waiting, a.Foremost(), last, intent)
}

// SearchText returns the text of an answer to [POST /v1/search].
func SearchText(a suggest.SearchAnswer, _ []string, query string) string {
	return searchText(a, query, catalog.ShownID)
}

// searchText is SearchText with another way to show an id.
func searchText(a suggest.SearchAnswer, query string, shown func(id string) string) string {
	lines := []string{"Best match first:"}
	if len(a.Results) == 0 {
		lines[0] = "No tool matches. Use other words, or say what the result should be."
	}
	for _, r := range a.Results {
		line := fmt.Sprintf("%.2f %s %s", r.Confidence, shown(r.ID), catalog.Cut(api.ShownText(r.Description), lineProse))
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return closed(lines, a.Warnings, a.UnknownIDs, a.Waiting, a.Foremost(), "", query)
}

// DAGText returns the text of an answer to [POST /v1/dag].
func DAGText(a suggest.DAGAnswer, _ []string, intent string) string {
	lines := []string{"No plan"}
	if n := len(a.DAG.Tasks); n > 0 {
		lines[0] = fmt.Sprintf("Plan of %s, confidence %.2f", catalog.Plural(n, "step"), a.Confidence)
	}
	lines[0] = withReason(lines[0], a.Rationale)
	for _, t := range a.DAG.Tasks {
		line := fmt.Sprintf("%s %.2f %s", catalog.ShownID(t.ID), t.Confidence, catalog.ShownID(t.Tool))
		if t.Host {
			line += " (of the host)"
		}
		if len(t.DependsOn) > 0 {
			line += " after " + api.ShownIDs(t.DependsOn)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
			line += ", " + catalog.ShownID(name) + " from " + strings.Trim(catalog.ShownID(t.Arguments[name].From), `"`)
		}
		if len(t.Missing) > 0 {
			line += ", missing: " + api.ShownIDs(t.Missing)
		}
		lines = append(lines, line)
	}
	return closed(lines, a.Warnings, a.UnknownIDs, a.Waiting, a.Foremost(), "", intent)
}

func withReason(line, reason string) string {
	if reason != "" {
		line += ": " + api.ShownText(reason)
	}
	return line
}

// closed joins the lines of an answer and appends its warnings, its unknown ids, its note, and the command that corrects
// it. The command contains the request, so it is left out for a request that is too long for a rule.
func closed(lines, warnings []string, unknown []suggest.UnknownID, note, first, last, intent string) string {
	if len(warnings) > 0 {
		lines = append(lines, "Warnings: "+strings.ReplaceAll(strings.Join(warnings, ", "), "_", " ")+".")
	}
	if len(unknown) > 0 {
		lines = append(lines, "Left out of the context: "+unknownSentences(unknown))
	}
	if note != "" {
		lines = append(lines, "Note: "+note+".")
	}
	if first != "" && len(intent) <= live.MaxRuleIntent {
		lines = append(lines, Correction+live.Correction(first, last, strings.Join(strings.Fields(intent), " ")))
	}
	return strings.Join(lines, "\n")
}

// unknownSentences joins the messages of unknown ids, each of which suggests similar ids.
func unknownSentences(unknown []suggest.UnknownID) string {
	var all []string
	for i, u := range unknown {
		if i == suggest.MostNear {
			all = append(all, fmt.Sprintf("and %d more", len(unknown)-i))
			break
		}
		all = append(all, u.Message)
	}
	s := strings.ReplaceAll(strings.Join(all, "; "), "?; ", "? ") + "."
	if strings.HasSuffix(s, "?.") {
		s = s[:len(s)-1]
	}
	return s
}

func unknownText(unknown []suggest.UnknownID, known []string) string {
	s := unknownSentences(unknown)
	if len(known) > 0 {
		s += " Known: " + api.ShownIDs(known) + "."
	}
	return s + " find_tool finds ids by words"
}
