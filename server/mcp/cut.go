package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/run"
	"waymark/server/internal/api"
)

// A result of an upstream server that is longer than Upstream.ResultLimit is cut: the host gets its beginning and a
// handle, and the model reads or searches the rest with read_result.
//
//	server ──▶ result ─ longer than the limit? ─▶ beginning + handle ──▶ host
//	                          │ whole text                                 │
//	                          ▼                                            ▼
//	                     keptResults ◀──────────────────────────────── read_result
const toolReadResult = "read_result"

// Limits of the kept results: the oldest are removed first.
const (
	keptCount = 64
	keptBytes = 32 << 20
	keptFor   = time.Hour
)

// mostFound and aroundFound limit the answer of a search: the matches, and the bytes on either side of each.
const mostFound, aroundFound = 20, 120

// metaResult is the key of _meta that names a cut result.
const metaResult = "io.waymark/result"

// keptResult is the text of a cut result.
type keptResult struct {
	handle, tool, text string
	owner              api.Access // only the same workspace and source may read it
	at                 time.Time
}

// keptResults are the cut results, by handle.
type keptResults struct {
	mu    sync.Mutex
	all   *simplelru.LRU[string, keptResult]
	bytes int
}

func newKeptResults() *keptResults {
	k := new(keptResults)
	k.all, _ = simplelru.NewLRU(keptCount, func(_ string, r keptResult) { k.bytes -= len(r.text) }) // fails only for size 0
	return k
}

func (k *keptResults) keep(r keptResult) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bytes += len(r.text)
	k.all.Add(r.handle, r)
	k.drop(r.at)
}

// drop removes results that are too old, or the oldest while all together are too large. The caller holds k.mu.
func (k *keptResults) drop(now time.Time) {
	for _, r, ok := k.all.GetOldest(); ok && (k.bytes > keptBytes || now.Sub(r.at) > keptFor); _, r, ok = k.all.GetOldest() {
		k.all.RemoveOldest()
	}
}

func (k *keptResults) find(handle string, a api.Access, now time.Time) (keptResult, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(now)
	r, ok := k.all.Peek(handle)
	return r, ok && r.owner.Workspace == a.Workspace && r.owner.Source == a.Source
}

// cut shortens a result that is longer than the limit. The text that counts is the structured result, if there is one,
// else the text blocks. Images and other blocks stay if each is within the limit; a note replaces a longer one.
func (m *mcpTools) cut(a api.Access, id string, r run.Result, out *mcp.CallToolResult) {
	limit := m.cfg.Upstream.ResultLimit
	if limit <= 0 || len(r.Content)+len(r.Structured) <= limit || len(r.NeedsInput) > 0 {
		return
	}
	text := string(r.Structured)
	var rest, notes []mcp.Content
	for _, c := range out.Content {
		b, ok := c.(block)
		var kind struct{ Type, Text string }
		switch {
		case !ok || json.Unmarshal(b.raw, &kind) != nil: // a block added by Waymark
			rest = append(rest, c)
		case kind.Type == "text":
			if len(r.Structured) == 0 {
				text += kind.Text + "\n"
			}
		case len(b.raw) > limit:
			rest = append(rest, note("a block of type %s with %d bytes is left out: results are cut at %d bytes (--result-limit).", catalog.ShownID(kind.Type), len(b.raw), limit))
		default:
			rest = append(rest, c)
		}
	}
	switch {
	case len(text) > limit:
		kept := keptResult{handle: "r_" + strings.ToLower(rand.Text())[:16], tool: id, text: text, owner: a, at: m.cfg.Now()}
		m.results.keep(kept)
		first := within(text, 0, limit)
		out.StructuredContent = nil
		out.Meta[metaResult] = map[string]any{"result": kept.handle, "bytes": len(text)}
		notes = []mcp.Content{&mcp.TextContent{Text: first}, note("these are the first %d of %d bytes of the result of %s. "+
			"Read on with %s {\"result\":%q,\"offset\":%d}, or search it with {\"result\":%q,\"find\":\"words\"}; it is kept for an hour.",
			len(first), len(text), catalog.ShownID(id), toolReadResult, kept.handle, len(first), kept.handle)}
	case len(r.Structured) == 0 && text != "": // the excess was in other blocks
		notes = []mcp.Content{&mcp.TextContent{Text: strings.TrimSuffix(text, "\n")}}
	}
	out.Content = append(notes, rest...)
}

