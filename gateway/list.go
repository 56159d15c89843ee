package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of one list.
const mostPages, mostTools = 64, 512

// list reads all tools and hands them on.
func (u *upstream) list(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, u.opts.ListTimeout)
	defer cancel()
	var tools []offered
	seen := map[string]bool{}
	cursor := ""
	for page := 0; ; page++ {
		if page == mostPages {
			return fmt.Errorf("the list does not end: more than %d pages", mostPages)
		}
		next, more, err := u.page(ctx, l, cursor)
		if err != nil {
			return err
		}
		for _, o := range next {
			if seen[o.tool.ID] {
				o = again(o)
			}
			if !seen[o.tool.ID] {
				seen[o.tool.ID] = true
				tools = append(tools, o)
			}
		}
		if len(tools) > mostTools {
			return fmt.Errorf("it lists more than %d tools", mostTools)
		}
		if more == "" {
			break
		}
		if more == cursor {
			return errors.New("the list does not end: a page leads to itself")
		}
		cursor = more
	}
	slices.SortFunc(tools, func(a, b offered) int { return strings.Compare(a.tool.ID, b.tool.ID) })
	return u.fresh(ctx, u, tools, u.offers(ctx, l))
}

func (u *upstream) page(ctx context.Context, l *link, cursor string) (tools []offered, next string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, x := withExchange(ctx)
	result, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	raw, ok := x.answer()
	if !ok {
		var said *jsonrpc.Error
		if errors.As(err, &said) && said.Code == jsonrpc.CodeMethodNotFound {
			return nil, "", nil // a server without tools
		}
		if err != nil {
			return nil, "", err
		}
		if raw, err = json.Marshal(result); err != nil { // the session still had it
			return nil, "", err
		}
	}
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor json.RawMessage   `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil || raw[0] != '{' {
		return nil, "", errors.New("its tools/list is no list of tools")
	}
	_ = json.Unmarshal(page.NextCursor, &next) // what is no text is no cursor
	for _, entry := range page.Tools {
		if isNull(entry) {
			continue
		}
		tools = append(tools, read(u.def.ID, entry))
	}
	return tools, next, nil
}
