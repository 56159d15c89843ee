package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/suggest"
	"waymark/suggest/history"
	"waymark/suggest/semantic"
)

// The kinds of rule.
const (
	RuleBan   = "ban"   // the tool is never suggested
	RulePin   = "pin"   // the tool is the first suggestion after another one, or at the start of a task
	RuleAlias = "alias" // past and future calls of another id count for the tool
	RuleTrust = string(history.Trusted)
	RuleSplit = string(history.Split)
)

// Rule is a decision of the operator that takes precedence over the history in answers or in counting.
type Rule struct {
	ID     string `json:"id,omitempty" doc:"Set by the server from the kind and the tools."`
	Kind   string `json:"kind" enum:"ban,pin,alias,trust,split" doc:"ban: the tool is never suggested. pin: it is suggested first. alias: calls of another id count for it. trust: the episodes of a source with a key count in full. split: each label of its episodes counts as a separate source."`
	Tool   string `json:"tool,omitempty" doc:"ban, pin, alias: a tool or capability; for an alias also new:*, all tools of a server."`
	After  string `json:"after,omitempty" doc:"ban, pin: the tool used last. If absent, a ban applies everywhere, and a pin only before the first tool."`
	Intent string `json:"intent,omitempty" minLength:"1" doc:"ban, pin: the rule applies only to requests with the same words, in any order and inflection."`
	Alias  string `json:"alias,omitempty" doc:"alias: the other id, such as the former id of the tool; old:* for all tools of a server."`
	Source string `json:"source,omitempty" doc:"trust, split: a source of the history that came with a key."`
}

// ruled is the event of a rule that was added or undone. Undoing a rule restores the former answers, because no model
// counts bans and pins, and aliases do not change the stored counts.
type ruled struct {
	Rule
	Undone bool `json:"undone,omitempty"`
}

