package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
	"waymark/internal/redact"
	"waymark/run"
)

// call carries out one call. The circuit breaker counts timeouts and unavailability of the server, not failures of
// tools.
func (u *upstream) call(ctx context.Context, l *link, t *contract, c run.Call) (res run.Result, err error) {
	began, asked := time.Now(), false
	defer func() { u.tally.count(t.tool.ID, res.Failure != "", asked && err == nil, time.Since(began)) }()
	if u.breaker.Enter() != nil {
		_, _, last := u.now()
		last = cmp.Or(last, "no call of late had an answer")
		return failed(run.FailedUnavailable, "server %s does not answer and is left alone for a while: %s", u.def.ID, last), nil
	}
	asked = true
	res, lost, err := u.ask(ctx, l, t, c)
	if lost { // the call was not carried out
		l.breakOff(errLostSession)
		if u.await(ctx, func() bool { return u.link != l }) {
			if l, _ = u.ready(ctx); l != nil {
				res, _, err = u.ask(ctx, l, t, c)
			}
		}
	}
	switch {
	case res.Failure == run.FailedTimeout || res.Failure == run.FailedUnavailable:
		if u.breaker.Failed() && l != nil {
			u.log.Warn("breaker opened: calls to the server fail at once", "for", u.opts.Limits.BreakFor)
			l.breakOff(fmt.Errorf("%d calls in a row had no answer", u.opts.Limits.BreakAfter))
		}
	case err == nil: // otherwise the caller gave up, which says nothing about the server
		u.breaker.Succeeded()
	}
	return res, err
}

// enter waits for a free call slot and for the connection. If l is nil, why is the failure. The caller always calls
// leave; the server does not become idle before.
func (u *upstream) enter(ctx context.Context) (l *link, leave func(), why run.Result) {
	u.mu.Lock()
	u.running++
	u.mu.Unlock()
	rest := func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.running--
		u.used = u.opts.Now()
	}
	waiting, cancel := context.WithTimeout(ctx, u.opts.CallTimeout)
	defer cancel()
	if u.slots.Acquire(waiting, 1) != nil {
		why = failed(run.FailedUnavailable, "server %s is busy: no call ended within %s", u.def.ID, u.opts.CallTimeout)
		return nil, rest, why
	}
	l, why = u.ready(ctx)
	return l, func() { u.slots.Release(1); rest() }, why
}

// ready returns the connection. It starts an idle server and waits for one that is starting, but does not wait for one
// that failed.
func (u *upstream) ready(ctx context.Context) (l *link, why run.Result) {
	soon, cancel := context.WithTimeout(ctx, min(u.opts.StartTimeout, u.opts.CallTimeout))
	defer cancel()
	var state State
	var last string
	u.await(soon, func() bool {
		if state, l, last = u.state, u.link, u.last; state == Idle {
			signal(u.wake) // starts it
		}
		return state != Idle && state != Starting
	})
	switch {
	case l != nil:
		return l, why
	case state == Waiting:
		return nil, failed(run.FailedUnavailable, "server %s is down: %s", u.def.ID, last)
	case state == Stopped:
		return nil, failed(run.FailedUnavailable, "server %s is not running", u.def.ID)
	}
	return nil, failed(run.FailedUnavailable, "server %s has not started yet", u.def.ID)
}

// firstLook is the longest time that the lists and calls of a host wait for a server that starts, measured from its
// start. After `gateway add`, its tools are thus in the first list, even for a host that lists tools only once.
const firstLook = 5 * time.Second

// Started waits until each starting server has listed its tools or failed, at most until firstLook after its start. It
// reports whether it had to wait.
func (g *Gateway) Started(ctx context.Context) (waited bool) {
	g.mu.Lock()
	ups := slices.Collect(maps.Values(g.ups))
	g.mu.Unlock()
	for _, u := range ups {
		state, since, _ := u.now()
		left := firstLook - u.opts.Now().Sub(since)
		if state != Starting || left <= 0 {
			continue
		}
		waited = true
		soon, cancel := context.WithTimeout(ctx, left)
		u.await(soon, func() bool { return u.state != Starting })
		cancel()
	}
	return waited
}

