package contribution

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		deltas, dropped := parse(text)
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
			if len(deltas)+len(dropped) > maxDeltas {
				assert.ErrorContains(t, err, "more than 1000 deltas")
				return
			}
			require.NoError(t, err)
			assert.NotEmpty(t, encoded(t, rep))
		}
	})
}
