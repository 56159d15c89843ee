package contribution

import (
	"slices"
	"strings"
)

// A block is a fenced part of a message, or the prose between two of them.
type block struct {
	tag    string // of the fence, lower case; "" for none
	fenced bool
	closed bool
	line   int // of the first line of the body, from 1
	body   string
}

// delta reports whether the fence says that a delta is inside.
func (b block) delta() bool { return b.fenced && slices.Contains(strings.Fields(b.tag), "delta") }

// mayHold reports whether a fence of this tag is likely to hold a delta whose tag was forgotten.
func (b block) mayHold() bool {
	return b.fenced && slices.Contains([]string{"", "json", "json5", "jsonc", "javascript", "js"}, b.tag)
}

// blocks splits a message. A fence is a line of three or more of ` ~ : with a tag, and lasts to a line of
// at least as many of the same and nothing else, so that a longer fence can quote a shorter one. A fence
// that opens a delta cannot be content of another of the same length: there the closing one was forgotten.
func blocks(message string) []block {
	var found []block
	cur := block{line: 1}
	var mark byte // of the open fence
	var length int
	start := 0
	end := func(at int, closed bool) {
		cur.body, cur.closed = message[start:at], closed
		if cur.fenced || strings.TrimSpace(cur.body) != "" {
			found = append(found, cur)
		}
	}
	line := 1
	for at := 0; at < len(message); line++ {
		next := len(message)
		if i := strings.IndexByte(message[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		c, n, info := fence(message[at:next])
		tag := tagOf(info)
		opens := n > 0 && (c != ':' || isDelta(tag)) && (c != '`' || !strings.Contains(info, "`"))
		switch {
		case cur.fenced && c == mark && n >= length && info == "":
			end(at, true)
			cur, start = block{line: line + 1}, next
		case opens && (!cur.fenced || isDelta(tag) && c == mark && n == length):
			end(at, !cur.fenced)
			cur, start, mark, length = block{tag: tag, fenced: true, line: line + 1}, next, c, n
			if i := strings.IndexAny(info, "{["); i >= 0 { // the JSON begins beside the tag
				cur.line, start = line, at+strings.Index(message[at:next], info)+i
			}
		}
		at = next
	}
	end(len(message), !cur.fenced)
	return found
}

// fence reads a line that may be one: its sign, how many there are, and what follows.
func fence(line string) (c byte, n int, info string) {
	s := strings.TrimSpace(line)
	if s == "" || s[0] != '`' && s[0] != '~' && s[0] != ':' {
		return 0, 0, ""
	}
	rest := strings.TrimLeft(s, s[:1])
	if n = len(s) - len(rest); n < 3 {
		return 0, 0, ""
	}
	return s[0], n, strings.TrimSpace(rest)
}

func tagOf(info string) string {
	if i := strings.IndexAny(info, "{["); i >= 0 {
		info = info[:i]
	}
	return strings.ToLower(strings.TrimSpace(info))
}

func isDelta(tag string) bool { return slices.Contains(strings.Fields(tag), "delta") }
