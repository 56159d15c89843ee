package ingest

import (
	"cmp"
	"strings"
)

// A Claude Code session is a file of lines, one event each. Of these only user and assistant matter:
//
//	user       content "Fix the build"                          a prompt: an episode begins
//	assistant  message.id m1, content [tool_use a]              a call
//	assistant  message.id m1, content [tool_use b]              the same message: a and b are parallel
//	user       content [tool_result a, is_error false]          a worked
//	user       content [tool_result b, is_error true, "…"]      b failed
//
// A call without a result has an unknown outcome. The calls of a subagent (isSidechain, in the same
// file or one of its own) are episodes of their own, since they were another's decisions. The id of an
// episode is a hash of the session and its first call, so that reading again finds the same.
//
// The format is not documented by its maker and changes: what is not understood is passed over.
func decodeClaudeCode(in *input, emit func(Item) bool) error {
	t := in.traces("claude-code")
	return in.eachDocument(t, emit, func(name string) func(int, *document) {
		s := sessions{traces: t, name: name, sides: map[string]string{}}
		return s.line
	})
}

// sessions is the state of reading one file.
type sessions struct {
	*traces
	name  string
	sides map[string]string // line of a sidechain → its subagent
}

var claudeCodeRules = []rule{
	{kinds: "tool_use", id: []string{"id"}, tool: []string{"name"}, arguments: []string{"input"}},
	{kinds: "tool_result", id: []string{"tool_use_id"}, result: (&outcome{
		failed: []string{"is_error=true"}, worked: []string{""}, failure: []string{"content"}, value: []string{"content"}}).read},
}

func (s *sessions) line(number int, d *document) {
	kind := d.text("type")
	if kind != "user" && kind != "assistant" {
		if !claudeCodeNoise[kind] {
			s.skip()
		}
		return
	}
	blocks, err := d.blocks("message.content")
	if err != nil {
		s.drop(number, err)
		return
	}
	at := d.time("timestamp")
	turn := ""
	if kind == "assistant" {
		turn = d.text("message.id", "uuid")
	}
	th, calls := s.of(d), false
	for _, b := range blocks {
		calls = th.apply(claudeCodeRules, b.text("type"), b, call{line: number, turn: turn, at: at}) || calls
	}
	if kind == "assistant" || calls || holds(d, []string{"isMeta=true", "isCompactSummary=true"}) {
		return
	}
	if intent, ok := prompt(blocks); ok {
		th.ask(number, intent, at)
	}
}

// claudeCodeNoise are the types of lines that are known to say nothing of calls.
var claudeCodeNoise = map[string]bool{
	"summary": true, "system": true, "progress": true, "attachment": true, "file-history-snapshot": true, "queue-operation": true,
}

// prompt is what a user asked for; not ok for what the program itself writes in the user's name.
func prompt(blocks []*document) (intent string, ok bool) {
	var texts []string
	for _, b := range blocks {
		if text := b.text("text"); b.text("type") == "text" && !strings.HasPrefix(text, "<system-reminder>") {
			texts = append(texts, text)
		}
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	for _, own := range []string{"<local-command", "<bash-", "[Request interrupted", "Caveat: The messages below"} {
		if strings.HasPrefix(text, own) {
			return "", false
		}
	}
	if strings.HasPrefix(text, "<command-") { // a slash command, in tags
		text = strings.TrimSpace(between(text, "<command-name>", "</command-name>") + " " + between(text, "<command-args>", "</command-args>"))
	}
	return text, text != ""
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, ok := strings.Cut(s, to)
	if !ok {
		return ""
	}
	return s
}

// of finds the thread that a line belongs to.
func (s *sessions) of(d *document) *thread {
	session := cmp.Or(d.text("sessionId"), s.name)
	if !holds(d, []string{"isSidechain=true"}) {
		return s.thread(session, session)
	}
	uuid := d.text("uuid") // of the first line of a subagent, if nothing names it
	side := cmp.Or(d.text("agentId"), s.sides[d.text("parentUuid")], uuid, "subagent")
	if uuid != "" {
		s.sides[uuid] = side
	}
	return s.thread(session+"\x00"+side, session+"/"+side)
}
