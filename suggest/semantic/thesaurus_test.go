package semantic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func parsed(t testing.TB, text string) *Thesaurus {
	t.Helper()
	th, err := new(Thesaurus).Extend("own.txt", strings.NewReader(text))
	require.NoError(t, err)
	return th
}

// near is how near a text word is to a word of a request, 0 if they are not related.
func near(t *Thesaurus, request, word, as string) float64 {
	stems := Stems(request)
	for _, r := range t.Related(nil, stems) {
		if stems[r.Word] == word && strings.Join(t.Entries()[r.Entry], " ") == as {
			return r.Near
		}
	}
	return 0
}

func TestRelated(t *testing.T) {
	th := parsed(t, "# comment\n\nrefund, money back, repay\n~ invoice, receipt\nbin > delete, remove\n~ bin > hide\n")
	for _, row := range []struct {
		request, word, as string
		near              float64
	}{
		{"refunds", "refund", "repay", nearHead},
		{"repaying it", "repay", "refund", nearHead},
		{"give me my money back", "money", "refund", nearHead},
		{"give me my money back", "back", "refund", nearHead},
		{"give me my money back", "back", "repay", nearMembers},
		{"refund", "refund", "money back", nearHead},
		{"my money is back", "money", "refund", 0},
		{"invoices", "invoic", "receipt", looser * nearHead},
		{"bin it", "bin", "remov", nearHead},
		{"bin it", "bin", "hide", looser * nearHead},
		{"delete it", "delet", "bin", 0},
		{"delete it", "delet", "remov", 0},
	} {
		require.InDelta(t, row.near, near(th, row.request, row.word, row.as), 1e-12, "%q: %s as %s", row.request, row.word, row.as)
	}
}

func TestParseNamesTheLine(t *testing.T) {
	for text, message := range map[string]string{
		"a1, b1\nlonely\n": "own.txt line 2: a group has at least two entries, separated by commas",
		"one, , two":       "own.txt line 1: an entry is empty",
		"🔥, xray":          `own.txt line 1: the entry "🔥" has no letters or digits`,
		"a, b\n" + strings.Repeat("long, ", 20_000): "own.txt line 2: is longer than 65535 bytes",
		"a1 > b1 > c1": "own.txt line 1: has more than one >",
		"a1 > ":        "own.txt line 1: an entry is empty",
	} {
		_, err := new(Thesaurus).Extend("own.txt", strings.NewReader(text))
		require.EqualError(t, err, message)
	}
}

func TestExtendLeavesTheFirstAsItWas(t *testing.T) {
	first := parsed(t, "refund, repay\n")
	both, err := first.Extend("more.txt", strings.NewReader("refund, chargeback\n"))
	require.NoError(t, err)
	require.InDelta(t, nearHead, near(both, "chargeback", "chargeback", "refund"), 1e-12)
	require.InDelta(t, nearHead, near(both, "repay", "repay", "refund"), 1e-12)
	require.Len(t, first.Entries(), 2)
	_, err = first.Extend("more.txt", strings.NewReader("x1"))
	require.ErrorContains(t, err, "more.txt line 1: ")
}
