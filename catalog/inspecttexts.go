package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// commanding are forms in which published attacks on tool descriptions address the model. A text without a word of each
// list, in lower case, cannot match, and is not looked at further: that is most texts.
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
		labels[i] = strings.ReplaceAll(t, "_", " ") // between the words of a name
	}
	for _, t := range slices.Concat(e.Texts, labels) {
		if slices.ContainsFunc(readings(t), commands) {
			return "its texts speak to the model"
		}
	}
	return ""
}

// readings of a text in lower case: as it is stored, on one line; as it was sent; with letters for those that are drawn
// like them.
func readings(t string) []string {
	t = strings.ToLower(t)
	if strings.IndexFunc(t, func(c rune) bool { return c > '~' || c < ' ' && c != '\n' }) < 0 {
		return []string{strings.Join(strings.Fields(t), " ")}
	}
	t = strings.ToLower(norm.NFKD.String(t)) // letters of full width and with accents, and others that stand for ASCII
	stored := strings.Join(strings.Fields(strings.Map(shows, t)), " ")
	return []string{stored, t, letters.Replace(stored)}
}

// shows drops what a reader does not see, so that words are whole and stand beside each other.
func shows(c rune) rune {
	if c >= ' ' && c <= '~' || unicode.IsSpace(c) {
		return c
	}
	if _, hidden := Hidden(string(c)); hidden || c == '\u200d' || c == '\ufeff' || unicode.Is(unicode.Mn, c) {
		return -1
	}
	return c
}

// commands reports that a text in lower case has one of the forms.
func commands(t string) bool {
	has := func(w string) bool { return strings.Contains(t, w) }
	for _, c := range commanding {
		if slices.ContainsFunc(c.first, has) && (c.second == nil || slices.ContainsFunc(c.second, has)) && c.form.MatchString(t) {
			return true
		}
	}
	return false
}

// An Inspector holds what an entry is compared with: the names of all tools, and how ids look.
type Inspector struct {
	servers   map[string][]string // by a name that a text may use, the servers of the tools so called; at most three
	looks     map[string]look     // by skeleton, the id that came first
	connected []string            // servers that offer their tools themselves
}

type look struct{ id, server string }

// NewInspector is an empty
func NewInspector() *Inspector {
	return &Inspector{servers: map[string][]string{}, looks: map[string]look{}}
}

// Connected says which servers offer their tools themselves.
func (in *Inspector) Connected(servers []string) { in.connected = servers }

// Add makes an id known. The first of several ids that look alike is the one that the others are taken for.
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

// shadows finds a name that only tools of one or two other servers have. A name that many use says nothing.
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

// nameRun is what may be the name of a tool in a text, perhaps with that of its server before it.
var (
	nameRun  = regexp.MustCompile(`[A-Za-z0-9@][A-Za-z0-9_@-]*(?:[.:/]+[A-Za-z0-9_@-]+)*`)
	namePart = regexp.MustCompile(`[^.:/]+`)
)

// namesIn lists the names that a text may speak of: each run, and the parts of a run.
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

// letters maps letters to the Latin one they are drawn like: the part of Unicode's confusables that reads as a name.
var letters = strings.NewReplacer(
	"а", "a", "е", "e", "о", "o", "р", "p", "с", "c", "у", "y", "х", "x", "к", "k", "м", "m", "т", "t", "в", "b", "н", "h", "ѕ", "s",
	"і", "i", "ј", "j", "ԁ", "d", "ո", "n", "ս", "u", "α", "a", "ο", "o", "ρ", "p", "ν", "v", "υ", "u", "ι", "i", "κ", "k", "τ", "t", "ϲ", "c",
	"ı", "i", "ɑ", "a", "ɡ", "g",
)

// confusable maps characters that look alike in most fonts to one of them.
var confusable = strings.NewReplacer(
	"rn", "m", "vv", "w", "0", "o", "1", "l", "i", "l", "|", "l", "5", "s", "-", "", "_", "", ".", "", " ", "", "‐", "", "‑", "", "–", "",
)

// Skeleton is equal for two names that a reader could take for each other.
func Skeleton(name string) string {
	return confusable.Replace(letters.Replace(strings.ToLower(norm.NFKC.String(name))))
}

// plain is a name without capitals and separators: one server may have names that differ in these.
func plain(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name))
}

// alike finds an id that is drawn like another, or that mixes scripts within a word so that it could be.
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
