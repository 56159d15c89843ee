package council

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/rubric"
)

// section is the chapter on the council in the page on scorers.
func section(t *testing.T) string {
	page, err := os.ReadFile("../../docs/scorers.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(page), "\n## Council\n")
	require.True(t, ok)
	chapter, _, _ := strings.Cut(rest, "\n## ")
	return chapter
}

// The worked example on the page: its request gives the numbers of its last table.
func TestWorkedExample(t *testing.T) {
	text := section(t)
	request := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(text)
	require.NotNil(t, request)
	var in CouncilInput
	require.NoError(t, json.Unmarshal([]byte(request[1]), &in))
	res := score(t, in)
	for _, r := range res.Ranking {
		ceiling := "–"
		if r.Ceiling != nil {
			ceiling = r.Ceiling.String()
		}
		row := fmt.Sprintf("| %d | %s | %s | %s | %s | %s |", *r.Rank, r.ID, show(*r.Score), show(*r.Uncapped), ceiling, fmt.Sprintf("%g", *r.Borda))
		assert.Contains(t, text, row)
	}
	assert.Equal(t, []bool{false, false, true}, []bool{res.Reviews[0].DeclaredOrderMismatch, res.Reviews[1].DeclaredOrderMismatch, res.Reviews[2].DeclaredOrderMismatch})
	in.Options.Normalise = "z"
	_, by := ranking(score(t, in))
	assert.Equal(t, []float64{-1, 1, 0}, []float64{*by["a"].Z, *by["b"].Z, *by["c"].Z})
}

func show(x float64) string { return fmt.Sprintf("%.2f", x) }

// Weights and anchors on the page are those of the program.
func TestTablesOfThePage(t *testing.T) {
	text := section(t)
	head := "| dimension |"
	rubrics := map[string]*rubric.Rubric{}
	for _, name := range Rubrics() {
		head += " " + name + " |"
		r, err := CouncilOptions{Rubric: name}.Weighed()
		require.NoError(t, err)
		rubrics[name] = r
	}
	assert.Contains(t, text, head)
	for _, d := range base.Names() {
		row := "| " + d + " |"
		for _, name := range Rubrics() {
			weight := "–"
			if dim, ok := rubrics[name].Dimension(d); ok {
				weight = fmt.Sprint(int(dim.Weight / rubric.Hundredths(1)))
			}
			row += " " + weight + " |"
		}
		assert.Contains(t, text, row)
	}
	for _, d := range base.Definition().Dimensions {
		row := "| " + d.Name + " |"
		for i := range d.Anchors {
			row += " " + strings.ToLower(d.Anchors[len(d.Anchors)-1-i].Text[:1]) + d.Anchors[len(d.Anchors)-1-i].Text[1:] + " |"
		}
		assert.Contains(t, text, row)
	}
}

// The seed's anchors: for each of five dimensions five bands of two scores. Fractions belong to the lower band.
func TestAnchorsOfTheSeed(t *testing.T) {
	for _, name := range []string{"accuracy", "relevance", "completeness", "conciseness", "clarity"} {
		d, ok := base.Dimension(name)
		require.True(t, ok)
		for score, from := range map[string]string{"10": "9", "9": "9", "8.5": "7", "8": "7", "7": "7", "6": "5", "5": "5", "4": "3", "3": "3", "2": "1", "1": "1"} {
			a := d.AnchorOf(*dec(score))
			assert.Equal(t, *dec(from), a.From, "%s %s", name, score)
			assert.NotEmpty(t, a.Text, name)
			assert.NotEmpty(t, a.Example, name)
		}
	}
}

// The seed's tables of weights, before and after its review; each adds up to 1, as every rubric does, with and without
// instruction adherence.
func TestWeightsOfTheSeed(t *testing.T) {
	seed := map[string]map[string]int{
		"original": {"accuracy": 35, "completeness": 25, "conciseness": 20, "clarity": 20},
		"updated":  {"accuracy": 35, "relevance": 10, "completeness": 20, "conciseness": 15, "clarity": 20},
	}
	for _, name := range Rubrics() {
		for _, adds := range []bool{false, true} {
			r, err := CouncilOptions{Rubric: name, InstructionAdherence: adds}.Weighed()
			require.NoError(t, err)
			got, sum := map[string]int{}, rubric.Decimal(0)
			for _, d := range r.Definition().Dimensions {
				got[d.Name] = int(d.Weight / rubric.Hundredths(1))
				sum += d.Weight
				assert.Len(t, d.Anchors, 5, "%s: %s", name, d.Name)
				assert.NotEmpty(t, d.Description)
			}
			assert.Equal(t, rubric.Whole(1), sum, name)
			if want := seed[name]; want != nil && !adds {
				assert.Equal(t, want, got)
			}
		}
	}
}
