package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"waymark/catalog"
	"waymark/live"
	"waymark/run"
	"waymark/score"
	"waymark/score/evidence"
	"waymark/storage"
	"waymark/suggest"
)

// Problem returns an error response as defined by RFC 9457. The detail is shown to the caller and never quotes an
// internal error.
func Problem(status int, detail string, errs ...*huma.ErrorDetail) *huma.ErrorModel {
	return &huma.ErrorModel{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: errs}
}

// ProblemOf maps every error to a problem with a status. An error that is not listed is an internal fault: the caller
// learns only that it happened, and the log contains the error.
func ProblemOf(err error) *huma.ErrorModel {
	var (
		problem   *huma.ErrorModel
		asked     *suggest.RequestError
		ambiguous *catalog.AmbiguousError
		wrong     *BodyError
		tooLarge  *http.MaxBytesError
		scoring   *score.RequestError
		dag       *run.CheckError
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &dag):
		return refusedRun(dag)
	case errors.As(err, &asked):
		status := http.StatusUnprocessableEntity
		if asked.Kind == suggest.NotFound {
			status = http.StatusNotFound
		}
		return ofField(status, asked, asked.Field, asked.Detail)
	case errors.As(err, &scoring):
		return ofField(http.StatusUnprocessableEntity, scoring, scoring.Field, scoring.Detail)
	case errors.Is(err, score.ErrNoJudge):
		return ofField(http.StatusUnprocessableEntity, err, "judge", err.Error())
	case errors.As(err, &ambiguous):
		return Problem(http.StatusUnprocessableEntity, ambiguous.Error())
	case errors.As(err, &wrong):
		return Problem(wrong.Status, wrong.Error(), &huma.ErrorDetail{Location: locationOf(wrong.Field), Message: wrong.Detail})
	case errors.As(err, &tooLarge):
		return Problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
	}
	for _, known := range sentinels {
		if errors.Is(err, known.err) {
			return Problem(known.status, cmp.Or(known.detail, err.Error()))
		}
	}
	return Internal
}

// sentinels are the errors without a type of their own. An empty detail stands for the text of the error.
var sentinels = []struct {
	err    error
	status int
	detail string
}{
	{score.ErrJudge, http.StatusBadGateway, ""},
	{evidence.ErrSearch, http.StatusBadGateway, ""},
	{ErrNoCredential, http.StatusUnauthorized, ""},
	{ErrBadCredential, http.StatusUnauthorized, ""},
	{ErrNoSession, http.StatusUnauthorized, ""},
	{run.ErrNotWaiting, http.StatusConflict, ""},
	{storage.ErrUnavailable, http.StatusServiceUnavailable, "the database does not answer; of a write it is unknown whether it is stored: repeat it with the same ids"},
	{live.ErrNotYet, http.StatusServiceUnavailable, "the model does not count that event yet; ask again"},
	{storage.ErrNoSpace, http.StatusInsufficientStorage, "too little disk space: writes are refused, reads go on"},
	{storage.ErrReadOnly, http.StatusServiceUnavailable, "the storage does not accept writes"},
	{storage.ErrClosed, http.StatusServiceUnavailable, "the storage does not accept writes"},
	{live.ErrClosed, http.StatusServiceUnavailable, "the storage does not accept writes"},
	{live.ErrNewer, http.StatusInternalServerError, ""},
	{live.ErrNoWorkspace, http.StatusNotFound, ""},
	{storage.ErrNotFound, http.StatusNotFound, "not found: there is nothing at this path"},
	{storage.ErrConflict, http.StatusConflict, "another request changed it at the same time"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "there was no answer within the time limit of the request; repeat it in a few seconds, a write with the same ids: it may still take effect"},
	{context.Canceled, http.StatusServiceUnavailable, "the request was cancelled before its answer was ready: its caller has gone, or the server is shutting down"},
}

// ofField returns a problem with a field of the body; an empty field stands for the request.
func ofField(status int, err error, field, detail string) *huma.ErrorModel {
	if field == "" {
		return Problem(status, err.Error())
	}
	return Problem(status, err.Error(), &huma.ErrorDetail{Location: locationOf(field), Message: detail})
}

// locationOf returns the location of a field of the body; an empty field stands for the whole body.
func locationOf(field string) string {
	return strings.TrimSuffix(strings.Replace("body."+field, ".[", "[", 1), ".")
}

// InQuery changes the location of a client error from the body to the query.
func InQuery(err error) error {
	p := ProblemOf(err)
	for _, d := range p.Errors {
		d.Location = "query" + d.Location[len("body"):]
	}
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	return p
}

// OrMissing returns the error of a removal, and 404 if there was nothing to remove.
func OrMissing(known bool, err error, kind, id string) error {
	if err == nil && !known {
		err = Problem(http.StatusNotFound, fmt.Sprintf("there is no %s %q", kind, id))
	}
	return err
}

