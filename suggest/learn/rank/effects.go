package rank

import (
	"slices"
	"strings"
	"sync"

	"waymark/suggest/semantic"
)

// Effect is the kind of effect that a call of a tool has.
type Effect int8

// The effects. A tool without an annotation has the effect of its first verb.
const (
	Unknown Effect = iota
	Reads
	Changes
)

// verbs lists families of verbs for the same kind of act. The first word is the effect; a verb may be in several
// families.
const verbs = `
reads get read list show find search look fetch view check inspect browse count compare describe query lookup see retrieve watch
reads analyze summarize explain identify detect verify validate test examine review measure estimate calculate compute translate
changes create add new open make write draft insert append put log record register book schedule start invite generate
changes update edit change set modify rename move correct fix adjust lower raise increase decrease reduce configure replace patch switch upgrade downgrade assign mark put make
changes update change modify prefer rather instead should
changes exchange swap trade replace return change substitute
changes delete remove cancel drop clear purge erase close revoke forget unsubscribe archive kill stop terminate disable abort end off drop without
changes send post notify tell message reply respond answer page remind inform share announce alert email mail comment know write
changes run execute start restart launch trigger deploy scale release ship stop reboot resize double
changes pay refund charge bill invoice transfer buy order purchase reimburse
changes merge link join combine connect attach
changes approve grant give share allow permit invite assign revoke deny reject
changes upload commit push publish save store import sync put write copy
changes roll rollback revert undo restore reset rotate`

// families returns, by stem of a verb, the families that contain it, and the effect of each family.
var families = sync.OnceValue(func() (of struct {
	family map[string][]int
	effect []Effect
}) {
	of.family = map[string][]int{}
	for i, line := range strings.Split(strings.TrimSpace(verbs), "\n") {
		words := strings.Fields(line)
		of.effect = append(of.effect, map[string]Effect{"reads": Reads, "changes": Changes}[words[0]])
		for _, w := range words[1:] {
			of.family[stem(w)] = append(of.family[stem(w)], i)
		}
	}
	return of
})

// action holds the effect of a tool, and the families of the first verb of its name and of the first word of its text.
type action struct {
	effect   Effect
	guessed  bool // not annotated
	families []int
}

func actionOf(t *Tool) action {
	a, all := action{effect: t.Effect, guessed: t.Effect == Unknown}, families()
	add := func(stems []string) {
		for _, w := range stems {
			if of, ok := all.family[w]; ok {
				a.families = append(a.families, of...)
				if a.effect == Unknown {
					a.effect = all.effect[of[0]]
				}
				return
			}
		}
	}
	add(semantic.Stems(t.Name))
	switch first := semantic.Parts(t.Text); {
	case len(first) == 0:
	case first[0] != "returns":
		add([]string{stem(first[0])})
	case a.effect == Unknown: // the text describes a result, not the act of giving back
		a.effect = Reads
	}
	return a
}

// questions lists the words that begin a request for an answer, not for an act.
var questions = []string{"why", "how", "what", "which", "who", "whom", "whose", "when", "where", "is", "are", "was", "were", "do", "does", "did", "has", "have", "any"}

// nounsFollow lists words after which the stem of a verb is a noun: "a draft of the reply" does not ask to reply.
var nounsFollow = strings.Fields("a an the this that these those my our your his her its their any all every each no some of in on at by for from with about into")

// nounEndings lists endings of nouns that share the stem of a verb: "a deployment" does not ask to deploy.
var nounEndings = []string{"ment", "ments", "tion", "tions", "sion", "sions", "ance", "ances"}

// asks holds the families of the verbs in a request.
type asks struct {
	families []bool
	reads    bool // the request is a question or has verbs of reading, and has no verb of changing
}

func asksOf(text string) asks {
	all := families()
	a := asks{families: make([]bool, len(all.effect))}
	changes := false
	for _, clause := range clauses(text) {
		words := semantic.Parts(clause)
		question := len(words) > 0 && slices.Contains(questions, words[0])
		a.reads = a.reads || question
		for i, word := range words {
			if i > 0 && slices.Contains(nounsFollow, words[i-1]) ||
				slices.ContainsFunc(nounEndings, func(end string) bool { return strings.HasSuffix(word, end) }) {
				continue
			}
			for _, f := range all.family[stem(word)] {
				if all.effect[f] == Changes && question {
					continue
				}
				a.families[f] = true
				changes = changes || all.effect[f] == Changes
				a.reads = a.reads || all.effect[f] == Reads
			}
		}
	}
	a.reads = a.reads && !changes
	return a
}
