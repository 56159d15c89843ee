package importer

import (
	"encoding/json"
	"path"
	"strings"

	"waymark/episodic"
	"waymark/toolcall"
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
	return in.eachTrace(t, []string{".jsonl"}, emit, func(name string) func(line) {
		s := sessions{traces: t, name: strings.TrimSuffix(path.Base(name), path.Ext(name)), sides: map[string]string{}}
		return s.line
	})
}

// sessions is the state of reading one file.
type sessions struct {
	*traces
	name  string
	sides map[string]string // line of a sidechain → its subagent
}

type entry struct {
	Type        string `json:"type"`
	UUID        string `json:"uuid"`
	ParentUUID  string `json:"parentUuid"`
	SessionID   string `json:"sessionId"`
	AgentID     string `json:"agentId"`
	Timestamp   string `json:"timestamp"`
	IsSidechain bool   `json:"isSidechain"`
	IsMeta      bool   `json:"isMeta"`
	IsSummary   bool   `json:"isCompactSummary"`

	Message struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

func (s *sessions) line(l line) {
	var head struct {
		Type string `json:"type"`
	}
	if err := l.decode(&head); err != nil {
		s.drop(l.number, err)
		return
	}
	if head.Type != "user" && head.Type != "assistant" {
		if !claudeCodeNoise[head.Type] {
			s.skip()
		}
		return
	}
	var e entry
	if err := l.decode(&e); err != nil {
		s.drop(l.number, err)
		return
	}
	blocks, err := e.blocks()
	if err != nil {
		s.drop(l.number, err)
		return
	}
	at, _ := readTime(e.Timestamp) // what cannot be read is unknown
	th := s.of(&e)
	if e.Type == "assistant" {
		turn := e.Message.ID
		if turn == "" {
			turn = e.UUID
		}
		for _, b := range blocks {
			if b.Type == "tool_use" && b.ID != "" && b.Name != "" {
				th.call(call{line: l.number, id: b.ID, name: b.Name, arguments: b.Input, turn: turn, at: at})
			}
		}
		return
	}
	results := 0
	for _, b := range blocks {
		if b.Type == "tool_result" {
			results++
			r := result{outcome: episodic.Success, value: b.Content, at: at}
			if b.IsError {
				r.outcome, r.text = episodic.Failure, toolcall.Text(b.Content)
			}
			th.settle(b.ToolUseID, r)
		}
	}
	if results > 0 || e.IsMeta || e.IsSummary {
		return
	}
	if intent, ok := prompt(blocks); ok {
		th.ask(l.number, intent, at)
	}
}

// claudeCodeNoise are the types of lines that are known to say nothing of calls.
var claudeCodeNoise = map[string]bool{
	"summary": true, "system": true, "progress": true, "attachment": true, "file-history-snapshot": true, "queue-operation": true,
}

// blocks of a message; a text alone is one block.
func (e *entry) blocks() (blocks []block, err error) {
	if len(e.Message.Content) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(e.Message.Content, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	return blocks, readable(json.Unmarshal(e.Message.Content, &blocks))
}

// prompt is what a user asked for; not ok for what the program itself writes in the user's name.
func prompt(blocks []block) (intent string, ok bool) {
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" && !strings.HasPrefix(b.Text, "<system-reminder>") {
			texts = append(texts, b.Text)
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
func (s *sessions) of(e *entry) *thread {
	session, side := e.SessionID, ""
	if session == "" {
		session = s.name
	}
	if e.IsSidechain {
		switch side = e.AgentID; {
		case side != "":
		case s.sides[e.ParentUUID] != "":
			side = s.sides[e.ParentUUID]
		case e.UUID != "":
			side = e.UUID // the first line of a subagent
		default:
			side = "subagent"
		}
		if e.UUID != "" {
			s.sides[e.UUID] = side
		}
		return s.thread(session+"\x00"+side, session+"/"+side)
	}
	return s.thread(session, session)
}
