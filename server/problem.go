package server

import (
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
	"waymark/score/rubric"
	"waymark/storage"
	"waymark/suggest"
)

// refuse is an answer that is not the one asked for, as RFC 9457 has it. The detail is shown to the
// caller; it never quotes an internal error.
func refuse(status int, detail string, errs ...*huma.ErrorDetail) *huma.ErrorModel {
	return &huma.ErrorModel{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Errors: errs}
}

// problemOf gives every error its status. What is not listed is a fault of ours: the caller learns
// that it happened, the log learns what it was.
func problemOf(err error) *huma.ErrorModel {
	var (
		problem   *huma.ErrorModel
		request   *suggest.RequestError
		ambiguous *catalog.AmbiguousError
		malformed *malformedError
		tooLarge  *http.MaxBytesError
		scoring   *rubric.RequestError
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case problemOfRun(err) != nil:
		return problemOfRun(err)
	case errors.As(err, &request):
		status := http.StatusUnprocessableEntity
		if request.Kind == suggest.NotFound {
			status = http.StatusNotFound
		}
		if request.Field == "" {
			return refuse(status, request.Error())
		}
		return refuse(status, request.Error(), &huma.ErrorDetail{Location: "body." + request.Field, Message: request.Detail})
	case errors.As(err, &scoring):
		if scoring.Field == "" {
			return refuse(http.StatusUnprocessableEntity, scoring.Error())
		}
		return refuse(http.StatusUnprocessableEntity, scoring.Error(), &huma.ErrorDetail{Location: "body." + scoring.Field, Message: scoring.Detail})
	case errors.Is(err, score.ErrNoJudge):
		return refuse(http.StatusUnprocessableEntity, err.Error(), &huma.ErrorDetail{Location: "body.judge", Message: err.Error()})
	case errors.Is(err, score.ErrJudge), errors.Is(err, score.ErrSearch):
		return refuse(http.StatusBadGateway, err.Error())
	case errors.As(err, &ambiguous):
		return refuse(http.StatusUnprocessableEntity, ambiguous.Error())
	case errors.As(err, &malformed):
		return malformed.problem()
	case errors.As(err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "the body is larger than this route takes")
	case errors.Is(err, errNoCredential), errors.Is(err, errBadCredential):
		return refuse(http.StatusUnauthorized, err.Error())
	case errors.Is(err, live.ErrNoBuild):
		return refuse(http.StatusServiceUnavailable, "the first model is still being built; ask again")
	case errors.Is(err, live.ErrNotYet):
		return refuse(http.StatusServiceUnavailable, "the model does not count that event yet; ask again")
	case errors.Is(err, storage.ErrNoSpace):
		return refuse(http.StatusInsufficientStorage, "too little disk space: writes are refused, reads go on")
	case errors.Is(err, storage.ErrReadOnly), errors.Is(err, storage.ErrClosed), errors.Is(err, live.ErrClosed):
		return refuse(http.StatusServiceUnavailable, "the storage does not accept writes")
	case errors.Is(err, live.ErrNewer):
		return refuse(http.StatusInternalServerError, err.Error())
	case errors.Is(err, live.ErrNoRollback):
		return refuse(http.StatusConflict, err.Error())
	case errors.Is(err, live.ErrNoWorkspace):
		return refuse(http.StatusNotFound, err.Error())
	case errors.Is(err, storage.ErrNotFound):
		return refuse(http.StatusNotFound, "not found: there is nothing at this path")
	case errors.Is(err, storage.ErrConflict):
		return refuse(http.StatusConflict, "somebody else changed it at the same time")
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(http.StatusGatewayTimeout, "there was no answer within the time limit of the request; repeat it in a few seconds")
	case errors.Is(err, context.Canceled):
		return refuse(http.StatusServiceUnavailable, "the request was cancelled before its answer was ready: its caller has gone, or the server is shutting down")
	}
	return refuse(http.StatusInternalServerError, "internal error")
}

