package scoring

import (
	"context"
	"encoding/json"
	"time"

	"waymark/score"
	"waymark/server/internal/api"
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

// keptReplies is the [score.Cache] of a workspace. A row that cannot be read or written costs a question, no more.
type keptReplies struct {
	service   *Service
	ctx       context.Context
	workspace string
}

func (c *Service) keptReplies(ctx context.Context, workspace string) score.Cache {
	return keptReplies{c, context.WithoutCancel(ctx), workspace}
}

func (k keptReplies) Get(key string) (string, bool) {
	table := k.service.Store.Table(k.workspace)
	value, _, err := table.Get(k.ctx, replyRow+key[:3])
	var row keptReply
	if err != nil || json.Unmarshal(value, &row) != nil || row.Key != key {
		return "", false
	}
	return row.Reply, true
}

func (k keptReplies) Put(key, reply string) {
	if value, err := json.Marshal(keptReply{key, reply}); err == nil && len(reply) <= longestReply {
		_ = k.service.Store.Table(k.workspace).Put(k.ctx, replyRow+key[:3], value)
	}
}

// logScores adds a run to the log, if its answer has anything to log.
func (c *Service) logScores(ctx context.Context, a api.Access, run, id string, at time.Time, out any) error {
	logged, ok := out.(score.Logged)
	if !ok {
		return nil
	}
	table := c.Store.Table(a.Workspace)
	return scoreLog{table}.add(ctx, ScoreLog{Run: run, Time: at, Scorer: id, Source: a.Source, Entries: logged.Entries()})
}
