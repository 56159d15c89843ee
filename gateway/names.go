package gateway

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// toolName is what the protocol allows a tool to be called.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// confusable maps letters to the Latin one they are drawn like (the part of Unicode's confusables that
// reads as a name), and characters that look alike in most fonts to one of them.
var confusable = strings.NewReplacer(
	"rn", "m", "vv", "w", "0", "o", "1", "l", "i", "l", "|", "l", "5", "s", "-", "", "_", "", ".", "", " ", "",
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "к", "k", "м", "m", "т", "t", "в", "b", "н", "h", "ѕ", "s",
	"і", "l", "ј", "j", "ԁ", "d", "ո", "n", "ս", "u", "α", "a", "ο", "o", "ρ", "p", "ν", "v", "υ", "u", "ι", "l", "κ", "k", "τ", "t", "ϲ", "c",
	"ı", "l", "ɑ", "a", "ɡ", "g", "‐", "", "‑", "", "–", "",
)

// skeleton is equal for two names that a reader could take for each other.
func skeleton(name string) string {
	return confusable.Replace(strings.ToLower(norm.NFKC.String(name)))
}

// alike reports which of the names could be taken for name, if it is another.
func alike(name string, names []string) (string, bool) {
	s := skeleton(name)
	for _, other := range names {
		if other != name && skeleton(other) == s {
			return other, true
		}
	}
	return "", false
}
