package mcpserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/server/internal/api"
)

// conversationKeys are the members of _meta by which hosts name the conversation of a call: Codex, ChatGPT,
// OpenCode, Antigravity.
var conversationKeys = []string{"threadId", "openai/session", "ai.opencode/sessionID", "antigravity.google/conversation_id"}

func hostsName(req *mcp.CallToolRequest) string {
	for _, key := range conversationKeys {
		if name, _ := req.Params.Meta[key].(string); name != "" {
			return named(name)
		}
	}
	return ""
}

// sessionOf names the conversation of a call: as the host does, by the header, as the process at the other end of a
// pipe does, which outlives the MCP sessions that it opens with one owner after another, or by the MCP session; where
// nothing does, it is the program at the other end.
func sessionOf(req *mcp.CallToolRequest, a api.Access) string {
	if name := cmp.Or(hostsName(req), named(a.Conversation), req.Session.ID()); name != "" {
		return name
	}
	program := programOf(req)
	if a.Peer == "" {
		return program
	}
	return program + " at " + a.Peer
}

// episodeSession is the session of episodes that a caller records without naming one: no name that the next process, or the
// next owner of the data directory, has not, since the same episode may come again.
func episodeSession(req *mcp.CallToolRequest, a api.Access) string {
	session := ""
	if a.Conversation == "" {
		session = req.Session.ID()
	}
	return cmp.Or(hostsName(req), session, programOf(req))
}

func programOf(req *mcp.CallToolRequest) string {
	if info := req.ClientInfo(); info != nil {
		return catalog.Cut(info.Name, 128)
	}
	return ""
}

// named is a name that came from outside as it can be stored.
func named(name string) string {
	if name == "" || api.SourceName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}
