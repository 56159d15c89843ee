// Package ledger keeps account of what it costs an agent to look for tools instead of having all of
// them in its prompt.
//
//	gross      = definitions of all tools − definitions that are listed instead
//	spent      = Σ over the turns of discovery: the question, the answer, and the frame of a call
//	net        = gross − spent
//	break-even = how many such turns cost as much as listing everything
//
// Bytes are measured. Tokens are estimated, a quarter of the bytes, and so is the frame: what a host
// writes around a call and its result. All of it stays in the conversation, as definitions do, so each
// is counted once; what a prompt cache saves on either side is left out.
package ledger

const (
	bytesPerToken = 4  // a common estimate for English and JSON
	frameTokens   = 40 // of one call: its id, its name, the roles of two messages
)

// Tokens estimates how many tokens so many bytes are.
func Tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// Conversation is what was listed, asked and answered in one conversation, in bytes.
type Conversation struct {
	Baseline int // definitions of all tools
	Listed   int // definitions that the host gets instead
	Asked    int // arguments of the calls that looked for tools
	Answered int // their answers
	Turns    int // how many calls these were
}

// Ask adds a turn of discovery.
func (c *Conversation) Ask(asked, answered int) {
	c.Turns++
	c.Asked += asked
	c.Answered += answered
}

// Balance is the account in tokens.
type Balance struct {
	Turns     int `json:"discovery_turns" jsonschema:"calls that looked for tools, so far in this conversation"`
	Gross     int `json:"gross_tokens" jsonschema:"definitions avoided: all tools, less those listed instead"`
	Spent     int `json:"spent_tokens" jsonschema:"questions, answers and frames of the calls that looked for tools"`
	Net       int `json:"net_tokens" jsonschema:"gross less spent; negative when listing everything would have been cheaper"`
	BreakEven int `json:"break_even_turns" jsonschema:"after how many such calls listing everything would have been cheaper; 0 where it always is"`
}

// Balance of one conversation.
func (c Conversation) Balance() Balance {
	b := Balance{
		Turns: c.Turns,
		Gross: Tokens(c.Baseline) - Tokens(c.Listed),
		Spent: Tokens(c.Asked) + Tokens(c.Answered) + c.Turns*frameTokens,
	}
	b.close()
	return b
}

func (b *Balance) close() {
	b.Net, b.BreakEven = b.Gross-b.Spent, 0
	if b.Gross > 0 && b.Spent > 0 {
		// Turns that cost as much as those so far: as many as fit into what was avoided.
		b.BreakEven = int(int64(b.Gross) * int64(b.Turns) / int64(b.Spent))
	}
}

// Plus adds the account of other conversations.
func (b Balance) Plus(other Balance) Balance {
	b.Turns += other.Turns
	b.Gross += other.Gross
	b.Spent += other.Spent
	b.close()
	return b
}

// Minus takes an account that is part of this one out of it.
func (b Balance) Minus(part Balance) Balance {
	b.Turns -= part.Turns
	b.Gross -= part.Gross
	b.Spent -= part.Spent
	b.close()
	return b
}
