package semantic

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// words is every token of a text as the scanner gives it, parts joined by a dot.
func words(text string) []string {
	var s scanner
	s.reset(text)
	var out []string
	for s.next() {
		var parts []string
		for i := range s.ends {
			parts = append(parts, string(s.part(i)))
		}
		out = append(out, strings.Join(parts, "."))
	}
	return out
}

// Oracle: the splitting rules in the comment of scanner, by hand.
func TestScanner(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"", ""},
		{" ,;! ", ""},
		{"search issues", "search issues"},
		{"search_issues", "search.issues"},
		{"searchIssues", "search.issues"},
		{"SearchIssues", "search.issues"},
		{"search-issues", "search.issues"},
		{"__init__", "init"},
		{"a--b", "a b"},
		{"trailing_ next", "trailing next"},
		{"github.search_issues", "github search.issues"},
		{"fs/readFile:v2", "fs read.file v.2"},
		{"HTTPServer", "http.server"},
		{"parseJSON", "parse.json"},
		{"JSON", "json"},
		{"getHTTPSURL", "get.httpsurl"}, // nothing tells where HTTPS ends
		{"listAPIs", "list.apis"},
		{"PDFs and IDs.", "pdfs and ids"},
		{"base64", "base.64"},
		{"sha256Sum", "sha.256.sum"},
		{"4K", "4.k"},
		{"don't", "don t"},
		{"Café NAÏVE", "cafe naive"},
		{"cafe\u0301", "cafe"},
		{"Straße Øre Łódź", "straße ore lodz"},
		{"ПоискПисем", "поиск.писем"},
		{"搜索", "搜 搜索 索"},
		{"使用API搜", "使 使用 用 api 搜"},
		{"検索する", "検 検索 索 索す す する る"},
		{"a\xffb\xc3", "a b"},
		{"x\x00y", "x y"},
		{"🙂ok🙂", "ok"},
	} {
		assert.Equal(t, row.want, strings.Join(words(row.text), " "), "%q", row.text)
	}
	long := words(strings.Repeat("x", 1000))
	assert.Len(t, long, 16, "a run of letters is cut")
}

func ExampleTokens() {
	fmt.Println(Tokens("HTTPServer.searchIssues: searches the issues"))
	// Output: [http server search issu search issu]
}

// Whatever the bytes, tokens are non-empty, valid, short, and the same on the second reading.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"searchIssues", "搜索a", "e\u0301\xff", "HTTPServers", "_-_a-1", "İstanbul ǅ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Tokens(text)
		for _, w := range tokens {
			if w == "" || !utf8.ValidString(w) || len(w) > maxCompound+utf8.UTFMax {
				t.Fatalf("token %q of %q", w, text)
			}
		}
		if !slices.Equal(tokens, Tokens(text)) {
			t.Fatal("two readings differ")
		}
		for _, score := range scores(NewMatcher([]Document{{Name: text}, {Text: text}}, nil, nil, nil), text) {
			if !(score >= 0 && score <= 1) {
				t.Fatalf("score %v for %q", score, text)
			}
		}
	})
}
