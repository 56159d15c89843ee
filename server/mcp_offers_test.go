package server

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	mcpserver "waymark/server/mcp"
)

// contentsOnly is an answer to resources/read as in revisions without caching.
type contentsOnly struct {
	mcp.ResultBase
	Contents []*mcp.ResourceContents `json:"contents"`
}

// withoutCaching has a server answer resources/read as in revisions without caching.
func withoutCaching(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		r, err := next(ctx, method, req)
		if read, ok := r.(*mcp.ReadResourceResult); ok && err == nil {
			return &contentsOnly{Contents: read.Contents}, nil
		}
		return r, err
	}
}

// A host sees the prompts and resources of a server through Waymark as it would directly, under names that hold the server.
func TestPromptsAndResourcesOfOthers(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			d := newFrontDesk(t)
			d.AddReceivingMiddleware(withoutCaching)
			read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "text of " + req.Params.URI}}}, nil
			}
			d.AddPrompt(&mcp.Prompt{Name: "welcome", Description: "Greets.", Arguments: []*mcp.PromptArgument{{Name: "guest", Required: true}}},
				func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
					return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
						{Role: "user", Content: &mcp.TextContent{Text: "Welcome <" + req.Params.Arguments["guest"] + ">"}},
						{Role: "user", Content: &mcp.ResourceLink{URI: "desk:///book", Name: "book"}},
					}}, nil
				})
			d.AddResource(&mcp.Resource{URI: "desk:///book", Name: "book", Meta: mcp.Meta{"shelf": "3"}}, read)
			d.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "desk:///page/{n}", Name: "page"}, read)
			mcp.AddTool(d.Server, &mcp.Tool{Name: "look", Icons: []mcp.Icon{{Source: "https://desk.example/eye.png"}}, Meta: mcp.Meta{"desk/drawer": "2"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Meta: mcp.Meta{"desk/light": true, "io.waymark/failure": "none"}, Content: []mcp.Content{&mcp.ResourceLink{URI: "desk:///page/7", Name: "page 7"}}}, nil, nil
			})
			s := officeBeside(t, d, 4, func(c *Config) { c.Upstream.Mode = mcpserver.ModeDirect })
			client := way.open(t, s, nil)
			prompts, err := client.ListPrompts(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, prompts.Prompts, 1)
			assert.Equal(t, "desk__welcome", prompts.Prompts[0].Name)
			assert.Equal(t, "guest", prompts.Prompts[0].Arguments[0].Name)
			prompt, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "desk__welcome", Arguments: map[string]string{"guest": "Ada"}})
			require.NoError(t, err)
			assert.Equal(t, "Welcome <Ada>", prompt.Messages[0].Content.(*mcp.TextContent).Text)
			assert.Equal(t, "waymark://desk/desk:///book", prompt.Messages[1].Content.(*mcp.ResourceLink).URI)

			resources, err := client.ListResources(t.Context(), nil)
			require.NoError(t, err)
			var uris []string
			for _, r := range resources.Resources {
				uris = append(uris, r.URI)
				if strings.HasSuffix(r.URI, "book") {
					assert.Equal(t, mcp.Meta{"shelf": "3"}, r.Meta)
				}
			}
			assert.Equal(t, []string{"ui://waymark/next", "ui://waymark/plan", "waymark://desk/desk:///book"}, uris)
			templates, err := client.ListResourceTemplates(t.Context(), nil)
			require.NoError(t, err)
			assert.Equal(t, "waymark://desk/desk:///page/{n}", templates.ResourceTemplates[0].URITemplate)
			look := call(t, client, "call_tool", map[string]any{"tool": "desk:look"})
			assert.Equal(t, true, look.Meta["desk/light"])
			assert.NotContains(t, look.Meta, "io.waymark/failure")
			tools, err := client.ListTools(t.Context(), nil)
			require.NoError(t, err)
			at := slices.IndexFunc(tools.Tools, func(tool *mcp.Tool) bool { return tool.Name == "desk__look" })
			assert.Equal(t, mcp.Meta{"desk/drawer": "2"}, tools.Tools[at].Meta)
			assert.Equal(t, "https://desk.example/eye.png", tools.Tools[at].Icons[0].Source)
			link := look.Content[0].(*mcp.ResourceLink).URI
			for _, uri := range []string{"waymark://desk/desk:///book", link} {
				got, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				require.NoError(t, err)
				assert.Equal(t, uri, got.Contents[0].URI)
				if client.InitializeResult().ProtocolVersion >= "2026-07-28" {
					assert.Equal(t, "private", got.CacheScope, "a required member")
				}
				assert.Equal(t, "text of "+strings.TrimPrefix(uri, "waymark://desk/"), got.Contents[0].Text)
			}
			for _, uri := range []string{"waymark://desk/desk:///none", "waymark://nobody/desk:///book", "desk:///book"} {
				_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				assert.Error(t, err, uri)
			}
			_, err = client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "desk__nothing"})
			assert.Error(t, err)

			d.AddPrompt(&mcp.Prompt{Name: "farewell"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return &mcp.GetPromptResult{}, nil
			})
			assert.Eventually(t, func() bool {
				p, err := client.ListPrompts(t.Context(), nil)
				text, _ := json.Marshal(p)
				return err == nil && strings.Contains(string(text), "desk__farewell")
			}, time.Minute, 10*time.Millisecond, "a changed list is read again")
		})
	}
}
