package scoring

import (
	"context"

	"waymark/score"
	"waymark/server/internal/api"
)

// Replies of judges are stored in the table of their workspace, so that a repeated request costs nothing after a
// restart, and are deleted with it. The first three digits of the hash of a request choose the row, so there are at
// most 4,096 rows; a new reply replaces the older one in its row.
const longestReply = 64 << 10 // bytes; longer ones are not stored

// keptReply is one row. Key is the hash of the endpoint, the model and the whole request.
type keptReply struct {
	Key   string `json:"key"`
	Reply string `json:"reply"`
}

// keptReplies implements [score.Cache] for a workspace. If a row cannot be read or written, the judge is asked again.
type keptReplies struct {
	ctx  context.Context
	rows api.Rows[keptReply]
}

func (c *Service) keptReplies(ctx context.Context, workspace string) score.Cache {
	return keptReplies{context.WithoutCancel(ctx), c.replies(workspace)}
}

func (c *Service) replies(workspace string) api.Rows[keptReply] {
	return api.Rows[keptReply]{Table: c.Store.Table(workspace), Prefix: "judge/"}
}

func (k keptReplies) Get(key string) (string, bool) {
	row, err := k.rows.Get(k.ctx, key[:3])
	return row.Value.Reply, err == nil && row.Value.Key == key
}

func (k keptReplies) Put(key, reply string) {
	if len(reply) <= longestReply {
		_ = k.rows.Set(k.ctx, key[:3], keptReply{key, reply}, nil)
	}
}
