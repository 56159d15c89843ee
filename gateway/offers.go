package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Prompts and resources of servers are passed on with the id of the server in each name:
//
//	prompt review of server github    →  github__review
//	resource file:///a of server disk →  waymark://disk/file:///a
//
// Items and answers keep all members, known to the protocol or not.

// Offers are the prompts, resources and resource templates that a server lists, by the name of the list in the
// protocol.
type Offers map[string][]json.RawMessage

// The keys of [Offers].
const (
	Prompts   = "prompts"
	Resources = "resources"
	Templates = "resourceTemplates"
)

// mostOffers is the maximum number of items in one list, mostOfferBytes the maximum size of all lists of a server.
// Items beyond these limits are dropped.
const mostOffers, mostOfferBytes = 512, 256 << 10

const uriPrefix = "waymark://"

// offers reads the prompts and resources of a server. If a list cannot be read or is too long, it keeps the items
// before.
func (u *upstream) offers(ctx context.Context, l *link) Offers {
	o, left := Offers{}, mostOfferBytes
	can := &mcp.ServerCapabilities{}
	if info := l.session.InitializeResult(); info != nil && info.Capabilities != nil {
		can = info.Capabilities
	}
	ctx, cancel := context.WithTimeout(ctx, u.opts.ListTimeout)
	defer cancel()
	for _, list := range []string{Prompts, Resources, Templates} {
		if list == Prompts && can.Prompts == nil || list != Prompts && can.Resources == nil {
			continue
		}
		items, _ := l.pages(ctx, list, func(n, size int) bool { return n <= mostOffers && size <= left })
		for _, item := range items {
			left -= len(item)
		}
		if len(items) > 0 {
			o[list] = items
		}
	}
	return o
}

// page requests one page of a list.
func (l *link) page(ctx context.Context, list, cursor string) (json.RawMessage, error) {
	switch list {
	case Prompts:
		return rawOf(l.session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor}))
	case Resources:
		return rawOf(l.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor}))
	case Templates:
		return rawOf(l.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor}))
	}
	return rawOf(l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor}))
}

// Offers lists the prompts, resources or resource templates of all agreed servers, by the names that [Gateway.Prompt]
// and [Gateway.Resource] take. It starts no server: the lists are read whenever the tools of a server are listed.
func (g *Gateway) Offers(list string) (all []json.RawMessage) {
	key := map[string]string{Prompts: "name", Resources: "uri", Templates: "uriTemplate"}[list]
	g.mu.Lock()
	servers := slices.Sorted(maps.Keys(g.ups))
	g.mu.Unlock()
	for _, server := range servers {
		for _, item := range g.register.kept.Load().offers(server)[list] {
			if named := prefixed(item, key, prefixOf(list, server)); named != nil {
				all = append(all, named)
			}
		}
	}
	return all
}

func prefixOf(list, server string) string {
	if list == Prompts {
		return server + "__"
	}
	return uriPrefix + server + "/"
}

// prefixed adds a prefix to a member of an object. It returns nil if the member is not a non-empty string.
func prefixed(object json.RawMessage, key, prefix string) json.RawMessage {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(object, &members) != nil || json.Unmarshal(members[key], &text) != nil || text == "" {
		return nil
	}
	members[key], _ = json.Marshal(prefix + text) // a text always encodes
	return encoded(members)
}

// encoded returns JSON without HTML escapes.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // was JSON before
	return bytes.TrimSpace(b.Bytes())
}

// Prompt returns the result of prompts/get from the server whose id begins the name; [ErrUnknown] if there is none.
func (g *Gateway) Prompt(ctx context.Context, name string, arguments map[string]string) (json.RawMessage, error) {
	return g.asked(ctx, Prompts, "messages", name, func(ctx context.Context, s *mcp.ClientSession, name string) (json.RawMessage, error) {
		return rawOf(s.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: arguments}))
	})
}

// Resource returns the result of resources/read from the server that the URI names; [ErrUnknown] if there is none.
func (g *Gateway) Resource(ctx context.Context, uri string) (json.RawMessage, error) {
	return g.asked(ctx, Resources, "contents", uri, func(ctx context.Context, s *mcp.ClientSession, uri string) (json.RawMessage, error) {
		return rawOf(s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}))
	})
}

// asked sends a request to the server whose id begins the name, with the rest of the name. In the named list of the
// answer, it rewrites links to the form that [Gateway.Resource] takes.
func (g *Gateway) asked(ctx context.Context, offers, list, name string,
	ask func(context.Context, *mcp.ClientSession, string) (json.RawMessage, error)) (json.RawMessage, error) {
	g.mu.Lock()
	var up *upstream
	server := ""
	for id, s := range g.ups { // an id can begin with another: the longest counts
		if prefix := prefixOf(offers, id); strings.HasPrefix(name, prefix) && len(id) > len(server) {
			server, up = id, s
		}
	}
	g.mu.Unlock()
	if up == nil {
		return nil, ErrUnknown
	}
	l, leave, why := up.enter(ctx)
	defer leave()
	if l == nil {
		return nil, errors.Join(ctx.Err(), errors.New(why.Message))
	}
	ctx, cancel := context.WithTimeout(ctx, up.opts.CallTimeout)
	defer cancel()
	raw, err := ask(ctx, l.session, strings.TrimPrefix(name, prefixOf(offers, server)))
	var answer map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &answer) != nil || answer[list] == nil {
		return raw, err
	}
	answer[list] = Linked(server, answer[list])
	return encoded(answer), nil
}

// Linked rewrites the links in content to the form that [Gateway.Resource] takes. content is a content block, a message
// of a prompt, a content of a resource, or a list of these.
func Linked(server string, content json.RawMessage) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(content, &items) == nil && items != nil {
		for i, item := range items {
			items[i] = Linked(server, item)
		}
		return encoded(items)
	}
	var b map[string]json.RawMessage
	if json.Unmarshal(content, &b) != nil {
		return content
	}
	switch kind := string(b["type"]); {
	case kind == `"resource"` && b["resource"] != nil:
		b["resource"] = Linked(server, b["resource"])
		return encoded(b)
	case kind == "" && b["content"] != nil: // a message
		b["content"] = Linked(server, b["content"])
		return encoded(b)
	case kind == "", kind == `"resource_link"`:
		if named := prefixed(content, "uri", prefixOf(Resources, server)); named != nil {
			return named
		}
	}
	return content
}
