package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// commanding lists forms in which published attacks on tool descriptions address the model. A lower-case text that
// contains no word of first, or none of second if it is set, cannot match, so most texts need no regular expression.
var commanding = []struct {
	first, second []string
	form          *regexp.Regexp
}{
	{[]string{"<"}, []string{">"}, regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|assistant|secret|hidden|admin|user|prompt)\b[^>]*>`)},
	{[]string{"[inst", "[/inst", "[system", "[/system", "<|", "<<sys"}, nil, regexp.MustCompile(`(?i)\[/?(inst|system)\]|<\|[a-z_]+\|>|<<sys>>`)},
	{[]string{"ignore", "disregard", "forget", "override"}, []string{"instruction", "prompt", "rule", "message", "tool"},
		regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|other|system)\b.{0,30}\b(instructions?|prompts?|rules?|messages?|tools?)\b`)},
	{[]string{"do not", "don't", "never"}, []string{"user", "human", "anyone"},
		regexp.MustCompile(`(?i)\b(do not|don't|never)\b.{0,30}\b(tell|mention|inform|reveal|notify|show)\b.{0,30}\b(user|human|anyone)\b`)},
	{[]string{"without"}, []string{"user", "human"}, regexp.MustCompile(`(?i)\bwithout\b.{0,20}\b(telling|informing|asking|notifying)\b.{0,20}\b(user|human)\b`)},
	{[]string{"before", "after", "instead of"}, []string{"must", "always", "first"},
		regexp.MustCompile(`(?i)\b(before|after|instead of)\b.{0,30}\b(using|calling|any)\b.{0,20}\b(other|any|this)\b.{0,10}\btools?\b.{0,60}\b(must|always|first)\b`)},
	{[]string{".ssh", ".aws", ".cursor", ".claude", ".netrc", "id_rsa", "id_ed25519"}, nil,
		regexp.MustCompile(`(?i)(~|\$home|/home/[a-z]+|/root)?/?\.(ssh/|aws/credentials|cursor/mcp\.json|claude\.json|netrc)|\bid_(rsa|ed25519)\b`)},
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
	t = strings.ToLower(t)
	if strings.IndexFunc(t, func(c rune) bool { return c > '~' || c < ' ' && c != '\n' }) < 0 {
		return []string{strings.Join(strings.Fields(t), " ")}
	}
	t = strings.ToLower(norm.NFKD.String(t)) // full-width, accented and other compatibility letters become ASCII
	stored := strings.Join(strings.Fields(strings.Map(shows, t)), " ")
	return []string{stored, t, letters.Replace(stored)}
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
	has := func(w string) bool { return strings.Contains(t, w) }
	for _, c := range commanding {
		if slices.ContainsFunc(c.first, has) && (c.second == nil || slices.ContainsFunc(c.second, has)) && c.form.MatchString(t) {
			return true
		}
	}
	return false
}

// An Inspector holds the known entries with which an entry is compared: the names of all tools, and the skeletons of
// ids.
type Inspector struct {
	servers   map[string][]string // name that a text may use → servers of the tools with that name; at most three
	looks     map[string]look     // skeleton → the first id with it
	connected []string            // connected servers: only they may supply their tools
}

type look struct{ id, server string }

// NewInspector returns an Inspector without known entries.
func NewInspector() *Inspector {
	return &Inspector{servers: map[string][]string{}, looks: map[string]look{}}
}

// Connected sets the connected servers. Inspect flags an entry that uses the name of one of them.
func (in *Inspector) Connected(servers []string) { in.connected = servers }

// Add adds a known id. If several ids look alike, the first is reported as the original.
func (in *Inspector) Add(id, server, name string) {
	if s := Skeleton(id); in.looks[s].id == "" {
		in.looks[s] = look{id, server}
	}
	if server == "" {
		return
	}
	if rest, ok := strings.CutPrefix(name, server+":"); ok {
		name = rest
	}
	for _, n := range []string{name, ID(server, name), server + "__" + name, "mcp__" + server + "__" + name, id} {
		if len(n) >= 6 && strings.ContainsAny(n, "_-.:/") && len(in.servers[n]) < 3 && !slices.Contains(in.servers[n], server) {
			in.servers[n] = append(in.servers[n], server)
		}
	}
}

// shadows finds the name of a tool of another server in the texts. A name that three or more servers use is ignored.
func (in *Inspector) shadows(e *Entry) string {
	for _, t := range e.Texts {
		for _, name := range namesIn(strings.Map(shows, t)) {
			if of := in.servers[name]; len(of) > 0 && len(of) < 3 && !slices.Contains(of, e.Server) {
				return fmt.Sprintf("its texts speak of %s, a tool of another server", ShownID(name))
			}
		}
	}
	return ""
}

// nameRun matches a possible tool name in a text, perhaps preceded by the name of its server.
var (
	nameRun  = regexp.MustCompile(`[A-Za-z0-9@][A-Za-z0-9_@-]*(?:[.:/]+[A-Za-z0-9_@-]+)*`)
	namePart = regexp.MustCompile(`[^.:/]+`)
)

// namesIn returns the names that a text may mention: each run, and the parts of a run.
func namesIn(text string) (names []string) {
	if !strings.ContainsAny(text, "_-.:/") {
		return nil
	}
	for _, run := range nameRun.FindAllString(text, -1) {
		if len(run) < 6 || !strings.ContainsAny(run, "_-.:/") {
			continue
		}
		names = append(names, run)
		parts := namePart.FindAllStringIndex(run, -1)
		if len(parts) > 8 { // a path or an address
			continue
		}
		for i := range parts {
			for j := i; j < len(parts); j++ {
				if n := run[parts[i][0]:parts[j][1]]; n != run {
					names = append(names, n)
				}
			}
		}
	}
	return names
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

// plain returns a name in lower case without separators: the names of one server may differ in these.
func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name))
}

// alike finds an id that looks like another, or that mixes scripts within a word and so could be mistaken for another.
func (in *Inspector) alike(e *Entry) string {
	if other := in.looks[Skeleton(e.ID)]; other.id != "" && other.id != e.ID && (other.server != e.Server || plain(other.id) != plain(e.ID)) {
		return fmt.Sprintf("its id can be taken for %s", ShownID(other.id))
	}
	for _, word := range strings.FieldsFunc(e.ID, func(c rune) bool { return !unicode.IsLetter(c) }) {
		latin, other := false, false
		for _, c := range word {
			latin = latin || unicode.Is(unicode.Latin, c)
			other = other || unicode.Is(unicode.Cyrillic, c) || unicode.Is(unicode.Greek, c) || unicode.Is(unicode.Armenian, c)
		}
		if latin && other {
			return "its id mixes letters of several scripts in one word"
		}
	}
	return ""
}