// note returns a text block in which Waymark, not the server, speaks.
func note(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: "Waymark: " + fmt.Sprintf(format, args...)}
}

// within returns at most n bytes of a text from an offset, without partial characters at either end.
func within(text string, from, n int) string {
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	to := min(from+n, len(text))
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return text[from:to]
}

type readResultArguments struct {
	Result string `json:"result" doc:"The handle given in the shortened result."`
	Offset int    `json:"offset,omitempty" doc:"First byte to return; default 0."`
	Length int    `json:"length,omitempty" doc:"Maximum number of bytes; default and upper limit: the result limit."`
	Find   string `json:"find,omitempty" doc:"Text to search for from the offset on, ignoring case. Returns its positions with the surrounding text."`
}

// ReadResultAnswer is the answer of read_result.
type ReadResultAnswer struct {
	Text  string        `json:"text,omitempty" doc:"The requested part."`
	Next  int           `json:"next_offset,omitempty" doc:"Offset of the next part; absent at the end."`
	Bytes int           `json:"bytes" doc:"Length of the whole result."`
	Found []foundResult `json:"found,omitempty" doc:"Positions at which the text was found."`

	message string
}

type foundResult struct {
	Offset int    `json:"offset"`
	Text   string `json:"text" doc:"The position with the surrounding text."`
}

func (m *mcpTools) readResult(ctx context.Context, q *struct{ Body readResultArguments }) (answer ReadResultAnswer, err error) {
	in, limit := q.Body, m.cfg.Upstream.ResultLimit
	kept, ok := m.results.find(in.Result, api.From(ctx), m.cfg.Now())
	switch {
	case in.Result == "":
		return answer, api.WrongField("result", "is required")
	case !ok:
		return answer, api.WrongField("result", fmt.Sprintf("%q is not kept, or no longer; call the tool again", catalog.ShownID(in.Result)))
	case in.Offset < 0 || in.Offset > len(kept.text):
		return answer, api.WrongField("offset", fmt.Sprintf("must be from 0 to %d", len(kept.text)))
	case in.Length < 0 || in.Length > limit:
		return answer, api.WrongField("length", fmt.Sprintf("must be from 1 to %d", limit))
	case in.Length == 0:
		in.Length = limit
	}
	answer.Bytes = len(kept.text)
	of := " the result of " + catalog.ShownID(kept.tool) + "."
	if in.Find != "" {
		answer.find(kept.text, in)
		answer.message = catalog.Plural(len(answer.Found), "place") + " in" + of
		if answer.Next > 0 {
			answer.message = "The first " + answer.message
		}
		return answer, nil
	}
	answer.Text = within(kept.text, in.Offset, in.Length)
	if answer.Next = in.Offset + len(answer.Text); answer.Text == "" || answer.Next >= len(kept.text) {
		answer.Next = 0
	}
	answer.message = fmt.Sprintf("%d of %d bytes of", len(answer.Text), len(kept.text)) + of
	return answer, nil
}

// find lists the places of a text from the offset on. The comparison ignores case if lower case does not change the
// length of the text; otherwise it is exact, so that offsets stay valid.
func (r *ReadResultAnswer) find(text string, in readResultArguments) {
	folded, wanted := strings.ToLower(text), strings.ToLower(in.Find)
	if len(folded) != len(text) {
		folded, wanted = text, in.Find
	}
	for at := in.Offset; ; {
		i := strings.Index(folded[at:], wanted)
		if i < 0 {
			return
		}
		if at += i; len(r.Found) == mostFound {
			r.Next = at
			return
		}
		r.Found = append(r.Found, foundResult{at, within(text, max(0, at-aroundFound), len(wanted)+2*aroundFound)})
		at += len(wanted)
	}
}
