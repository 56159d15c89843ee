package static

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tokenizer takes texts apart as a tokenizer.json of Hugging Face says. Of its models it knows WordPiece (BERT) and
// Unigram (SentencePiece), which static models have; it adds no special tokens.
type tokenizer struct {
	normal  []func(string) string
	pieces  []func(string) []string
	model   func(word string) []int
	mapping []int // rows of tokens; nil: their own numbers
	size    int   // largest number of a token, plus one
}

func (t *tokenizer) rows(text string) []int {
	for _, f := range t.normal {
		text = f(text)
		text = text[:min(len(text), maxNormal)]
	}
	words := []string{text}
	for _, f := range t.pieces {
		var next []string
		for _, w := range words {
			next = append(next, f(w)...)
		}
		words = next
	}
	var rows []int
	for _, w := range words {
		for _, token := range t.model(w) {
			if t.mapping != nil {
				token = t.mapping[token]
			}
			rows = append(rows, token)
		}
	}
	return rows
}

// maxNormal is how many bytes of a normalized text are read, maxInserted how many a step may put in at one place: a file
// of many steps, each with a longer text than the one before, shall not fill the memory.
const maxNormal, maxInserted = 1 << 18, 64

// step is a normalizer or a pre-tokenizer.
type step struct {
	Type          string `json:"type"`
	Normalizers   []step `json:"normalizers"`
	Pretokenizers []step `json:"pretokenizers"`

	// BertNormalizer
	CleanText    *bool `json:"clean_text"`
	Chinese      *bool `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"`
	Lowercase    *bool `json:"lowercase"`
	// Replace, Split
	Pattern  struct{ String, Regex string } `json:"pattern"`
	Content  string                         `json:"content"`
	Behavior string                         `json:"behavior"`
	// Prepend
	Prepend string `json:"prepend"`
	// Metaspace
	Replacement   string `json:"replacement"`
	PrependScheme string `json:"prepend_scheme"`
	PrefixSpace   *bool  `json:"add_prefix_space"` // what older files say instead
	Split         *bool  `json:"split"`
}

func on(b *bool, standard bool) bool {
	if b == nil {
		return standard
	}
	return *b
}

