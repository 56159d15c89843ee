package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/catalog"
	"waymark/episodic"
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
	begun := map[string]bool{}
	return in.eachFile("claude-code", []string{".jsonl"}, func(name string) (more bool, err error) {
		f, err := in.open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		more = true
		s := sessions{
			resolver: in.opts.Resolver, begun: begun,
			name:   strings.TrimSuffix(path.Base(name), path.Ext(name)),
			chains: map[string]*chain{}, sides: map[string]string{},
			emit: func(it Item) {
				it.File = name
				more = more && emit(it)
			},
		}
		if s.resolver == nil {
			s.resolver = catalog.NewResolver(nil)
		}
		err = eachLine(f, func(l line) bool { s.line(l); return more })
		for _, key := range s.order {
			s.end(s.chains[key])
		}
		return more, err
	})
}

// sessions is the state of reading one file.
type sessions struct {
	resolver *catalog.Resolver
	begun    map[string]bool // first calls of episodes, over all files: a resumed session repeats them
	name     string
	emit     func(Item)
	chains   map[string]*chain
	order    []string          // of chains, by first line
	sides    map[string]string // line of a sidechain → its chain
}

// chain is one thread of turns: the session itself, or a subagent in it.
type chain struct {
	session string
	episode *episodic.Episode // the one being read
	line    int
	calls   map[string]int // call id → step
	started []time.Time    // of each step
	first   string         // call id
	problem string
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

	time    time.Time // of Timestamp, zero if there is none
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
	drop := func(err error) {
		it := Item{Line: l.number}
		it.drop(err.Error())
		s.emit(it)
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := l.decode(&head); err != nil {
		drop(err)
		return
	}
	if head.Type != "user" && head.Type != "assistant" {
		return
	}
	var e entry
	if err := l.decode(&e); err != nil {
		drop(err)
		return
	}
	blocks, err := e.blocks()
	if err != nil {
		drop(err)
		return
	}
	e.time, _ = readTime(e.Timestamp) // what cannot be read is unknown
	c := s.chain(&e)
	if e.Type == "assistant" {
		group := e.Message.ID
		if group == "" {
			group = e.UUID
		}
		for _, b := range blocks {
			if b.Type == "tool_use" && b.ID != "" && b.Name != "" {
				s.call(c, l.number, &e, b, group)
			}
		}
		return
	}
	results := 0
	for _, b := range blocks {
		if b.Type == "tool_result" {
			results++
			c.result(b, e.time)
		}
	}
	if results > 0 || e.IsMeta || e.IsSummary {
		return
	}
	if intent, ok := prompt(blocks); ok {
		s.end(c)
		c.begin(l.number, intent, e.time)
	}
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

// chain finds the thread that a line belongs to.
func (s *sessions) chain(e *entry) *chain {
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
	}
	key := session + "\x00" + side
	c := s.chains[key]
	if c == nil {
		c = &chain{session: session}
		if side != "" {
			c.session = session + "/" + side
		}
		s.chains[key] = c
		s.order = append(s.order, key)
	}
	return c
}

func (c *chain) begin(line int, intent string, at time.Time) {
	*c = chain{session: c.session, line: line, calls: map[string]int{}}
	c.episode = &episodic.Episode{Intent: intent, Time: at, Session: c.session}
}

func (s *sessions) call(c *chain, line int, e *entry, b block, group string) {
	if c.episode == nil { // the file begins in the middle
		c.begin(line, "", e.time)
	}
	if _, again := c.calls[b.ID]; again {
		return
	}
	tool, shape, err := unwrapCall(s.resolver, b.Name, b.Input)
	if err != nil && c.problem == "" {
		c.problem = err.Error()
	}
	if c.first == "" {
		c.first = b.ID
	}
	if c.episode.Time.IsZero() {
		c.episode.Time = e.time
	}
	c.calls[b.ID] = len(c.episode.Steps)
	c.started = append(c.started, e.time)
	c.episode.Steps = append(c.episode.Steps, episodic.Step{Tool: tool, Shape: shape, Group: group, Outcome: episodic.Unknown})
}

func (c *chain) result(b block, at time.Time) {
	i, ok := c.calls[b.ToolUseID]
	if !ok {
		return
	}
	step := &c.episode.Steps[i]
	step.Outcome = episodic.Success
	if b.IsError {
		step.Outcome, step.ErrorKind = episodic.Failure, errorKind(plainText(b.Content))
	}
	if started := c.started[i]; !started.IsZero() && at.After(started) {
		step.DurationMS = at.Sub(started).Milliseconds()
	}
}

// plainText of a result: a text, or the texts among its blocks.
func plainText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var blocks []block
	_ = json.Unmarshal(content, &blocks) // anything else has no text
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

// end hands on the episode of a chain, if it has a call.
func (s *sessions) end(c *chain) {
	e := c.episode
	c.episode = nil
	if e == nil || len(e.Steps) == 0 {
		return
	}
	sum := sha256.Sum256([]byte("claude-code\x00" + c.session + "\x00" + c.first))
	e.ID = "cc-" + hex.EncodeToString(sum[:16])
	numberGroups(e.Steps)
	it := Item{Line: c.line, Kind: KindEpisode, ID: e.ID, Episode: e}
	switch {
	case s.begun[c.first]:
		it.Episode, it.Duplicate = nil, true
	case c.problem != "":
		it.drop(fmt.Sprintf("episode %q: %s", e.ID, c.problem))
	}
	s.begun[c.first] = true
	s.emit(it)
}

// numberGroups leaves only groups of several calls, and numbers them.
func numberGroups(steps []episodic.Step) {
	size := map[string]int{}
	for _, s := range steps {
		size[s.Group]++
	}
	var groups []string
	for i, s := range steps {
		if s.Group == "" || size[s.Group] < 2 {
			steps[i].Group = ""
			continue
		}
		n := slices.Index(groups, s.Group)
		if n < 0 {
			n = len(groups)
			groups = append(groups, s.Group)
		}
		steps[i].Group = strconv.Itoa(n + 1)
	}
}
