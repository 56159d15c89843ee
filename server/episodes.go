package server

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/ingest"
	"waymark/internal/codec"
	"waymark/live"
	"waymark/server/internal/api"
	"waymark/server/internal/scoring"
)

type recordResult struct {
	Accepted   int `json:"accepted" doc:"Episodes that were added or extended; they are durable."`
	Duplicates int `json:"duplicates" doc:"Already recorded with the same or more content."`
	Rejections
	Seq uint64 `json:"seq" doc:"The last event written. A question with this min_seq counts it."`
}

type feedbackAnswer struct {
	Seq uint64 `json:"seq" doc:"The event that was written."`
}

func (s *Server) episodeRoutes(r *api.Table) {
	api.AddForWorkspace(r, api.Rule{Scope: api.ScopeWrite, Stream: true, Also: ndjson, CreatesWorkspace: true}, huma.Operation{
		OperationID: "record", Method: http.MethodPost, Path: "/v1/episodes", Tags: []string{"History"}, Summary: "Record episodes",
		Description: "One episode as application/json, a list of them or {\"episodes\": […]}, or any number as application/x-ndjson, one a line. Same id and same content count once; " +
			"same id and other content is refused, except for an episode of a session that is sent again with more steps at its end: it grows. A single episode that is refused is an error; of many, each rejected one has its reason."}, s.record)
	write := api.Rule{Scope: api.ScopeWrite, CreatesWorkspace: true}
	episode := r.Schemas().Schema(reflect.TypeFor[episodic.Episode](), true, "Episode")
	api.DocumentBody(r, "/v1/episodes", http.MethodPost, map[string]*huma.Schema{"application/json": {OneOf: []*huma.Schema{episode, {Type: "array", Items: episode},
		{Type: "object", Properties: map[string]*huma.Schema{"episodes": {Type: "array", Items: episode}}, Required: []string{"episodes"}, AdditionalProperties: false}}}, ndjson: {Type: "string"}})

	r.Tools = append(r.Tools, api.NewTool(api.Tool{Rule: write, Name: "record_episode", Title: "Record an episode",
		Description: "Record a finished task: its intent, the tools used in order, and how they went. Call it once a task; repeating it with the same id changes nothing. " +
			"Do not put argument values or results into it."}, api.ForWorkspace(r, write, recordTool), recordedText))
	api.AddForWorkspace(r, write, huma.Operation{
		OperationID: "feedback", Method: http.MethodPost, Path: "/v1/feedback", Tags: []string{"History"}, Summary: "Report the outcome of a suggestion",
		Description: "Names a suggestion by its id, or by context and id."}, s.feedback)
}

// recorded is the answer of record_episode.
type recorded struct {
	live.RecordResult
	ID string `json:"id"` // under which the episode is stored
}

// recordTool records a finished task and waits up to waitForSeq until the model counts it, for the next request of the
// conversation. It sets an id and a session if the episode has none.
func recordTool(ctx context.Context, e *live.Engine, q *question[episodic.Episode]) (out recorded, err error) {
	a, episode := api.From(ctx), claimed(q.Body)
	if episode.Session = cmp.Or(episode.Session, a.Session); episode.ID == "" {
		content, err := json.Marshal(episode)
		if err != nil {
			return out, err
		}
		episode.ID = scoring.EpisodeID("mcp-", e, content)
	}
	if out.RecordResult, err = recordOne(ctx, e, a.Source, episode); err != nil {
		return out, err
	}
	out.ID = episode.ID
	if err = waitCounted(ctx, e, out.Seq); errors.Is(err, live.ErrNotYet) {
		err = nil
	}
	return out, err
}

func recordedText(q *question[episodic.Episode], r recorded) string {
	if r.Duplicates > 0 {
		return catalog.ShownID(r.ID) + " was recorded before; nothing changed."
	}
	return fmt.Sprintf("Recorded %s as %s.", catalog.Plural(len(q.Body.Steps), "step"), catalog.ShownID(r.ID))
}

