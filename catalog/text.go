package catalog

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Identifier normalises a name for storage: valid UTF-8 in normal form C, trimmed, of at most limit
// bytes. Control characters and invisible ones (zero-width, direction marks), which would let two
// different names look alike, are errors. The error names the field.
func Identifier(field, s string, limit int) (string, error) {
	if len(s) > 4*limit { // normalising can shorten, but not by this much
		return "", fmt.Errorf("%s is %d bytes long, the limit is %d", field, len(s), limit)
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("%s %.80q is not valid UTF-8", field, s)
	}
	plain := printable(s)
	if !plain {
		s = norm.NFC.String(s)
	}
	s = strings.TrimSpace(s)
	if len(s) > limit {
		return "", fmt.Errorf("%s %.40q… is %d bytes long, the limit is %d", field, s, len(s), limit)
	}
	if plain {
		return s, nil
	}
	for _, c := range s {
		if unicode.IsControl(c) || invisible(c) {
			return "", fmt.Errorf("%s %.80q holds the character %U", field, s, c)
		}
	}
	return s, nil
}

// MaxPart is the maximum number of characters of a server id and of the rest of an id, as in the
// protocol for tool names.
const MaxPart = 128

// CheckToolID returns an error for an id that hosts could not use: a server id, or the rest of the id,
// has more than [MaxPart] characters, or the id has a character that real catalogs do not use, such as
// those of markup, quotes and commands.
func CheckToolID(field, id, server string) error {
	if n := utf8.RuneCountInString(strings.TrimPrefix(id, server+":")); n > MaxPart {
		return fmt.Errorf("%s is %d characters long, the limit is %d", field, n, MaxPart)
	}
	if n := utf8.RuneCountInString(server); n > MaxPart {
		return fmt.Errorf("server is %d characters long, the limit is %d", n, MaxPart)
	}
	if i := strings.IndexFunc(id, foreign); i >= 0 {
		c, _ := utf8.DecodeRuneInString(id[i:])
		return fmt.Errorf("%s holds the character %q", field, c)
	}
	return nil
}

// foreign reports whether a character is not allowed in tool ids.
func foreign(c rune) bool {
	return c == utf8.RuneError || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) && !strings.ContainsRune(" _-.:/@!#+&,()'~%?=", c)
}

// RespellToolID changes an id from another program's history so that [CheckToolID] accepts it: it
// percent-encodes other characters, and replaces the rest of an id that is too long by a hash. A valid
// id is returned unchanged.
func RespellToolID(id string) string {
	fits := func(id string) bool {
		server, _, _ := strings.Cut(id, ":")
		return len(id) <= MaxID && CheckToolID("id", id, server) == nil
	}
	if fits(id) || len(id) > 4*MaxID { // a longer text is not an id
		return id
	}
	var b strings.Builder
	for _, c := range id {
		if foreign(c) {
			b.WriteString(url.QueryEscape(string(c)))
		} else {
			b.WriteRune(c)
		}
	}
	if fits(b.String()) {
		return b.String()
	}
	head := strings.ToValidUTF8(b.String()[:min(b.Len(), MaxPart/2)], "")
	return fmt.Sprintf("%s~%.8x", head, sha256.Sum256([]byte(id)))
}

// Prose normalises a text for storage and display: valid UTF-8 in normal form C, trimmed, of at most
// limit bytes. It removes invisible characters that can carry instructions or reorder the text (control
// characters other than newline and tab, zero-width, direction and tag characters).
func Prose(field, s string, limit int) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("%s %.80q is not valid UTF-8", field, s)
	}
	s = clean(s)
	if len(s) > limit {
		return "", fmt.Errorf("%s is %d bytes long, the limit is %d", field, len(s), limit)
	}
	return s, nil
}

// Cut shortens a text to at most limit bytes, cleaned as by [Prose]. A text that is cut ends in ….
func Cut(s string, limit int) string {
	s = clean(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= limit {
		return s
	}
	end := limit - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimSpace(s[:max(end, 0)]) + "…"
}

func clean(s string) string {
	if printable(s) {
		return strings.TrimSpace(s)
	}
	s = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return c
		}
		if unicode.IsControl(c) || invisible(c) {
			return -1
		}
		return c
	}, s)
	return strings.TrimSpace(norm.NFC.String(s))
}

// printable reports whether s is printable ASCII, as nearly all names are; such a text needs no
// cleaning.
func printable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}

// invisible reports whether c is a format character of Unicode (category Cf: zero-width, direction
// marks, tags) or a filler or joiner without a glyph. The joiner in emoji sequences is one of them.
func invisible(c rune) bool {
	return unicode.Is(unicode.Cf, c) || c == '\u034F' || c == '\u115F' || c == '\u1160' || c == '\u3164' || c == '\uFFA0' || c == '\u2028' || c == '\u2029'
}

// Plural formats a number with its noun in singular or plural: "1 task", "2 tasks", "0 hypotheses".
func Plural[N ~int | ~int64 | ~uint32 | ~uint64](n N, noun string) string {
	switch stem, is := strings.CutSuffix(noun, "is"); {
	case n == 1:
		return "1 " + noun
	case is:
		return fmt.Sprintf("%d %ses", n, stem)
	case strings.HasSuffix(noun, "ty"), strings.HasSuffix(noun, "ry"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