// Internal is the response for an internal fault.
var Internal = Problem(http.StatusInternalServerError, "internal error; the server's log has the details")

// huma builds its own errors through these hooks. They are global to the process, so they are set once and hold no
// server. A plain error of a handler arrives here with status 500 as the only element of errs.
func init() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return humaProblem(status, msg, errs)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		if status >= http.StatusInternalServerError && ctx != nil {
			ExchangeFrom(ctx.Context()).Failure = errors.Join(errs...)
		}
		return humaProblem(status, msg, errs)
	}
}

func humaProblem(status int, msg string, errs []error) *huma.ErrorModel {
	if status >= http.StatusInternalServerError {
		joined := errors.Join(errs...)
		p := ProblemOf(joined)
		if msg == "cannot read request body" && p.Status == http.StatusInternalServerError {
			return Problem(http.StatusBadRequest, "the body ended early or is wrongly framed")
		}
		return p
	}
	p := Problem(status, msg)
	for _, err := range errs {
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			d := *detailer.ErrorDetail()
			if field, detail, ok := strings.Cut(d.Message, ": "); ok && d.Location == "body" && status == http.StatusUnprocessableEntity { // a BodyError
				d.Location, d.Message = locationOf(field), detail
			}
			if name, missing := strings.CutPrefix(d.Message, "expected required property "); missing {
				sent, _ := d.Value.(map[string]any)
				near := catalog.Near(strings.TrimSuffix(name, " to be present"), func(yield func(string, uint64) bool) {
					for field := range sent {
						if !yield(field, 0) {
							return
						}
					}
				})
				if len(near) > 0 {
					d.Message += ", not " + catalog.ShownID(near[0])
				}
			}
			d.Value = nil // it may be a secret in the wrong field
			p.Errors = append(p.Errors, &d)
		} else if err != nil {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
		}
	}
	if msg == "validation failed" && len(p.Errors) > 0 { // the detail repeats the first error
		first := p.Errors[0]
		p.Detail = strings.TrimPrefix(first.Location+": "+first.Message, ": ")
		if status == http.StatusBadRequest || status == http.StatusUnsupportedMediaType {
			p.Detail = first.Message
		}
	}
	return p
}

// Sign adds the id of the exchange to a problem, so that a report can be matched with the log.
func Sign(ctx context.Context, p *huma.ErrorModel) *huma.ErrorModel {
	if id := ExchangeFrom(ctx).Id; id != "" && p.Instance == "" {
		signed := *p
		signed.Instance = "urn:waymark:request:" + id
		return &signed
	}
	return p
}

// RetryAfter returns the number of seconds after which a request that failed with a status is worth repeating; empty:
// repeating it may not help.
func RetryAfter(status int) string {
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return "1"
	case http.StatusGatewayTimeout:
		return "5"
	}
	return ""
}

// WriteProblem writes a problem as the response.
func WriteProblem(w http.ResponseWriter, p *huma.ErrorModel) {
	data, err := Encode(p)
	if err != nil { // strings and integers only: cannot happen
		data = []byte(`{"status":500,"title":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(data) // the client may have disconnected
}

// refusedRun returns a problem that lists all errors of a DAG.
func refusedRun(e *run.CheckError) *huma.ErrorModel {
	p := Problem(http.StatusUnprocessableEntity, RefusedRun(e))
	for _, one := range e.Problems {
		at := "body"
		if one.Task != "" {
			at += ".dag.tasks." + one.Task
		}
		if one.Argument != "" {
			at += "." + one.Argument
		}
		p.Errors = append(p.Errors, &huma.ErrorDetail{Location: at, Message: one.Detail})
	}
	if form := e.Form(); form != nil {
		p.Errors = append(p.Errors, &huma.ErrorDetail{Location: "body.values", Message: "values are missing; value is their JSON Schema", Value: form})
	}
	return p
}

// RefusedRun returns one line with the reason why a DAG cannot be run.
func RefusedRun(e *run.CheckError) string {
	if e.OnlyOpen() {
		keys := make([]string, len(e.Open))
		for i, o := range e.Open {
			keys[i] = o.Key()
		}
		return "the DAG cannot be run without values for " + strings.Join(keys, ", ")
	}
	text := "the DAG cannot be run: " + e.Problems[0].String()
	if more := len(e.Problems) - 1; more > 0 {
		text += "; and " + catalog.Plural(more, "more problem")
	}
	return text
}

// Fail answers a request with the problem of an error.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := ProblemOf(err)
	if p.Status >= http.StatusInternalServerError {
		ExchangeFrom(r.Context()).Failure = err
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="waymark"`)
	}
	if after := RetryAfter(p.Status); after != "" && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", after)
	}
	WriteProblem(w, Sign(r.Context(), p))
}
