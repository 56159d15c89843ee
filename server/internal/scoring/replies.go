package scoring

import (
	"context"

	"waymark/score"
	"waymark/server/internal/api"
)

// Replies of judges are kept in the table of their workspace, so that the same question costs nothing after a
// restart, and go with it. The first three digits of a question's hash choose the row, so there are at most 4,096;
// a new reply replaces an older one in its row.
const longestReply = 64 << 10 // bytes; longer ones are not kept

// keptReply is one row. The key is the hash of the endpoint, the model and the whole question.
type keptReply struct {
	Key   string `json:"key"`
	Reply string `json:"reply"`
}

// keptReplies is the [score.Cache] of a workspace. A row that cannot be read or written costs a question, no more.
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
