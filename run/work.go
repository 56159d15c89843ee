package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"waymark/catalog"
)

// work carries out one node: it records the beginning in the journal, calls the tool, and records the end.
func (r *Run) work(i int, s Node, arguments json.RawMessage, after []string) (end nodeEnd) {
	n := &r.plan.nodes[i]
	if n.Kind == kindScript {
		return r.compute(i, s, arguments)
	}
	durable := context.WithoutCancel(r.calls)
	end = nodeEnd{node: i, status: s}
	if err := r.opts.Journal.Began(durable, r.id, s); err != nil {
		end.status.State, end.status.ErrorKind, end.status.Error = NodeFailed, FailedUnavailable, "not begun: it could not be kept"
		end.broken = err
		return end
	}
	end.status.Arguments = nil
	result, known := r.call(n, arguments, after)
	r.mu.Lock()
	canceling, stopping := r.canceling, r.stopping
	r.mu.Unlock()
	if !known && stopping && !canceling {
		end.effectUnknown = true
		return end
	}
	end.status.DurationMS = r.opts.Now().Sub(s.StartedAt).Milliseconds()
	switch {
	case !known && canceling:
		end.status.State, end.status.Error = nodeCanceled, "given up while under way; it may have happened"
	case result.Failure != "":
		end.status.State, end.status.ErrorKind, end.status.Error = NodeFailed, result.Failure, result.Message
	default:
		end.status.State, end.status.Unvalidated, end.status.Unrecorded, end.status.Misfit = NodeDone, result.Unvalidated, result.Unrecorded, result.Misfit
		end.status.Result = resultOf(result)
		if long := r.tooLong(end.status.Result); long != "" {
			end.status.Result, end.status.State, end.status.ErrorKind = nil, NodeFailed, FailedTool
			end.status.Error = "it was done, but " + long
		}
	}
	end.broken = r.opts.Journal.Ended(durable, r.id, end.status)
	return end
}

// tooLong returns the reason why a result is too large to be stored, or an empty string.
func (r *Run) tooLong(result json.RawMessage) string {
	if len(result) > maxResult {
		return fmt.Sprintf("its result is larger than %d bytes", maxResult)
	}
	if size := int64(len(result)); r.kept.Add(size) > maxKept {
		r.kept.Add(-size)
		return fmt.Sprintf("all results of the run would be larger than %d bytes", maxKept)
	}
	return ""
}

// call calls a tool, and converts errors and panics into results. known is false if the effect of the call is unknown
// because the run gave it up.
func (r *Run) call(n *node, arguments json.RawMessage, after []string) (result Result, known bool) {
	defer func() {
		if p := recover(); p != nil {
			result, known = Result{Failure: FailedUnavailable, Message: "internal error while calling"}, true
		}
	}()
	if r.opts.Caller == nil {
		return Result{Failure: FailedUnavailable, Message: "no servers are connected"}, true
	}
	timeout := cmp.Or(time.Duration(n.task.TimeoutMS)*time.Millisecond, defaultTimeout)
	ctx, cancel := context.WithTimeout(r.calls, timeout)
	defer cancel()
	result, err := r.opts.Caller.Call(ctx, Call{
		Tool: n.task.Tool, ID: n.ID, After: after, Source: r.opts.By, Arguments: arguments,
		Session: r.id, Group: n.group, Intent: r.intent, Approved: true,
	})
	switch {
	case err == nil && len(result.NeedsInput) > 0 && result.Failure == "":
		return Result{Failure: FailedPolicy, Message: "it asks for input, which a run cannot give"}, true
	case err == nil && result.Failure == FailedTimeout:
		result.Message += "; it may have happened"
		return result, true
	case err == nil:
		return result, true
	case r.calls.Err() != nil:
		return Result{}, false
	case ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded):
		return Result{Failure: FailedTimeout, Message: fmt.Sprintf("no answer within %s; it may have happened", timeout)}, true
	}
	return Result{Failure: FailedUnavailable, Message: "the result is not known: " + err.Error()}, true
}

// compute runs a script. It needs no journal, because a repetition gives the same result.
func (r *Run) compute(i int, s Node, arguments json.RawMessage) nodeEnd {
	s.Arguments = nil
	env := map[string]any{nameIntent: r.intent, nameParams: decode(arguments), nameTasks: map[string]any{}}
	v, err := r.plan.nodes[i].script.value(env)
	s.DurationMS = r.opts.Now().Sub(s.StartedAt).Milliseconds()
	if err != nil {
		s.State, s.ErrorKind, s.Error = NodeFailed, FailedTool, err.Error()
		return nodeEnd{node: i, status: s}
	}
	s.State, s.Result = NodeDone, v
	return nodeEnd{node: i, status: s}
}

// resultOf returns the result of a call for other nodes: the structured content, or else the text, parsed as JSON if it
// is an object or a list.
func resultOf(r Result) json.RawMessage {
	if s := bytes.TrimSpace(r.Structured); len(s) > 0 && json.Valid(s) && string(s) != "null" {
		return s
	}
	texts := Texts(r.Content)
	if len(texts) == 0 {
		return json.RawMessage("null")
	}
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, _ := json.Marshal(strings.Join(texts, "\n")) // a string: cannot fail
	return b
}

// Texts returns the texts of MCP content blocks.
func Texts(content json.RawMessage) (texts []string) {
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &blocks) // anything but a list of blocks has no text
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// decode decodes JSON for an expression. Whole numbers become int.
func decode(raw json.RawMessage) any {
	v, _ := catalog.Decode(raw) // invalid JSON gives nil
	return plainNumbers(v)
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil && i >= math.MinInt && i <= math.MaxInt {
			return int(i)
		}
		f, _ := v.Float64() // out of range it is infinite, which JSON output rejects
		return f
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}