func (s *Server) record(ctx context.Context, e *live.Engine, in *api.RawInput) (none recordResult, err error) {
	r := in.Request
	source := api.From(ctx).Source
	each := func(visit lineVisitor) error { return eachLine(r.Body, int(s.cfg.MaxBody), visit) }
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != ndjson {
		data, err := api.JsonBody(r)
		if err != nil {
			return none, err
		}
		list, err := episodeList(data)
		if err != nil {
			return none, err
		}
		if list == nil {
			episode, err := decodeEpisode(data)
			if err != nil {
				return none, err
			}
			res, err := recordOne(ctx, e, source, episode)
			return recordResult{Accepted: res.Accepted, Duplicates: res.Duplicates, Seq: res.Seq}, err
		}
		each = func(visit lineVisitor) error {
			for i, one := range list {
				if err := visit(i+1, one, nil); err != nil {
					return err
				}
			}
			return nil
		}
	}

	out, size := importResult{Seq: e.Counted()}, 0
	batch := importBatch{kind: ingest.KindEpisode, source: source}
	err = each(func(number int, data []byte, err error) error {
		var episode episodic.Episode
		if err == nil {
			episode, err = decodeEpisode(data)
		}
		if err != nil {
			out.reject(live.Rejection{Line: number, ID: claimedID(data), Error: err.Error()})
			return nil
		}
		batch.eps, batch.lines = append(batch.eps, episode), append(batch.lines, number)
		if size += len(data); len(batch.eps) < batchSize && size < batchBytes {
			return nil
		}
		size = 0
		return batch.store(ctx, e, &out)
	})
	if err == nil {
		err = batch.store(ctx, e, &out)
	}
	slices.SortStableFunc(out.Rejected, func(a, b live.Rejection) int { return a.Line - b.Line })
	return recordResult{out.Taken.Episodes, out.Duplicates.Episodes, out.Rejections, out.Seq}, err
}

// episodeList returns the elements of a body that is a list or an object with the member episodes; nil: a single
// episode.
func episodeList(data []byte) ([]json.RawMessage, error) {
	if data[0] == '[' {
		return api.Decode[[]json.RawMessage](data)
	}
	var named struct {
		Episodes json.RawMessage `json:"episodes"`
	}
	if json.Unmarshal(data, &named) != nil || named.Episodes == nil {
		return nil, nil // errors are reported when it is decoded as an episode
	}
	body, err := api.Decode[struct {
		Episodes []json.RawMessage `json:"episodes"`
	}](data)
	return append([]json.RawMessage{}, body.Episodes...), err
}

// recordOne records a single episode and returns an error if the episode is rejected.
func recordOne(ctx context.Context, e *live.Engine, source string, episode episodic.Episode) (res live.RecordResult, err error) {
	res, err = e.Record(ctx, source, []episodic.Episode{episode})
	if err == nil && len(res.Rejected) > 0 {
		rej, status := res.Rejected[0], http.StatusUnprocessableEntity
		if rej.Conflict {
			status = http.StatusConflict
		}
		err = api.Problem(status, rej.Error, &huma.ErrorDetail{Location: "body", Message: rej.Error})
	}
	res.Rejected = []live.Rejection{}
	return res, err
}

func decodeEpisode(data []byte) (episodic.Episode, error) {
	episode, err := api.Decode[episodic.Episode](data)
	return claimed(episode), err
}

// claimed moves the source that an episode claims to its label, if that is empty; the credential determines the source.
func claimed(e episodic.Episode) episodic.Episode {
	e.Label, e.Source = cmp.Or(e.Label, e.Source), ""
	return e
}

// claimedID returns the id of a rejected line, or an empty string if it cannot be read.
func claimedID(data []byte) string {
	var named struct{ ID string }
	if json.Unmarshal(data, &named) != nil || len(named.ID) > 256 {
		return ""
	}
	return named.ID
}

// lineVisitor receives each line that is not blank, or each element of a list; numbers begin at 1.
type lineVisitor func(number int, data []byte, err error) error

var errLineTooLong = errors.New("the line is too long")

// eachLine calls visit for each line that is not blank, numbered from 1. A line longer than limit is
// skipped and visited with an error.
func eachLine(r io.Reader, limit int, visit lineVisitor) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, tooLong, err := api.ReadLine(in, limit+2)
		if err != nil && err != io.EOF {
			return api.BadRead(fmt.Errorf("line %d: %w", number, err))
		}
		switch data := bytes.Trim(line, codec.Space); {
		case tooLong, len(data) > limit:
			if err := visit(number, nil, fmt.Errorf("%w: more than %d bytes", errLineTooLong, limit)); err != nil {
				return err
			}
		case len(data) > 0:
			if err := visit(number, data, nil); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

func (s *Server) feedback(ctx context.Context, e *live.Engine, q *question[live.Feedback]) (feedbackAnswer, error) {
	seq, err := e.Feedback(ctx, api.From(ctx).Source, q.Body)
	return feedbackAnswer{seq}, err
}