// NotReady returns the ids of the servers that start, or that wait for their next start.
func (g *Gateway) NotReady() (ids []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(g.ups)) {
		if state, _, _ := g.ups[id].now(); state == Starting || state == Waiting {
			ids = append(ids, id)
		}
	}
	return ids
}

// longestCall is the maximum duration of a call that reports progress: each report restarts its timeout.
const longestCall = time.Hour

// ask sends one call and reads its answer. lost means that the server no longer knows the session.
func (u *upstream) ask(outer context.Context, l *link, t *contract, c run.Call) (res run.Result, lost bool, err error) {
	whole, end := context.WithTimeout(outer, longestCall)
	defer end()
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	late := time.AfterFunc(u.opts.CallTimeout, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	defer context.AfterFunc(l.ctx, func() { cancel(mcp.ErrConnectionClosed) })()
	params := &mcp.CallToolParams{Name: t.tool.Name, Arguments: c.Arguments, Meta: mcp.Meta{}}
	params.InputResponses, _ = c.Meta[MetaInputResponses].(mcp.InputResponseMap)
	params.RequestState, _ = c.Meta[MetaRequestState].(string)
	for _, key := range passedMeta {
		if value, there := c.Meta[key]; there {
			params.Meta[key] = value
		}
	}
	token, stop := l.progress.listen(func() { late.Reset(u.opts.CallTimeout) }, c.Progress)
	params.SetProgressToken(token)
	raw, err := rawOf(l.session.CallTool(ctx, params))
	stop()
	switch {
	case err == nil:
		return resultOf(raw, t, u.opts.StrictResults), false, nil
	case outer.Err() != nil:
		return run.Result{}, false, outer.Err()
	case errors.Is(err, context.Canceled) && context.Cause(ctx) != nil:
		err = context.Cause(ctx)
	}
	said, ok := errors.AsType[*jsonrpc.Error](err)
	return u.failureOf(err, l), ok && said.Code == codeGone, nil
}

// listeners holds the open calls of one connection, by progress token.
type listeners struct {
	mu   sync.Mutex
	last int
	open map[string]func(*mcp.ProgressNotificationParams)
}

// listen calls alive and notify for every progress report of a call until stop is called. stop waits for a notify in
// progress. notify may be nil. A slow notify delays no other call: of several pending reports it receives only the
// newest.
func (l *listeners) listen(alive func(), notify func(done, total float64, message string)) (token string, stop func()) {
	reports := make(chan *mcp.ProgressNotificationParams, 1)
	var delivery sync.WaitGroup
	if notify != nil {
		delivery.Go(func() {
			for p := range reports {
				notify(p.Progress, p.Total, catalog.Cut(p.Message, messageBytes))
			}
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	token = "call-" + strconv.Itoa(l.last)
	if l.open == nil {
		l.open = map[string]func(*mcp.ProgressNotificationParams){}
	}
	l.open[token] = func(p *mcp.ProgressNotificationParams) {
		alive()
		select {
		case <-reports: // replaces the report before, which was not delivered
		default:
		}
		reports <- p // there is room: this is the only sender
	}
	return token, func() {
		l.mu.Lock()
		delete(l.open, token)
		close(reports)
		l.mu.Unlock()
		delivery.Wait()
	}
}

// onMessage passes a progress report on to its call. It ignores other messages, and a report whose token belongs to no open
// call.
func (l *listeners) onMessage(m message) {
	var report struct {
		Method string
		Params mcp.ProgressNotificationParams
	}
	if !m.asked || json.Unmarshal(m.raw, &report) != nil || report.Method != "notifications/progress" {
		return
	}
	token, _ := report.Params.ProgressToken.(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	if listen := l.open[token]; listen != nil {
		listen(&report.Params)
	}
}

// The keys of Call.Meta for a host's answers to the input requests of a server: a [mcp.InputResponseMap], and the
// request state, a string.
const (
	MetaInputResponses = "io.waymark/input_responses"
	MetaRequestState   = "io.waymark/request_state"
)

// passedMeta are the keys of a host's _meta that are passed on to a server: trace context and the host's capabilities.
// All other keys stay between the host and Waymark.
var passedMeta = []string{"traceparent", "tracestate", "baggage", mcp.MetaKeyClientCapabilities}

// messageBytes is the maximum length of a server's error text that is passed on. Secrets are removed from it.
const messageBytes = 600

func failed(f run.Failure, format string, args ...any) run.Result {
	return run.Result{Failure: f, Message: catalog.Cut(redact.Text(fmt.Sprintf(format, args...)), messageBytes)}
}

// answer is a tools/call result, as far as the gateway reads it.
type answer struct {
	Content           json.RawMessage `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	ResultType        string          `json:"resultType"`
	InputRequests     json.RawMessage `json:"inputRequests"`
	RequestState      string          `json:"requestState"`
}

// OwnMember is the member of structured content that is reserved for the gateway. A member of this name from a server
// is removed.
const OwnMember = "_waymark"

// resultOf decodes the result of a tool call. Structured content that does not fit the tool's output schema is dropped;
// with strict, it is a failure.
func resultOf(raw json.RawMessage, t *contract, strict bool) run.Result {
	var a answer
	if len(raw) == 0 || raw[0] != '{' {
		return failed(run.FailedTool, "the server answered %s, which is not a result of a tool", catalog.Cut(string(raw), 40))
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return failed(run.FailedTool, "the server's answer cannot be read: %v", err)
	}
	if isNull(a.StructuredContent) {
		a.StructuredContent = nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(a.StructuredContent, &members) == nil && members[OwnMember] != nil {
		delete(members, OwnMember)
		a.StructuredContent, _ = json.Marshal(members) // it was just read
	}
	if a.ResultType == "input_required" || a.ResultType == "" && !isNull(a.InputRequests) {
		if isNull(a.InputRequests) {
			a.InputRequests = json.RawMessage("{}")
		}
		return run.Result{NeedsInput: a.InputRequests, State: a.RequestState}
	}
	if isNull(a.Content) {
		if a.StructuredContent == nil && !a.IsError {
			return failed(run.FailedTool, "the server answered without content")
		}
		a.Content = json.RawMessage("[]")
	}
	if a.Content[0] != '[' {
		return failed(run.FailedTool, "the server's content is not a list")
	}
	r := run.Result{Content: a.Content, Structured: a.StructuredContent,
		Members: membersOf(raw, "content", "structuredContent", "isError", "resultType", "inputRequests", "requestState")}
	if a.IsError {
		said := strings.TrimSpace(strings.Join(run.Texts(a.Content), " "))
		said = said[:min(len(said), 4*messageBytes)]
		r.Failure, r.Message = kindOfText(said), catalog.Cut(redact.Text(said), messageBytes)
		if r.Message == "" {
			r.Message = "the tool reports an error and says nothing about it"
		}
		return r
	}
	r.Unvalidated, r.Misfit = unvalidated(a.StructuredContent, t.output, t.outputErr)
	if r.Misfit {
		if string(r.Content) == "[]" && r.Structured != nil { // the call took effect, and this is its only output
			r.Content, _ = json.Marshal([]map[string]string{{"type": "text", "text": string(r.Structured)}}) // strings: cannot fail
		}
		r.Structured = nil
		if strict {
			return failed(run.FailedTool, "the tool was called, but its result is refused: %s", r.Unvalidated)
		}
	}
	return r
}

// unvalidated returns why structured content is not known to fit its schema; empty if it fits or there is no schema.
// misfit means that it is known not to fit.
func unvalidated(value json.RawMessage, output *run.Validator, outputErr error) (why string, misfit bool) {
	switch {
	case outputErr != nil:
		return "the tool's output schema is not usable: " + catalog.Cut(outputErr.Error(), 200), false
	case output == nil:
		return "", false
	case value == nil:
		return "the tool declares an output schema and gave no structured content", true
	}
	wrong, err := output.Check(value)
	switch {
	case err != nil:
		return catalog.Cut(err.Error(), 200), false
	case len(wrong) > 0:
		return "it does not fit the tool's output schema: " + catalog.Cut(reasons(wrong), 300), true
	}
	return "", false
}

// reasons names up to three places of a value that do not fit its schema.
func reasons(wrong []run.Mismatch) string {
	var all []string
	for _, w := range wrong[:min(len(wrong), 3)] {
		all = append(all, catalog.Cut(cmp.Or(w.At, "the whole")+": "+w.Detail, 200))
	}
	return strings.Join(all, "; ")
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// Servers report most failures as text. These patterns find the phrases that SDKs and common APIs use for wrong
// arguments and for missing authorization; any other failure is attributed to the tool.
var (
	argumentWords = regexp.MustCompile(`(?i)^(mcp error )?-32602|input validation error|invalid (arguments?|params|parameters)|validating "?arguments|validation errors? for|missing required (argument|parameter|propert)|unexpected keyword argument|required property`)
	authWords     = regexp.MustCompile(`(?i)\b(unauthori[sz]ed|unauthenticated|authentication (failed|required)|bad credentials|invalid (api[ _-]?key|token|credentials)|(http|status|error)[ :]*(code )?(401|403)|permission denied|access denied|forbidden|insufficient (scope|permissions?))\b`)
)

func kindOfText(said string) run.Failure {
	head := said[:min(len(said), 600)]
	switch {
	case argumentWords.MatchString(head):
		return run.FailedArgument
	case authWords.MatchString(head):
		return run.FailedAuth
	}
	return run.FailedTool
}

// failureOf converts an error of a call into a result with its kind of failure.
func (u *upstream) failureOf(err error, l *link) run.Result {
	said, ok := errors.AsType[*jsonrpc.Error](err)
	if ok && said.Code == codeRejected && kindOfText(err.Error()) == run.FailedAuth {
		said.Code = codeNoAnswer - http.StatusUnauthorized
		if strings.Contains(err.Error(), "403") {
			said.Code = codeNoAnswer - http.StatusForbidden
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failed(run.FailedTimeout, "no answer within %s; whether it took effect is not known", u.opts.CallTimeout)
	case errors.Is(err, errTooLong):
		return failed(run.FailedTool, "the answer is longer than the limit")
	case errors.Is(err, errNoAnswer):
		return failed(run.FailedTool, "%v", err)
	case !ok || said.Code == codeRejected:
		return failed(run.FailedUnavailable, "the connection broke during the call (%s); whether it took effect is not known", l.story())
	case said.Code <= codeNoAnswer:
		return u.statusFailure(int(codeNoAnswer-said.Code), said.Message, l)
	case said.Code == jsonrpc.CodeInvalidParams:
		return failed(run.FailedArgument, "%s", said.Message)
	case said.Code == jsonrpc.CodeMethodNotFound, said.Code == jsonrpc.CodeInvalidRequest, said.Code == jsonrpc.CodeParseError:
		return failed(run.FailedTool, "the server does not understand the call: %s", said.Message)
	}
	return failed(kindOfText(said.Message), "%s", said.Message)
}

// statusFailure converts an HTTP answer without a result into a failure.
func (u *upstream) statusFailure(status int, text string, l *link) run.Result {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return failed(run.FailedAuth, "%v", u.refusal(l, fmt.Errorf("the server refused the credential (HTTP %d)", status)))
	case status == http.StatusTooManyRequests, status >= 500:
		return failed(run.FailedUnavailable, "the server answered HTTP %d", status)
	case status >= 400:
		return failed(kindOfText(text), "the server answered HTTP %d: %s", status, text)
	}
	return failed(run.FailedUnavailable, "the server answered HTTP %d without a result: %s; whether it took effect is not known", status, text)
}

// codeRejected is the SDK's code for a message that was not sent.
const codeRejected = -32005
