package gateway

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/catalog"
)

// A description is read by the model that chooses a tool, so whoever writes it writes into the prompt.
// suspicions lists what no honest description needs; a tool with any of it is held until somebody looked.
//
// others are the names of tools of other servers.
func suspicions(description string, others []string) (found []string) {
	note := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if !utf8.ValidString(description) {
		note("its texts are not valid UTF-8")
	}
	if c, ok := hidden(description); ok {
		note("its texts hold the invisible character %U", c)
	}
	for _, p := range commanding {
		if p.MatchString(description) { // what it says stays out of this: the model may read it
			note("its texts speak to the model")
			break
		}
	}
	for _, name := range others {
		if mentions(description, name) {
			note("its texts speak of %s, a tool of another server", name)
			break
		}
	}
	return found
}

// hidden is the first character that carries text nobody sees: controls, zero-width, direction and tag
// characters. The joiner and selector of emoji are no such.
func hidden(s string) (rune, bool) {
	for _, c := range s {
		switch {
		case c == '\n', c == '\t', c == '\r', c == '\u200d', c == '\ufeff':
		case unicode.IsControl(c), unicode.Is(unicode.Cf, c), c == '\u115F', c == '\u1160', c == '\u3164', c == '\uFFA0', c >= 0xE0100 && c <= 0xE01EF:
			return c, true
		}
	}
	return 0, false
}

// commanding are forms in which published attacks on tool descriptions address the model.
var commanding = []*regexp.Regexp{
	regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|assistant|secret|hidden|admin|user|prompt)\b[^>]*>`),
	regexp.MustCompile(`(?i)\[/?(inst|system)\]|<\|[a-z_]+\|>|<<sys>>`),
	regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|other|system)\b.{0,30}\b(instructions?|prompts?|rules?|messages?|tools?)\b`),
	regexp.MustCompile(`(?i)\b(do not|don't|never)\b.{0,30}\b(tell|mention|inform|reveal|notify|show)\b.{0,30}\b(user|human|anyone)\b`),
	regexp.MustCompile(`(?i)\bwithout\b.{0,20}\b(telling|informing|asking|notifying)\b.{0,20}\b(user|human)\b`),
	regexp.MustCompile(`(?i)\b(before|after|instead of)\b.{0,30}\b(using|calling|any)\b.{0,20}\b(other|any|this)\b.{0,10}\btools?\b.{0,60}\b(must|always|first)\b`),
	regexp.MustCompile(`(?i)(~|\$home|/home/[a-z]+|/root)?/?\.(ssh/|aws/credentials|cursor/mcp\.json|claude\.json|netrc)|\bid_(rsa|ed25519)\b`),
}

// mentions reports whether a text names a tool. Names that are ordinary words are not looked for.
func mentions(text, name string) bool {
	if len(name) < 6 || !strings.ContainsAny(name, "_-.:") {
		return false
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !partOfName(text[from-1])) && (to == len(text) || !partOfName(text[to])) {
			return true
		}
		at = from + 1
	}
}

func partOfName(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// otherNames are the names of tools of other servers that a description must not speak of: the names
// alone and with their server, without those that the server itself uses.
func otherNames(server string, own []string, all map[string][]string) (names []string) {
	for other, tools := range all {
		if other == server {
			continue
		}
		for _, t := range tools {
			names = append(names, catalog.ID(other, t), other+"__"+t)
			if !slices.Contains(own, t) {
				names = append(names, t)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