// readTokenizer reads a tokenizer.json. What it cannot do as written is an error that names it.
func readTokenizer(b []byte) (*tokenizer, error) {
	var file struct {
		Normalizer   *step `json:"normalizer"`
		PreTokenizer *step `json:"pre_tokenizer"`
		Model        struct {
			Type    string          `json:"type"`
			Vocab   json.RawMessage `json:"vocab"`
			Unknown *string         `json:"unk_token"`
			UnkID   *int            `json:"unk_id"`
			Prefix  *string         `json:"continuing_subword_prefix"`
			Longest int             `json:"max_input_chars_per_word"`
		} `json:"model"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	t := &tokenizer{}
	if err := t.addNormalizer(file.Normalizer); err != nil {
		return nil, err
	}
	if err := t.addPreTokenizer(file.PreTokenizer); err != nil {
		return nil, err
	}
	switch m := file.Model; {
	case m.Type == "WordPiece" || m.Type == "" && len(m.Vocab) > 0 && m.Vocab[0] == '{':
		w := wordPiece{prefix: "##", longest: 100}
		if err := json.Unmarshal(m.Vocab, &w.vocabulary); err != nil {
			return nil, fmt.Errorf("model.vocab: %w", err)
		}
		for word, id := range w.vocabulary {
			if id < 0 || id >= maxWords {
				return nil, fmt.Errorf("model.vocab: %q has the number %d", word, id)
			}
			t.size = max(t.size, id+1)
		}
		if m.Prefix != nil {
			w.prefix = *m.Prefix
		}
		if m.Longest > 0 {
			w.longest = m.Longest
		}
		if m.Unknown != nil {
			delete(w.vocabulary, *m.Unknown)
		}
		t.model = w.tokens
	case m.Type == "Unigram":
		u, err := readUnigram(m.Vocab, m.UnkID)
		if err != nil {
			return nil, err
		}
		t.model, t.size = u.tokens, len(u.score)
	default:
		return nil, fmt.Errorf("model.type is %q: want WordPiece or Unigram", m.Type)
	}
	return t, nil
}

func (t *tokenizer) addNormalizer(s *step) error {
	if s == nil {
		return nil
	}
	if n := max(len(s.Content), len(s.Prepend)); n > maxInserted {
		return fmt.Errorf("normalizer: %s puts in %d bytes: want at most %d", s.Type, n, maxInserted)
	}
	add := func(f func(string) string) { t.normal = append(t.normal, f) }
	switch s.Type {
	case "Sequence":
		for i := range s.Normalizers {
			if err := t.addNormalizer(&s.Normalizers[i]); err != nil {
				return err
			}
		}
	case "BertNormalizer":
		if on(s.CleanText, true) {
			add(clean)
		}
		if on(s.Chinese, true) {
			add(spaceChinese)
		}
		lower := on(s.Lowercase, true)
		if on(s.StripAccents, lower) {
			add(stripAccents)
		}
		if lower {
			add(strings.ToLower)
		}
	case "Lowercase":
		add(strings.ToLower)
	case "StripAccents": // those that stand by themselves, unlike BertNormalizer
		add(func(x string) string { return without(x, unicode.M) })
	case "NFC":
		add(norm.NFC.String)
	case "NFD":
		add(norm.NFD.String)
	case "NFKC", "Precompiled": // a character map of SentencePiece, made from NFKC
		add(norm.NFKC.String)
	case "NFKD":
		add(norm.NFKD.String)
	case "Strip":
		add(strings.TrimSpace)
	case "Prepend":
		add(func(x string) string { return s.Prepend + x })
	case "Replace":
		pattern := s.Pattern.Regex
		if s.Pattern.String != "" {
			pattern = regexp.QuoteMeta(s.Pattern.String)
		}
		re, err := regexp.Compile(strings.ReplaceAll(pattern, `\s+`, `[\s\p{Z}]+`)) // Go's \s knows spaces of ASCII only
		if err != nil || pattern == "" {
			return fmt.Errorf("normalizer: the expression %q is not understood", pattern)
		}
		add(func(x string) string { return re.ReplaceAllLiteralString(x, s.Content) })
	default:
		return fmt.Errorf("normalizer: unknown type %q", s.Type)
	}
	return nil
}

func (t *tokenizer) addPreTokenizer(s *step) error {
	if s == nil {
		return nil
	}
	if n := len(s.Replacement); n > utf8.UTFMax {
		return fmt.Errorf("pre_tokenizer: %s has a replacement of %d bytes: want one character", s.Type, n)
	}
	add := func(f func(string) []string) { t.pieces = append(t.pieces, f) }
	switch s.Type {
	case "Sequence":
		for i := range s.Pretokenizers {
			if err := t.addPreTokenizer(&s.Pretokenizers[i]); err != nil {
				return err
			}
		}
	case "BertPreTokenizer", "Whitespace":
		add(strings.Fields)
		add(splitPunctuation)
	case "WhitespaceSplit":
		add(strings.Fields)
	case "Punctuation":
		add(splitPunctuation)
	case "Metaspace":
		mark := s.Replacement
		if mark == "" {
			mark = "▁"
		}
		split, always := on(s.Split, true), s.PrependScheme != "never" && on(s.PrefixSpace, true)
		add(func(x string) []string {
			x = strings.ReplaceAll(x, " ", mark)
			if always && !strings.HasPrefix(x, mark) {
				x = mark + x
			}
			if !split {
				return []string{x}
			}
			var words []string
			for i, w := range strings.Split(x, mark) {
				if i > 0 {
					words = append(words, mark+w)
				} else if w != "" {
					words = append(words, w)
				}
			}
			return words
		})
	default:
		return fmt.Errorf("pre_tokenizer: unknown type %q", s.Type)
	}
	return nil
}

// clean takes out control characters and makes one kind of space of all.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r):
			return ' '
		case r == 0 || r == utf8.RuneError || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co):
			return -1
		}
		return r
	}, s)
}

// chinese are the characters that BERT takes for words: ideographs, no radicals, numerals or kana.
var chinese = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2a6df, Stride: 1}, {Lo: 0x2a700, Hi: 0x2b81f, Stride: 1}, {Lo: 0x2b820, Hi: 0x2ceaf, Stride: 1}, {Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}},
}

// spaceChinese puts spaces around Chinese characters: each is a word.
func spaceChinese(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.Is(chinese, r) {
			b.WriteString(" " + string(r) + " ")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func stripAccents(s string) string { return without(norm.NFD.String(s), unicode.Mn) }

func without(s string, set *unicode.RangeTable) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(set, r) {
			return -1
		}
		return r
	}, s)
}

// splitPunctuation makes a word of each punctuation mark; BERT counts all signs of ASCII as such.
func splitPunctuation(s string) []string {
	var words []string
	from := 0
	for i, r := range s {
		if r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r > ' ' && r != 127 || unicode.IsPunct(r) {
			if i > from {
				words = append(words, s[from:i])
			}
			from = i + utf8.RuneLen(r)
			words = append(words, s[i:from])
		}
	}
	if from < len(s) {
		words = append(words, s[from:])
	}
	return words
}

// wordPiece takes a word apart from the left, the longest piece first. A word that this does not take apart in full has
// no tokens.
type wordPiece struct {
	vocabulary map[string]int
	prefix     string
	longest    int
}

func (w *wordPiece) tokens(word string) []int {
	if utf8.RuneCountInString(word) > w.longest {
		return nil
	}
	var tokens []int
	for from := 0; from < len(word); {
		found := false
		for to := len(word); to > from; to-- {
			piece := word[from:to]
			if from > 0 {
				piece = w.prefix + piece
			}
			if id, ok := w.vocabulary[piece]; ok {
				tokens, from, found = append(tokens, id), to, true
				break
			}
		}
		if !found {
			return nil
		}
	}
	return tokens
}

// unigram takes a word apart into the pieces with the largest sum of logarithms of their frequencies.
type unigram struct {
	id      map[string]int
	score   []float64
	longest int // bytes of a piece
	least   float64
	unknown int
}

// unknownPenalty is what SentencePiece takes from the least score for a character that no piece has.
const unknownPenalty = 10

func readUnigram(vocabulary json.RawMessage, unknown *int) (*unigram, error) {
	var rows [][]json.RawMessage
	if err := json.Unmarshal(vocabulary, &rows); err != nil {
		return nil, fmt.Errorf("model.vocab: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("model.vocab is empty")
	}
	u := &unigram{id: make(map[string]int, len(rows)), unknown: -1}
	if unknown != nil {
		u.unknown = *unknown
	}
	for i, row := range rows {
		var piece string
		var score float64
		if len(row) != 2 || json.Unmarshal(row[0], &piece) != nil || json.Unmarshal(row[1], &score) != nil {
			return nil, fmt.Errorf("model.vocab[%d]: want a piece and its score", i)
		}
		u.score, u.least = append(u.score, score), min(u.least, score)
		if i != u.unknown && piece != "" {
			u.id[piece] = i
			u.longest = max(u.longest, len(piece))
		}
	}
	return u, nil
}

func (u *unigram) tokens(word string) []int {
	best := make([]float64, len(word)+1)
	token, from := make([]int, len(word)+1), make([]int, len(word)+1)
	for i := range best[1:] {
		best[i+1] = math.Inf(-1)
	}
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		if s := best[at] + u.least - unknownPenalty; s > best[at+size] {
			best[at+size], token[at+size], from[at+size] = s, -1, at
		}
		for to := at + 1; to <= min(len(word), at+u.longest); to++ {
			if id, ok := u.id[word[at:to]]; ok && best[at]+u.score[id] > best[to] {
				best[to], token[to], from[to] = best[at]+u.score[id], id, at
			}
		}
		at += size
	}
	var tokens []int
	for at := len(word); at > 0; at = from[at] {
		if token[at] >= 0 {
			tokens = append(tokens, token[at])
		}
	}
	for i, k := 0, len(tokens)-1; i < k; i, k = i+1, k-1 {
		tokens[i], tokens[k] = tokens[k], tokens[i]
	}
	return tokens
}
