package server

import (
	"context"
	"encoding/json"

	"waymark/score/judge"
)

// Replies of judges are kept in the table of their workspace, so that the same question costs nothing after a
// restart, and go with it. The first three digits of a question's hash choose the row, so there are at most 4,096;
// a new reply replaces an older one in its row.
const (
	replyRow     = "judge/"
	longestReply = 64 << 10 // bytes; longer ones are not kept
)

// keptReply is one row. The key is the hash of the endpoint, the model and the whole question.
type keptReply struct {
	Key   string `json:"key"`
	Reply string `json:"reply"`
}

// keptReplies is the [judge.Cache] of a workspace. A row that cannot be read or written costs a question, no more.
type keptReplies struct {
	config    Config
	ctx       context.Context
	workspace string
}

func (c Config) keptReplies(ctx context.Context, workspace string) judge.Cache {
	return keptReplies{c, context.WithoutCancel(ctx), workspace}
}

func (k keptReplies) Get(key string) (string, bool) {
	table, err := k.config.Store.Table(k.workspace)
	if err != nil {
		return "", false
	}
	value, _, err := table.Get(k.ctx, replyRow+key[:3])
	var row keptReply
	if err != nil || json.Unmarshal(value, &row) != nil || row.Key != key {
		return "", false
	}
	return row.Reply, true
}

func (k keptReplies) Put(key, reply string) {
	table, err := k.config.Store.Table(k.workspace)
	if err != nil || len(reply) > longestReply {
		return
	}
	if value, err := json.Marshal(keptReply{key, reply}); err == nil {
		_, _ = table.Put(k.ctx, replyRow+key[:3], value)
	}
}