// huma builds its own errors through these hooks; they are global to the process, so they are set
// once and hold no server. A plain error of a handler arrives here as the single errs of a 500.
func init() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return humaProblem(status, msg, errs)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		if status >= http.StatusInternalServerError && ctx != nil {
			exchangeFrom(ctx.Context()).failure = errors.Join(errs...)
		}
		return humaProblem(status, msg, errs)
	}
}

func humaProblem(status int, msg string, errs []error) *huma.ErrorModel {
	if status >= http.StatusInternalServerError {
		joined := errors.Join(errs...)
		p := problemOf(joined)
		if msg == "cannot read request body" && p.Status == http.StatusInternalServerError {
			return refuse(http.StatusBadRequest, "the body ended early or is wrongly framed")
		}
		return p
	}
	p := refuse(status, msg)
	for _, err := range errs {
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			d := *detailer.ErrorDetail()
			reword(&d)
			p.Errors = append(p.Errors, &d)
		} else if err != nil {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
		}
	}
	if msg == "validation failed" && len(p.Errors) > 0 { // say in the detail what comes first
		first := p.Errors[0]
		p.Detail = strings.TrimSpace(first.Location + " " + first.Message)
		if status == http.StatusBadRequest || status == http.StatusUnsupportedMediaType {
			p.Detail = first.Message
		}
	}
	return p
}

// sign names the exchange in a problem, so that a report can be matched with the log.
func sign(ctx context.Context, p *huma.ErrorModel) *huma.ErrorModel {
	if id := exchangeFrom(ctx).id; id != "" && p.Instance == "" {
		signed := *p
		signed.Instance = "urn:waymark:request:" + id
		return &signed
	}
	return p
}

// retryAfter is the number of seconds after which a request that failed with a status is worth repeating; empty: it
// is not known to be.
func retryAfter(status int) string {
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return "1"
	case http.StatusGatewayTimeout:
		return "5"
	}
	return ""
}

func writeProblem(w http.ResponseWriter, p *huma.ErrorModel) {
	data, err := encodeJSON(p)
	if err != nil { // strings and integers only: cannot happen
		data = []byte(`{"status":500,"title":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Del("ETag")
	w.WriteHeader(p.Status)
	_, _ = w.Write(data) // the client may be gone; there is nobody left to tell
}

// problemOfRun gives what a run is refused for its status.
func problemOfRun(err error) *huma.ErrorModel {
	var wrong *run.CheckError
	var argument *argumentError
	switch {
	case errors.As(err, &wrong):
		p := refuse(http.StatusUnprocessableEntity, refusedRun(wrong))
		for _, one := range wrong.Problems {
			at := "body"
			if one.Task != "" {
				at += ".dag.tasks." + one.Task
			}
			if one.Argument != "" {
				at += "." + one.Argument
			}
			p.Errors = append(p.Errors, &huma.ErrorDetail{Location: at, Message: one.Detail})
		}
		if form := wrong.Form(); form != nil {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Location: "body.values", Message: "values are missing; value is their JSON Schema", Value: form})
		}
		return p
	case errors.As(err, &argument):
		return refuse(http.StatusUnprocessableEntity, argument.Error(), &huma.ErrorDetail{Location: "body." + argument.Field, Message: argument.Detail})
	}
	return nil
}

// refusedRun says in one line why a DAG cannot be run.
func refusedRun(e *run.CheckError) string {
	if e.OnlyOpen() {
		keys := make([]string, len(e.Open))
		for i, o := range e.Open {
			keys[i] = o.Key()
		}
		return "the DAG cannot be run without values for " + strings.Join(keys, ", ")
	}
	text := "the DAG cannot be run: " + e.Problems[0].String()
	if more := len(e.Problems) - 1; more > 0 {
		text += fmt.Sprintf("; and %d more %s", more, plural(more, "problem", "problems"))
	}
	return text
}

// plural is the form of a noun that goes with a number.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
