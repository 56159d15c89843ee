package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/internal/plural"
	"waymark/live"
	"waymark/suggest"
)

// The sentences that a model reads are made here, from templates of this program, ids and numbers.
// Descriptions, intents and results of others never enter them: whoever writes a tool's description
// must not be able to speak in this server's voice. Even an id is quoted unless it looks like one.
func shownID(id string) string { return catalog.ShownID(id) }

// shownIDs joins ids; a long list is cut.
func shownIDs(ids []string) string {
	const most = 10
	shown := make([]string, 0, most+1)
	for i, id := range ids {
		if i == most {
			shown = append(shown, fmt.Sprintf("and %d more", len(ids)-most))
			break
		}
		shown = append(shown, shownID(id))
	}
	return strings.Join(shown, ", ")
}

// noted is a note of an answer as its last sentence.
func noted(note string) string {
	if note != "" {
		note = " Note: " + note + "."
	}
	return note
}

// corrected names the command with which an operator keeps the first of an answer out of the next one.
func corrected(first, last, intent string) string {
	if first == "" {
		return ""
	}
	if intent != "" {
		intent = "REQUEST"
	}
	return " Wrong? `" + live.Correction(shownID, first, last, intent) + "`"
}

func findMessage(ids, warnings []string) string {
	if len(ids) == 0 {
		return "No tool matches. Use other words, or say what the result should be."
	}
	s := "Best match first: " + shownIDs(ids) + ". Arguments must fit the input_schema of the result."
	if slices.Contains(warnings, suggest.WarnLowConfidence) {
		s += " The match is weak: read the descriptions before calling."
	}
	return s
}

// unknownSentences says of each unknown id what was perhaps meant.
func unknownSentences(unknown []suggest.UnknownID) string {
	s := ""
	for i, u := range unknown {
		if i == suggest.MostNear {
			s += fmt.Sprintf("; and %d more", len(unknown)-i)
			break
		}
		switch {
		case strings.HasSuffix(s, "?"):
			s += " "
		case s != "":
			s += "; "
		}
		s += u.Message
	}
	if !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}

func unknownMessage(unknown []suggest.UnknownID, known []string) string {
	s := unknownSentences(unknown)
	if len(known) > 0 {
		s += " Known: " + shownIDs(known) + "."
	}
	return s + " find_tool finds ids by words"
}

func nextMessage(a suggest.NextAnswer, last string) string {
	var b strings.Builder
	switch {
	case len(a.Suggestions) == 0:
		b.WriteString("No suggestion: the history holds nothing that fits. Call find_tool with what is needed.")
	case a.Mode == suggest.Exploration:
		b.WriteString("Central tools to start with: ")
	case last != "":
		fmt.Fprintf(&b, "After %s, most likely first: ", shownID(last))
	default:
		b.WriteString("For this intent, most likely first: ")
	}
	for i, s := range a.Suggestions {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%.2f)", shownID(s.ID), s.Confidence)
	}
	if len(a.Suggestions) > 0 {
		b.WriteByte('.')
	}
	if a.Stop >= .5 {
		fmt.Fprintf(&b, " The task often ends here (probability %.2f).", a.Stop)
	}
	if len(a.Suggestions) > 0 && slices.Contains(a.Warnings, suggest.WarnLowConfidence) {
		b.WriteString(" Confidence is low: little or nothing like this was recorded.")
	}
	if len(a.UnknownIDs) > 0 {
		b.WriteString(" Left out of the context: " + unknownSentences(a.UnknownIDs))
	}
	return b.String()
}

func dagMessage(a suggest.DAGAnswer) string {
	tasks := a.DAG.Tasks
	if len(tasks) == 0 {
		return "No plan: no known tool fits the intent. Call find_tool with the parts of the task."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan of %s, confidence %.2f: ", plural.Of(len(tasks), "step"), a.Confidence)
	for i, t := range tasks {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %s", shownID(t.ID), shownID(t.Tool))
		if t.Host {
			b.WriteString(" (of the host)")
		}
		if len(t.DependsOn) > 0 {
			fmt.Fprintf(&b, " after %s", shownIDs(t.DependsOn))
		}
	}
	b.WriteByte('.')
	if slices.Contains(a.Warnings, suggest.WarnLowConfidence) {
		b.WriteString(" Confidence is low: check each step with describe_tool.")
	}
	return b.String()
}
