package contract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
)

func TestSuccessors(t *testing.T) {
	object := []byte(`{"type":"object","properties":{"repo":{"type":"string"},"title":{"type":"string"}}}`)
	old := []catalog.Tool{
		{ID: "github:create_issue", Description: "Create an issue in a repository", InputSchema: object},
		{ID: "github:list_issues"}, // known from episodes alone
		{ID: "mail:send_message", Description: "Send a message"},
		{ID: "chat:post"}, {ID: "chat:read"},
	}
	now := []catalog.Tool{
		{ID: "gh:createIssue", Description: "Creates an issue in a repository.", InputSchema: object},
		{ID: "gh:create_comment", Description: "Create a comment on an issue", InputSchema: object},
		{ID: "gh:issues_list", Description: "List issues"},
		{ID: "calendar:send_invitation", Description: "Send an invitation to a meeting"},
		{ID: "talk:post", Description: "Post a message"}, {ID: "talk:read", Description: "Read messages"},
	}
	pairs := Successors(old, now)
	want := map[string]string{"github:create_issue": "gh:createIssue", "github:list_issues": "gh:issues_list", "chat:post": "talk:post", "chat:read": "talk:read"}
	got := map[string]string{}
	for i, p := range pairs {
		got[p.From] = p.To
		require.True(t, p.Score >= LeastAlike && p.Score <= 1 && (i == 0 || p.Score <= pairs[i-1].Score), "%v", p)
	}
	require.Equal(t, want, got)
	require.Equal(t, []Renamed{{"chat:*", "talk:*", 1}}, WholeServers(pairs)[:1])
	require.Len(t, WholeServers(pairs), 3, "the tools of github got other names")
	require.Len(t, WholeServers(append(pairs, Renamed{"chat:edit", "other:edit", 1})), 5, "the tools of chat went two ways")
}
