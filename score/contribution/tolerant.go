package contribution

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep the objects and lists of a delta may nest.
const maxDepth = 64

// A tolerantParser reads JSON as language models write it. What it forgives is listed in repairs; it
// never guesses where an object ends.
type tolerantParser struct {
	s       string
	i       int
	line    int // of s[0] in the message
	repairs []string
}

// A syntaxError says where the JSON is broken. Its words are our own, since a library's may differ from
// one run to the next.
type syntaxError struct {
	line   int
	detail string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.detail) }

func (p *tolerantParser) fail(format string, args ...any) error {
	return &syntaxError{p.line + strings.Count(p.s[:min(p.i, len(p.s))], "\n"), fmt.Sprintf(format, args...)}
}

func (p *tolerantParser) repaired(what string) {
	for _, r := range p.repairs {
		if r == what {
			return
		}
	}
	p.repairs = append(p.repairs, what)
}

// skip passes white space and comments.
func (p *tolerantParser) skip() error {
	for p.i < len(p.s) {
		rest := p.s[p.i:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			p.i++
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			p.i += end
			p.repaired("comments")
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				return p.fail("a comment does not end")
			}
			p.i += end + 2
			p.repaired("comments")
		default:
			r, size := utf8.DecodeRuneInString(rest)
			if r != '\ufeff' && r != '\u00a0' && r != '\u200b' && r != '\u2028' && r != '\u2029' {
				return nil
			}
			p.i += size
			p.repaired("invisible characters")
		}
	}
	return nil
}

// value reads the value that begins at the next sign.
func (p *tolerantParser) value(depth int) (any, error) {
	if err := p.skip(); err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d", maxDepth)
	}
	if p.i == len(p.s) {
		return nil, p.fail("the JSON ends where a value should be")
	}
	switch c := p.s[p.i]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.list(depth)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	if p.atQuote() {
		return p.text()
	}
	switch word := p.word(); word {
	case "true", "false", "null":
		p.i += len(word)
		return map[string]any{"true": true, "false": false, "null": nil}[word], nil
	case "True", "False", "None":
		p.i += len(word)
		p.repaired("True, False or None")
		return map[string]any{"True": true, "False": false, "None": nil}[word], nil
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	return nil, p.fail("%q where a value should be", r)
}

func (p *tolerantParser) object(depth int) (any, error) {
	m := map[string]any{}
	err := p.elements('}', "an object", func() error {
		key, err := p.key()
		if err != nil {
			return err
		}
		if _, twice := m[key]; twice {
			return p.fail("%s comes twice", quoted(key))
		}
		if err := p.skip(); err != nil {
			return err
		}
		if p.i == len(p.s) || p.s[p.i] != ':' {
			return p.fail("no colon after %s", quoted(key))
		}
		p.i++
		m[key], err = p.value(depth + 1)
		return err
	})
	return m, err
}

func (p *tolerantParser) list(depth int) (any, error) {
	list := []any{}
	err := p.elements(']', "a list", func() error {
		v, err := p.value(depth + 1)
		list = append(list, v)
		return err
	})
	return list, err
}

// elements reads what stands between an opening bracket and its closing one, with commas between.
func (p *tolerantParser) elements(closing byte, inside string, one func() error) error {
	p.i++
	n := 0
	for comma := true; ; n++ {
		if err := p.skip(); err != nil {
			return err
		}
		switch {
		case p.i == len(p.s):
			return p.fail("the JSON ends inside %s", inside)
		case p.s[p.i] == closing:
			p.i++
			if comma && n > 0 {
				p.repaired("a comma too many")
			}
			return nil
		case !comma:
			p.repaired("a missing comma")
		}
		err := one()
		if err == nil {
			comma, err = p.comma()
		}
		if err != nil {
			return err
		}
	}
}

// comma reports whether a comma follows, and passes it.
func (p *tolerantParser) comma() (bool, error) {
	err := p.skip()
	if err == nil && p.i < len(p.s) && p.s[p.i] == ',' {
		p.i++
		return true, nil
	}
	return false, err
}

func (p *tolerantParser) key() (string, error) {
	if p.atQuote() {
		return p.text()
	}
	word := p.word()
	if word == "" {
		r, _ := utf8.DecodeRuneInString(p.s[p.i:])
		return "", p.fail("%q where a name should be", r)
	}
	p.i += len(word)
	p.repaired("names without quotes")
	return word, nil
}

// word is the name that begins here: letters, digits and _, not a digit first.
func (p *tolerantParser) word() string {
	rest := p.s[p.i:]
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= 'A' && rest[n] <= 'Z' || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
		n++
	}
	return rest[:n]
}

func (p *tolerantParser) number() (any, error) {
	n := p.i
	for n < len(p.s) && strings.IndexByte("+-.eE0123456789", p.s[n]) >= 0 {
		n++
	}
	digits := strings.TrimPrefix(p.s[p.i:n], "-")
	v, err := strconv.ParseFloat(p.s[p.i:n], 64)
	if err != nil || digits[0] < '0' || digits[0] > '9' || strings.HasSuffix(digits, ".") || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return nil, p.fail("%s is no number", quoted(p.s[p.i:n]))
	}
	p.i = n
	return v, nil
}

// The quotes that begin a text, and what ends it.
var quotes = map[rune]string{'"': `"`, '“': "”“", '”': "”", '„': "“”", '\'': "'", '‘': "’", '’': "’"}

func (p *tolerantParser) atQuote() bool {
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	return quotes[r] != ""
}

func (p *tolerantParser) text() (string, error) {
	open, size := utf8.DecodeRuneInString(p.s[p.i:])
	start := p.i
	p.i += size
	if open != '"' {
		p.repaired("other quotes than \"")
	}
	var b strings.Builder
	for p.i < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[p.i:])
		switch {
		case r == '\\':
			p.escape(&b)
			continue
		case strings.ContainsRune(quotes[open], r) && (open == '"' || p.endsText(p.i+size)):
			p.i += size
			return b.String(), nil
		case r < ' ':
			p.repaired("line breaks inside a text")
		}
		b.WriteString(p.s[p.i : p.i+size])
		p.i += size
	}
	p.i = start
	return "", p.fail("a text does not end")
}

// endsText tells a closing quote from an apostrophe by what follows it.
func (p *tolerantParser) endsText(i int) bool {
	rest := strings.TrimLeft(p.s[i:min(i+200, len(p.s))], " \t\r\n")
	return rest == "" || strings.IndexByte(",:}]/", rest[0]) >= 0
}

// escape reads what begins with a backslash. One that means nothing stands for itself, as in LaTeX.
func (p *tolerantParser) escape(b *strings.Builder) {
	if p.i+1 == len(p.s) {
		p.i++
		return
	}
	c := p.s[p.i+1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		p.i += 2
		return
	}
	if r, ok := p.unit(p.i); ok {
		p.i += 6
		if utf16.IsSurrogate(r) {
			low, _ := p.unit(p.i)
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				p.i += 6
			} else {
				p.repaired("half of a surrogate pair")
			}
		}
		b.WriteRune(r)
		return
	}
	p.repaired("a backslash that escapes nothing")
	if c == '\'' {
		b.WriteByte(c)
		p.i += 2
		return
	}
	b.WriteByte('\\')
	p.i++
}

// unit is the UTF-16 unit that is written \uXXXX at i.
func (p *tolerantParser) unit(i int) (rune, bool) {
	if !strings.HasPrefix(p.s[min(i, len(p.s)):], `\u`) || i+6 > len(p.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[i+2:i+6], 16, 16)
	return rune(n), err == nil
}
