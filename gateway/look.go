package gateway

import (
	"context"
	"fmt"

	"waymark/catalog"
)

// Look starts or reaches a server, lists its tools as it offers them now, and leaves it. Nothing is pinned or kept.
// unusable says of each tool that cannot be used why.
func Look(ctx context.Context, d Definition, o Options) (tools []catalog.Tool, unusable map[string]string, err error) {
	if err := d.Check(); err != nil {
		return nil, nil, err
	}
	unusable = map[string]string{}
	u := newUpstream(d, o.filled(), func(_ context.Context, _ *upstream, offers []offered) error {
		for _, offer := range offers {
			if offer.wrong != "" {
				unusable[offer.tool.ID] = offer.wrong
			} else {
				tools = append(tools, offer.tool)
			}
		}
		return nil
	})
	starting, cancel := context.WithTimeout(ctx, u.opts.StartTimeout)
	defer cancel()
	l, err := u.connect(starting)
	if err != nil {
		return nil, nil, fmt.Errorf("server %s did not start: %w", d.ID, err)
	}
	defer u.close(l, false)
	if err := u.list(ctx, l); err != nil {
		return nil, nil, fmt.Errorf("the tools of server %s could not be listed: %w", d.ID, err)
	}
	return tools, unusable, nil
}