// rule applies the event of a rule. The slice of rules is replaced, never changed, so that
// readers and snapshots may keep it.
func (h *replayedLog) rule(r *ruled) {
	rules := slices.DeleteFunc(slices.Clone(h.rules), func(old Rule) bool { return old.ID == r.ID })
	if !r.Undone {
		rules = append(rules, r.Rule)
		slices.SortFunc(rules, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	}
	h.rules = rules
}

// banned returns the tools that rules exclude everywhere.
func (w *writer) banned() map[string]suggest.Exclusion {
	banned := map[string]suggest.Exclusion{}
	for _, r := range w.rules {
		if r.Kind == RuleBan && r.Intent == "" && r.After == "" {
			banned[w.state.Aliases().Of(r.Tool)] = r.exclusion() // a ban also holds under a new name
		}
	}
	return banned
}

func (r *Rule) exclusion() suggest.Exclusion {
	return suggest.Exclusion{Absent: suggest.AbsentBanned, Detail: "banned by the operator (rule " + r.ID + ")"}
}

// Rules lists the rules in effect, by id.
func (e *Engine) Rules() []Rule { return append([]Rule{}, e.status.Load().rules...) }

// ruled returns the exclusions and the pins of a request. tools is the set of tools that the caller may
// see (nil: all). context is nil for a request that does not ask for the next tool; then rules about a
// position in a task do not apply.
func (e *Engine) ruled(m *suggest.Model, tools *suggest.ToolSet, context *[]string, intent string) (withheld *suggest.Exclusions, pins []suggest.Pin) {
	after, place := "", context != nil
	if place && len(*context) > 0 {
		after = resolved(m, (*context)[len(*context)-1])
	}
	words, banned := "", map[string]suggest.Exclusion{}
	for _, r := range e.status.Load().rules {
		if r.Intent != "" {
			if words == "" {
				words = wordsOf(intent)
			}
			if words != wordsOf(r.Intent) {
				continue
			}
		}
		switch {
		case r.Kind == RuleBan && (r.After == "" && r.Intent != "" || r.After != "" && place && resolved(m, r.After) == after):
			banned[resolved(m, r.Tool)] = r.exclusion()
		case r.Kind == RulePin && (place && resolved(m, r.After) == after || !place && r.Intent != "" && r.After == ""):
			pins = append(pins, suggest.Pin{ID: resolved(m, r.Tool), Rule: r.ID})
		}
	}
	return m.Within(tools, e.withheld().And(banned)), pins
}

// wordsOf returns the sorted stems of the words of an intent. A rule with an intent applies
// to requests with the same stems.
func wordsOf(intent string) string {
	stems := semantic.Tokens(intent)
	slices.Sort(stems)
	return strings.Join(slices.Compact(stems), "+")
}

// AddRule stores a rule and returns it with its id. Adding it again changes nothing.
func (e *Engine) AddRule(ctx context.Context, r Rule) (Rule, error) {
	a, err := e.append(ctx, true, func(w *writer) (_ []entry, err error) {
		switch r.Kind {
		case RuleAlias:
			err = w.checkAlias(&r)
		case RuleTrust, RuleSplit:
			err = w.checkSource(&r)
		default:
			err = w.checkRule(&r)
		}
		if err != nil || slices.Contains(w.rules, r) {
			return nil, err
		}
		return ruleEntry(ruled{Rule: r})
	})
	if len(a.receipts) > 0 {
		e.countAnew(r)
	}
	return r, err
}

// countAnew starts a rebuild if a rule is about a source and so changes how past events count.
func (e *Engine) countAnew(r Rule) {
	if r.Source == "" {
		return
	}
	e.life.background.Go(func() {
		if err := e.rebuildAndWait(e.life.ctx, true); err != nil && e.life.ctx.Err() == nil {
			e.opts.Logger.Error("the history is not counted by a new rule yet; a rebuild does so", "workspace", e.name, "rule", r.ID, "error", err)
		}
	})
}

func invalidRule(field, detail string) error {
	return &suggest.RequestError{Kind: suggest.Invalid, Field: field, Detail: detail}
}

// checkRule checks a ban or a pin, resolves its tools and gives it its id.
func (w *writer) checkRule(r *Rule) (err error) {
	switch {
	case r.Kind != RuleBan && r.Kind != RulePin:
		return invalidRule("kind", fmt.Sprintf("unknown kind %q: want %s", r.Kind, strings.Join([]string{RuleBan, RulePin, RuleAlias, RuleTrust, RuleSplit}, ", ")))
	case r.Alias != "":
		return invalidRule("alias", "belongs to rules of the kind "+RuleAlias)
	case r.Source != "":
		return invalidRule("source", "belongs to rules of the kinds "+RuleTrust+" and "+RuleSplit)
	case r.Tool == "":
		return invalidRule("tool", "name a tool")
	case len(r.Intent) > MaxRuleIntent:
		return invalidRule("intent", fmt.Sprintf("has %d bytes, at most %d", len(r.Intent), MaxRuleIntent))
	case r.Intent != "" && wordsOf(r.Intent) == "":
		return invalidRule("intent", "has no word")
	}
	if r.Tool, err = w.knownTool("tool", r.Tool); err != nil {
		return err
	}
	r.ID = r.Kind + ":" + r.Tool
	if r.After != "" {
		if r.After, err = w.knownTool("after", r.After); err != nil {
			return err
		}
		r.ID = r.Kind + ":" + r.After + ">" + r.Tool
	}
	if r.Intent != "" {
		r.ID += "@" + wordsOf(r.Intent)
	}
	return nil
}

// Correction returns the command that bans a tool from the answers to a request.
func Correction(tool, last, intent string) string {
	command := "waymark rule ban " + ShellWord(tool)
	if last != "" {
		command += " --after " + ShellWord(last)
	}
	if intent != "" {
		command += " --intent " + ShellWord(intent)
	}
	return command
}

// ShellWord quotes a word that a shell would not take literally.
func ShellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=+@%", r)
	}
	if w != "" && !strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
		return w
	}
	if runtime.GOOS == "windows" {
		return `"` + w + `"` // no path contains a quote there
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// MaxRuleIntent is the maximum length of the intent of a rule in bytes, because the id of the rule contains its words.
const MaxRuleIntent = 500

// knownTool returns the id of a tool that the catalog or the history has.
func (w *writer) knownTool(field, spelling string) (id string, err error) {
	if id, err = w.state.Resolve(spelling); err == nil {
		id, err = catalog.Identifier("id", id, catalog.MaxID)
	}
	if err != nil {
		return "", invalidRule(field, err.Error())
	}
	if !w.state.Knows(id) {
		m := w.Model()
		near := catalog.Near(id, func(yield func(string, uint64) bool) { // including ids that only the history has
			for n, known := range m.IDs {
				if m.Kind(int32(n)) == catalog.KindTool && !yield(known, m.Usage.At(int32(n)).Steps) {
					return
				}
			}
		})
		return "", &suggest.RequestError{Kind: suggest.NotFound, Field: field, Detail: fmt.Sprintf("%q is in no catalog and no episode", id) + catalog.DidYouMean(near)}
	}
	return id, nil
}

// knownServer returns an error if neither the catalog nor the history has a tool of a server.
func (w *writer) knownServer(field, name string) error {
	if w.state.KnowsServer(name) {
		return nil
	}
	servers := map[string]uint64{}
	for _, id := range w.Model().IDs {
		if server, _, ok := strings.Cut(id, ":"); ok {
			servers[server]++
		}
	}
	return &suggest.RequestError{Kind: suggest.NotFound, Field: field, Detail: fmt.Sprintf("no tool of server %q is in a catalog or an episode", name) +
		catalog.DidYouMean(catalog.Near(name, maps.All(servers)))}
}

// checkAlias checks an alias and sets its id. The alias may be unknown, because calls of it may be recorded later.
func (w *writer) checkAlias(r *Rule) (err error) {
	if r.After != "" || r.Intent != "" {
		return invalidRule("alias", "an alias holds in every context")
	}
	if r.Alias, err = catalog.Identifier("alias", r.Alias, catalog.MaxID); err == nil && r.Alias == "" {
		err = errors.New("name the other id")
	}
	if err != nil {
		return invalidRule("alias", err.Error())
	}
	if _, err := catalog.NewAliases(pairs([]Rule{*r})); err != nil { // before the tool is resolved, maybe by this alias
		return invalidRule("alias", err.Error())
	}
	if server, ok := strings.CutSuffix(r.Tool, catalog.EveryTool); !ok {
		if r.Tool, err = w.knownTool("tool", r.Tool); err != nil {
			return err
		}
	} else if err = w.knownServer("tool", server); err != nil {
		return err
	}
	for _, x := range [][2]string{{"alias", r.Alias}, {"tool", r.Tool}} {
		if _, ok := w.state.Capability(x[1]); ok {
			return invalidRule(x[0], fmt.Sprintf("%q is a capability, and aliases are about tools", x[1]))
		}
	}
	r.ID = r.Kind + ":" + r.Alias
	others := slices.DeleteFunc(slices.Clone(w.rules), func(old Rule) bool { return old.ID == r.ID })
	if _, err := catalog.NewAliases(pairs(append(others, *r))); err != nil {
		return invalidRule("alias", err.Error())
	}
	return nil
}

// checkSource checks a rule about a source and sets its id. Both kinds have the same id,
// so that one replaces the other.
func (w *writer) checkSource(r *Rule) error {
	switch known := slices.ContainsFunc(w.rules, func(old Rule) bool { return old.Source == r.Source }); {
	case r.Tool != "" || r.After != "" || r.Intent != "" || r.Alias != "":
		return invalidRule("source", "a rule about a source names nothing else")
	case !history.HasKey(r.Source):
		return invalidRule("source", fmt.Sprintf("%q has no key: its reports count in full", r.Source))
	case !known && !w.state.HasSource(r.Source):
		return &suggest.RequestError{Kind: suggest.NotFound, Field: "source", Detail: fmt.Sprintf("%q has recorded nothing", r.Source)}
	}
	r.ID = "source:" + r.Source
	return nil
}

// treatments returns how sources count according to the rules.
func treatments(rules []Rule) history.Treatments {
	t := history.Treatments{}
	for _, r := range rules {
		if r.Source != "" {
			t[r.Source] = history.Treatment(r.Kind)
		}
	}
	return t
}

func pairs(rules []Rule) (all [][2]string) {
	for _, r := range rules {
		if r.Kind == RuleAlias {
			all = append(all, [2]string{r.Alias, r.Tool})
		}
	}
	return all
}

// aliases returns the aliases of rules. They cannot be invalid, because they were checked when they were added.
func aliases(rules []Rule) catalog.Aliases {
	a, err := catalog.NewAliases(pairs(rules))
	if err != nil {
		panic("live: " + err.Error())
	}
	return a
}

// UndoRule removes a rule. It returns false if no rule has this id.
func (e *Engine) UndoRule(ctx context.Context, id string) (undone bool, err error) {
	var r Rule
	a, err := e.append(ctx, true, func(w *writer) ([]entry, error) {
		i := slices.IndexFunc(w.rules, func(r Rule) bool { return r.ID == id })
		if i < 0 {
			return nil, nil
		}
		r = w.rules[i]
		return ruleEntry(ruled{r, true})
	})
	if undone = len(a.receipts) > 0; undone {
		e.countAnew(r)
	}
	return undone, err
}

func ruleEntry(r ruled) ([]entry, error) {
	one, err := newEntry(kindRule, "", &r)
	return []entry{one}, err
}
