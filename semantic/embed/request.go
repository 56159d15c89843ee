package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

// retry asks for one batch until it succeeds, fails for good, or runs out of attempts or time.
// Timeouts, broken connections, cut-off answers, 408, 429 and 5xx are worth another attempt; an
// answer that is whole and wrong is not.
func (c *Client) retry(ctx context.Context, batch []string) ([][]float32, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = c.options.FirstDelay, 2, 10*time.Second
	var last error // what happened, rather than that waiting for it ended
	attempts := 0
	vectors, err := backoff.Retry(ctx, func() ([][]float32, error) {
		attempts++
		v, after, again, err := c.request(ctx, batch)
		last = err
		switch {
		case err == nil:
			return v, nil
		case !again:
			return nil, backoff.Permanent(err)
		case after > 0:
			return nil, &backoff.RetryAfterError{Duration: after}
		}
		return nil, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(c.options.Attempts)), backoff.WithMaxElapsedTime(remaining(ctx)))
	if err == nil {
		return vectors, nil
	}
	if errors.Is(err, context.Canceled) {
		return nil, context.Canceled
	}
	if attempts > 1 {
		return nil, fmt.Errorf("%d attempts: %w", attempts, last)
	}
	return nil, last
}

// remaining is the time until the deadline of ctx, which Embed always sets.
func remaining(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline), time.Nanosecond)
}

// request asks once. again tells whether another attempt may help, and after how long the endpoint
// wishes it, if it said so.
func (c *Client) request(ctx context.Context, batch []string) (vectors [][]float32, after time.Duration, again bool, err error) {
	one, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	answer, err := c.api.CreateEmbeddings(one, openai.EmbeddingRequest{
		Input: batch, Model: openai.EmbeddingModel(c.options.Model), Dimensions: c.options.Dimensions,
	})
	if err != nil {
		err, again = c.explain(ctx, one, err)
		return nil, endpoint.RetryAfter(answer.Header(), c.options.Now()), again, err
	}
	if vectors, err = place(answer.Data, len(batch)); err != nil {
		return nil, 0, false, err
	}
	if err := c.agree(vectors[0]); err != nil {
		return nil, 0, false, err
	}
	return vectors, 0, false, nil
}

// explain puts an error of the library into words that hold neither the key nor a whole answer.
func (c *Client) explain(ctx, one context.Context, err error) (_ error, again bool) {
	var (
		api     *openai.APIError
		request *openai.RequestError
		large   *http.MaxBytesError
	)
	refused := func(status int, code ...any) (error, bool) {
		e := &Error{Status: status, Code: c.options.APIKey.Code(code...)}
		return e, e.Transient()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled, false
	case errors.As(err, &large):
		return fmt.Errorf("answer is larger than %d bytes", large.Limit), false
	case errors.Is(err, endpoint.ErrRedirect):
		return endpoint.ErrRedirect, false
	case errors.Is(err, endpoint.ErrAddress):
		return endpoint.ErrAddress, false
	case errors.As(err, &api):
		return refused(api.HTTPStatusCode, api.Code, api.Type)
	case errors.As(err, &request):
		return refused(request.HTTPStatusCode)
	case ctx.Err() != nil:
		return fmt.Errorf("no time left: %w", context.DeadlineExceeded), false
	case one.Err() != nil:
		return fmt.Errorf("no answer within %v: %w", c.options.Timeout, context.DeadlineExceeded), true
	}
	return errors.New(c.options.APIKey.Summary(err)), true // connection refused, reset, cut off, not JSON
}
