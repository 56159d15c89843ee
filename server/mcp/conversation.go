package mcpserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/server/internal/api"
)

// conversationKeys are the members of _meta in which hosts name the conversation of a call: Codex, ChatGPT, OpenCode,
// Antigravity.
var conversationKeys = []string{"threadId", "openai/session", "ai.opencode/sessionID", "antigravity.google/conversation_id"}

func hostsName(req *mcp.CallToolRequest) string {
	for _, key := range conversationKeys {
		if name, _ := req.Params.Meta[key].(string); name != "" {
			return named(name)
		}
	}
	return ""
}

// sessionOf returns the conversation of a call, from the first of these that exists: the name given by the host; the
// conversation header, which a relay keeps for its process across the MCP sessions that it opens with one owner after
// another; the MCP session; the client program and its address.
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

// episodeSession returns the session of episodes that a caller records without one. It uses only names that stay the
// same for the next process and the next owner of the data directory, because the same episode may be sent again.
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

// named returns an external name in a form that can be stored: unchanged if it is valid, else its digest.
func named(name string) string {
	if name == "" || api.SourceName.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}
