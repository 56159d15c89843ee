package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// commanding lists forms in which published attacks on tool descriptions address the model. A text that contains none
// of the hints cannot match, so most texts need no regular expression. All texts are in lower case.
var commanding = []struct {
	hints []string
	form  *regexp.Regexp
}{
	{[]string{"<"}, regexp.MustCompile(`<\s*/?\s*(important|system|instructions?|assistant|secret|hidden|admin|user|prompt)\b[^>]*>|<\|[a-z_]+\|>|<<sys>>`)},
	{[]string{"["}, regexp.MustCompile(`\[/?(inst|system)\]`)},
	{[]string{"ignore", "disregard", "forget", "override"},
		regexp.MustCompile(`\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|other|system)\b.{0,30}\b(instructions?|prompts?|rules?|messages?|tools?)\b`)},
	{[]string{"do not", "don't", "never"},
		regexp.MustCompile(`\b(do not|don't|never)\b.{0,30}\b(tell|mention|inform|reveal|notify|show)\b.{0,30}\b(user|human|anyone)\b`)},
	{[]string{"without"}, regexp.MustCompile(`\bwithout\b.{0,20}\b(telling|informing|asking|notifying)\b.{0,20}\b(user|human)\b`)},
	{[]string{"tool"},
		regexp.MustCompile(`\b(before|after|instead of)\b.{0,30}\b(using|calling|any)\b.{0,20}\b(other|any|this)\b.{0,10}\btools?\b.{0,60}\b(must|always|first)\b`)},
	{[]string{".ssh", ".aws", ".cursor", ".claude", ".netrc", "id_"}, regexp.MustCompile(`\.(ssh/|aws/credentials|cursor/mcp\.json|claude\.json|netrc)|\bid_(rsa|ed25519)\b`)},
}

func instruction(_ *Inspector, e *Entry) string {
	labels := slices.Concat(e.Labels, []string{e.ID, e.Name, e.Server})
	for i, t := range labels {
		labels[i] = strings.ReplaceAll(t, "_", " ") // separators between the words of a name
	}
	for _, t := range slices.Concat(e.Texts, labels) {
		if slices.ContainsFunc(readings(t), commands) {
			return "its texts speak to the model"
		}
	}
	return ""
}

// readings returns the variants of a text, in lower case, that are checked: as stored, on one line; as sent; and with
// confusable letters replaced by Latin ones.
func readings(t string) []string {
	t = strings.ToLower(norm.NFKD.String(t)) // full-width, accented and other compatibility letters become ASCII
	stored := strings.Join(strings.Fields(strings.Map(shows, t)), " ")
	return slices.Compact([]string{t, stored, letters.Replace(stored)})
}

// shows removes characters that a reader does not see, so that words are complete and adjacent.
func shows(c rune) rune {
	if c >= ' ' && c <= '~' || unicode.IsSpace(c) {
		return c
	}
	if _, hidden := Hidden(string(c)); hidden || c == '\u200d' || c == '\ufeff' || unicode.Is(unicode.Mn, c) {
		return -1
	}
	return c
}

// commands reports whether a text in lower case matches one of the forms.
func commands(t string) bool {
	for _, c := range commanding {
		if slices.ContainsFunc(c.hints, func(hint string) bool { return strings.Contains(t, hint) }) && c.form.MatchString(t) {
			return true
		}
	}
	return false
}

// An Inspector holds the known entries with which an entry is compared: the names of all tools, and the skeletons of
// ids.
type Inspector struct {
	servers map[string][]string // name that a text may use → servers of the tools with that name; at most three
	looks   map[string]look     // skeleton → the first id with it
	taken   map[string]bool     // skeletons of reserved servers and of connected ones, which alone may supply their tools
}

type look struct{ id, server string }

// NewInspector returns an Inspector without known entries.
func NewInspector() *Inspector {
	in := &Inspector{servers: map[string][]string{}, looks: map[string]look{}}
	in.Connected(nil)
	return in
}

