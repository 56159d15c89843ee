package contribution

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever the message, parsing ends, says where each delta and each drop begins, and what was read from
// strict JSON is what a strict parser reads.
func FuzzParse(f *testing.F) {
	for _, p := range pool {
		f.Add(fenced(p))
		f.Add(p)
	}
	f.Add("````\n" + fenced(hypothesis) + "````")
	f.Add("```delta\n[" + hypothesis + "," + kill + "]")
	f.Add(":::delta\n{\"operation\": \"EDIT\", /* x */ \"section\": \"research_thread\", \"payload\": {\"context\": \"it's\"},}\n:::")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > maxText {
			return // Score refuses it before it is read
		}
		deltas, dropped, err := deltasOf(text)
		if err != nil {
			if strings.Count(text, "{") <= maxDeltas && strings.Count(text, ",") <= maxDeltas &&
				strings.Count(text, "\n") <= maxDeltas && strings.Count(strings.ToLower(text), "operation") <= maxDeltas {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		lines := 1 + strings.Count(text, "\n")
		for _, d := range deltas {
			if d.Line < 1 || d.Line > lines {
				t.Fatalf("delta at line %d of %d", d.Line, lines)
			}
			if len(d.Errors) == 0 && (tables().Sections[d.Section].Prefix == "" || d.Operation == "") {
				t.Fatalf("valid without operation or section: %+v", d)
			}
			if len(d.Errors) == 0 && (d.TargetID == nil) != (d.Operation == Add || d.Section == researchThread && d.TargetID == nil) {
				t.Fatalf("valid %s with target %v", d.Operation, d.TargetID)
			}
		}
		for _, d := range dropped {
			if d.Line < 1 || d.Line > lines+1 || d.Reason == "" || !utf8.ValidString(d.Excerpt) {
				t.Fatalf("dropped %+v of %d lines", d, lines)
			}
		}
		if strings.TrimSpace(text) == "" {
			return
		}
		for _, role := range Roles {
			rep, err := Score(Request{Role: role, Text: text, Anchors: &Anchors{Max: 236}})
			if err != nil {
				t.Fatalf("%s: %v", role, err)
			}
			if _, err := json.Marshal(rep); err != nil {
				t.Fatal(err)
			}
		}
	})
}
