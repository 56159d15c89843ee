package evidence

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A trial is an invented investigation with what a judge proposed and what there is to be found.
type trial struct {
	question   string
	answer     string // id of the right hypothesis, "none", or "easy"
	hypotheses []Hypothesis
}

// A library is the texts of all trials, as documents are searched.
type library struct {
	find     finder
	snippets []Snippet
}

// trials reads testdata/questions.txt, and its snippets as one library.
func trials(t testing.TB) ([]trial, library) {
	data, err := os.ReadFile(filepath.Join("testdata", "questions.txt"))
	require.NoError(t, err)
	var (
		all      []trial
		snippets []Snippet
	)
	for line := range strings.Lines(string(data)) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		parts := strings.Split(rest, " | ")
		last := len(all) - 1
		switch kind {
		case "Q":
			all = append(all, trial{question: rest})
		case "A":
			all[last].answer = rest
		case "H":
			require.Len(t, parts, 3, line)
			all[last].hypotheses = append(all[last].hypotheses, Hypothesis{
				ID: fmt.Sprintf("h%d", len(all[last].hypotheses)+1), Text: parts[0], Rationale: parts[1], KeyFact: parts[2]})
		case "S", "T":
			require.Len(t, parts, 2, line)
			snippets = append(snippets, Snippet{ID: fmt.Sprintf("s%03d", len(snippets)), Source: parts[0], Text: parts[1]})
		}
	}
	return all, library{among(snippets), snippets}
}

// recorded gives the hypotheses of a trial in the ways in which models reply.
func recorded(n int, hs []Hypothesis) string {
	var items []string
	for _, h := range hs {
		items = append(items, fmt.Sprintf(`{"text":%q,"rationale":%q,"key_fact":%q}`, h.Text, h.Rationale, h.KeyFact))
	}
	list := "[" + strings.Join(items, ",\n") + "]"
	reply := `{"hypotheses":` + list + `}`
	return []string{
		reply,
		"```json\n" + reply + "\n```",
		"Here are five candidates, most plausible first:\n\n" + reply + "\n\nLet me know if you need more.",
	}[n%3]
}

// figures are the targets of the evaluation plan that the program decides.
type figures struct {
	First, Lead    float64 // the right hypothesis is the judge's first; it leads after the evidence
	MeanDistance   float64 // of hypotheses, by cosine
	Discrimination float64 // similarity of the five best snippets to the answer, over that of a plain search
	Decreasing     float64 // the entropy falls in every round
	Abstain        float64
	WhereNone      string // what leads where none is right
}

// measure runs all trials.
func measure(t testing.TB, none bool) (f figures) {
	all, lib := trials(t)
	var documents []Document
	for _, sn := range lib.snippets {
		documents = append(documents, Document(sn))
	}
	var distance, near, nearPlain, decreasing, lead, first, abstain []float64
	for n, tr := range all {
		judge := &replies{list: []string{recorded(n, tr.hypotheses)}}
		res, err := Triangulate(t.Context(), Request{Question: tr.question, Documents: documents, PerQuery: 3, NoneOfThese: none}, judge.judge, nil)
		require.NoError(t, err)
		report := res.Inquiry
		require.Equal(t, tr.answer == "easy", report.Generation.Skipped, tr.question)
		if report.Generation.Skipped {
			continue
		}
		require.Len(t, judge.prompts, 1)
		distance = append(distance, report.Generation.MeanDistance)
		if tr.answer == "none" {
			f.WhereNone = res.Ranking[0].Hypothesis
		} else {
			lead, first = append(lead, truth(res.Ranking[0].Hypothesis == tr.answer)), append(first, truth(tr.answer == "h1"))
			i := slices.IndexFunc(tr.hypotheses, func(h Hypothesis) bool { return h.ID == tr.answer })
			near = append(near, similarity(lib, fused(res), tr.hypotheses[i]))
			found, err := lib.find(t.Context(), Query{Text: tr.question})
			require.NoError(t, err)
			var plain []string
			for _, sn := range found[:min(5, len(found))] {
				plain = append(plain, sn.ID)
			}
			nearPlain = append(nearPlain, similarity(lib, plain, tr.hypotheses[i]))
			abstain = append(abstain, truth(res.Abstain))
		}
		falls, share := true, 1.0
		for _, round := range res.Rounds {
			falls = falls && (round.EntropyShare < share || round.EntropyShare == share && round.QualityGain == 0) // where nothing was assigned, nothing can fall
			share = round.EntropyShare
		}
		decreasing = append(decreasing, truth(falls))
		require.LessOrEqual(t, res.Rounds[len(res.Rounds)-1].ForcedRounds, 2)
	}
	f.First, f.Lead, f.MeanDistance, f.Decreasing = average(first), average(lead), average(distance), average(decreasing)
	f.Discrimination, f.Abstain = average(near)/average(nearPlain), average(abstain)
	return f
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func average(x []float64) float64 {
	total := 0.0
	for _, v := range x {
		total += v
	}
	return total / float64(len(x))
}

// fused are the five snippets that stand highest, by reciprocal rank, over all queries on the two
// hypotheses that weigh most in the end.
func fused(r Answer) []string {
	var top []string
	for _, s := range r.Ranking {
		if s.Hypothesis != NoneOfThese && len(top) < 2 {
			top = append(top, s.Hypothesis)
		}
	}
	score := map[string]float64{}
	for _, s := range r.Inquiry.Searches {
		if !slices.Contains(top, s.Query.Hypothesis) {
			continue
		}
		for rank, id := range s.Results {
			score[id] += 1 / float64(60+rank)
		}
	}
	ids := make([]string, 0, len(score))
	for id := range score {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b)) })
	return ids[:min(5, len(ids))]
}

// similarity is the mean cosine of snippets to the right answer.
func similarity(l library, ids []string, h Hypothesis) float64 {
	var near []float64
	for _, sn := range l.snippets {
		if slices.Contains(ids, sn.ID) {
			near = append(near, cosine(terms(sn.Text), terms(h.Text+" "+h.Rationale+" "+h.KeyFact)))
		}
	}
	return average(near)
}

// The targets of the evaluation plan of seed 001 on data of this project, with 17 snippets for each question.
func TestEvaluationPlan(t *testing.T) {
	f := measure(t, false)
	assert.Greater(t, f.MeanDistance, .4)
	assert.Greater(t, f.Lead, f.First, "evidence has to improve on the judge")
	assert.Greater(t, f.Discrimination, 1.15)
	assert.GreaterOrEqual(t, f.Decreasing, .70)
	assert.Less(t, f.Abstain, .20)
	assert.Equal(t, NoneOfThese, measure(t, true).WhereNone)
}