// Connected sets the connected servers. Inspect flags an entry that uses the name of one of them.
func (in *Inspector) Connected(servers []string) {
	in.taken = map[string]bool{}
	for _, s := range slices.Concat(Reserved, servers) {
		in.taken[Skeleton(s)] = true
	}
}

// Add adds a known id. If several ids look alike, the first is reported as the original.
func (in *Inspector) Add(id, server, name string) {
	if s := Skeleton(id); in.looks[s].id == "" {
		in.looks[s] = look{id, server}
	}
	name = strings.TrimPrefix(name, server+":")
	for _, n := range []string{name, ID(server, name), server + "__" + name, hostPrefix + server + "__" + name, id} {
		ordinary := server == "" || len(n) < 6 || !strings.ContainsAny(n, "_-.:/")
		if !ordinary && len(in.servers[n]) < 3 && !slices.Contains(in.servers[n], server) {
			in.servers[n] = append(in.servers[n], server)
		}
	}
}

// nameRun matches a possible tool name in a text, perhaps preceded by the name of its server.
var nameRun = regexp.MustCompile(`[A-Za-z0-9@][A-Za-z0-9_@-]*(?:[.:/]+[A-Za-z0-9_@-]+)*`)

// shadows finds the name of a tool of another server in the texts. A name that three or more servers use is ignored.
func (in *Inspector) shadows(e *Entry) string {
	for _, t := range e.Texts {
		for _, run := range nameRun.FindAllString(strings.Map(shows, t), -1) {
			parts := strings.FieldsFunc(run, func(c rune) bool { return strings.ContainsRune(".:/", c) })
			for _, name := range append(parts, run) {
				if of := in.servers[name]; len(of) > 0 && len(of) < 3 && !slices.Contains(of, e.Server) {
					return fmt.Sprintf("its texts speak of %s, a tool of another server", ShownID(name))
				}
			}
		}
	}
	return ""
}

// letters maps letters to the Latin letter that looks like them: the subset of Unicode's confusables that is used in
// names.
var letters = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "к", "k", "м", "m", "т", "t", "в", "b", "н", "h", "ѕ", "s",
	"і", "i", "ј", "j", "ԁ", "d", "ո", "n", "ս", "u", "α", "a", "ο", "o", "ρ", "p", "ν", "v", "υ", "u", "ι", "i", "κ", "k", "τ", "t", "ϲ", "c",
	"ı", "i", "ɑ", "a", "ɡ", "g",
)

// confusable maps characters that look alike in most fonts to one of them.
var confusable = strings.NewReplacer(
	"rn", "m", "vv", "w", "0", "o", "1", "l", "i", "l", "|", "l", "5", "s", "-", "", "_", "", ".", "", " ", "", "‐", "", "‑", "", "–", "",
)

// Skeleton returns the same text for two names that a reader could mistake for each other.
func Skeleton(name string) string {
	return confusable.Replace(letters.Replace(strings.ToLower(norm.NFKC.String(name))))
}

// alike finds an id that looks like another, or that mixes scripts within a word and so could be mistaken for another.
// The ids of one server may differ in case and separators only.
func (in *Inspector) alike(e *Entry) string {
	if other := in.looks[Skeleton(e.ID)]; other.id != "" && other.id != e.ID && (other.server != e.Server || fold(other.id) != fold(e.ID)) {
		return fmt.Sprintf("its id can be taken for %s", ShownID(other.id))
	}
	for _, word := range strings.FieldsFunc(e.ID, func(c rune) bool { return !unicode.IsLetter(c) }) {
		has := func(scripts ...*unicode.RangeTable) bool {
			return strings.ContainsFunc(word, func(c rune) bool { return unicode.In(c, scripts...) })
		}
		if has(unicode.Latin) && has(unicode.Cyrillic, unicode.Greek, unicode.Armenian) {
			return "its id mixes letters of several scripts in one word"
		}
	}
	return ""
}
