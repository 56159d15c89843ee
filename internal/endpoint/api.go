package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"
)

// Options of an [API]. BaseURL and Model are required; a zero value elsewhere means the default.
type Options struct {
	BaseURL string // with the version path: http://127.0.0.1:11434/v1
	Model   string
	APIKey  Key
	// AllowPrivate permits loopback and private addresses, where local endpoints are. Link-local, shared, reserved and
	// translated addresses, where clouds serve credentials, are never permitted.
	AllowPrivate bool

	MaxAnswer      int64         // bytes of an answer, default 8 MiB
	Attempts       int           // requests for one call, default 4
	Timeout        time.Duration // of one request, default 30 s
	RepeatTimeouts bool          // a request that timed out is repeated
	FirstDelay     time.Duration // before the second attempt, then doubling up to 10 s; default 500 ms

	Trip     int              // failed calls in a row that open the circuit, default 5
	CoolDown time.Duration    // before the circuit is tried again, default 30 s
	Now      func() time.Time // default time.Now
}

// An API calls one model at an OpenAI-compatible endpoint.
type API struct {
	*openai.Client
	Options Options
	Circuit Circuit
}

// NewAPI returns an API. It does not call the endpoint.
func NewAPI(o Options) (*API, error) {
	if err := CheckBaseURL(o.BaseURL); err != nil {
		return nil, err
	}
	if o.Model == "" {
		return nil, errors.New("no model named")
	}
	o.MaxAnswer, o.Attempts, o.Trip = cmp.Or(o.MaxAnswer, 8<<20), cmp.Or(o.Attempts, 4), cmp.Or(o.Trip, 5)
	o.Timeout, o.CoolDown = cmp.Or(o.Timeout, 30*time.Second), cmp.Or(o.CoolDown, 30*time.Second)
	o.FirstDelay = cmp.Or(o.FirstDelay, 500*time.Millisecond)
	if o.Now == nil {
		o.Now = time.Now
	}
	config := openai.DefaultConfig(string(o.APIKey))
	config.BaseURL = strings.TrimRight(o.BaseURL, "/")
	config.HTTPClient = HTTPClient(o.Timeout, o.MaxAnswer, o.AllowPrivate)
	return &API{openai.NewClientWithConfig(config), o, Circuit{Trip: o.Trip, CoolDown: o.CoolDown, Now: o.Now}}, nil
}

// String names the model and the endpoint; a printed client does not show its key.
func (a *API) String() string   { return a.Options.Model + " at " + a.Options.BaseURL }
func (a *API) GoString() string { return a.String() }

// Model is the name of the model.
func (a *API) Model() string { return a.Options.Model }

// Call repeats a request until it succeeds, fails permanently, or attempts or time run out. It retries broken
// connections, answers that are cut off, 408, 429 and 5xx, after the time in Retry-After if there is one. It does not
// retry a [backoff.Permanent] error. The error is that of the last request; it contains neither the key nor a whole
// answer. Call returns [ErrUnavailable] at once while the circuit is open. A call that the caller ended, by its context
// or by a permanent error, says nothing about the endpoint.
func Call[T any](ctx context.Context, a *API, request func(context.Context) (T, http.Header, error)) (v T, err error) {
	if err := a.Circuit.Enter(); err != nil {
		return v, err
	}
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = a.Options.FirstDelay, 2, 10*time.Second
	limit := time.Hour
	if deadline, ok := ctx.Deadline(); ok {
		limit = max(time.Until(deadline), 1)
	}
	var last error
	var permanent *backoff.PermanentError
	v, err = backoff.Retry(ctx, func() (T, error) {
		timed, cancel := context.WithTimeout(ctx, a.Options.Timeout)
		defer cancel()
		v, header, err := request(timed)
		if err == nil || errors.As(err, &permanent) {
			return v, err
		}
		var repeat bool
		if last, repeat = a.explain(ctx, timed, err); !repeat {
			return v, backoff.Permanent(last)
		}
		if after := RetryAfter(header, a.Options.Now()); after > 0 {
			return v, &backoff.RetryAfterError{Duration: after}
		}
		return v, last
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(a.Options.Attempts)), backoff.WithMaxElapsedTime(limit))
	var refusal *Error
	switch {
	case err == nil:
		a.Circuit.Succeeded()
		return v, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return v, context.Canceled
	case permanent != nil:
		return v, permanent.Unwrap()
	case errors.As(last, &refusal) && refusal.AboutInput():
		a.Circuit.Succeeded()
	default:
		a.Circuit.Failed()
	}
	return v, cmp.Or(last, err)
}

// explain converts an error of the library into one without the key and without a whole answer, and reports whether
// another attempt may help. timed is the context of the request.
func (a *API) explain(ctx, timed context.Context, err error) (_ error, repeat bool) {
	var (
		api     *openai.APIError
		request *openai.RequestError
		large   *http.MaxBytesError
	)
	refused := func(status int) (error, bool) {
		e := &Error{status}
		return e, e.Transient()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled, false
	case errors.As(err, &large):
		return fmt.Errorf("answer is larger than %d bytes", large.Limit), false
	case errors.Is(err, ErrRedirect):
		return ErrRedirect, false
	case errors.Is(err, ErrAddress):
		return ErrAddress, false
	case errors.As(err, &api):
		return refused(api.HTTPStatusCode)
	case errors.As(err, &request):
		return refused(request.HTTPStatusCode)
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated), errors.Is(err, openai.ErrReasoningModelLimitationsOther):
		return refused(http.StatusBadRequest) // the library refuses what the endpoint would
	case ctx.Err() != nil:
		return fmt.Errorf("no time left: %w", context.DeadlineExceeded), false
	case timed.Err() != nil:
		return fmt.Errorf("no answer within %v: %w", a.Options.Timeout, context.DeadlineExceeded), a.Options.RepeatTimeouts
	}
	return errors.New(a.Options.APIKey.Summary(err)), true // connection refused, reset, cut off, not JSON
}
