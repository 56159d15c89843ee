package judge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sashabaranov/go-openai"

	"waymark/internal/endpoint"
)

// forms are the ways to write a request, the fullest first. An endpoint that turns one down as malformed
// is asked in the next; the first one it takes is remembered.
var forms = []struct{ schema, sampling bool }{
	{schema: true, sampling: true},  // asks for JSON by schema and for the likeliest reply
	{schema: true, sampling: false}, // reasoning models take no temperature
	{schema: false, sampling: true}, // older local servers know no schema
	{schema: false, sampling: false},
}

// errOverBudget ends the attempts of one question.
var errOverBudget = errors.New("the budget is used up")

// send makes requests until one is answered. Broken connections, 408, 429 and 5xx are worth
// another attempt, silence until the timeout is not; what the endpoint wishes in Retry-After is heard. It counts attempts and tokens into a.
func (p *purse) send(ctx context.Context, q Question, talk []openai.ChatCompletionMessage, a *Answer) Answer {
	c := p.client
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = c.options.FirstDelay, 2, 10*time.Second
	var last error // what happened, rather than that waiting for it ended
	answer, err := backoff.Retry(ctx, func() (Answer, error) {
		answer, after, err := p.inSomeForm(ctx, q, talk, a)
		last = err
		var refusal *endpoint.Error
		switch {
		case err == nil:
			return answer, nil
		case errors.Is(err, errOverBudget), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, endpoint.ErrRedirect), errors.Is(err, endpoint.ErrAddress),
			errors.As(err, &refusal) && !refusal.Transient():
			return answer, backoff.Permanent(err)
		case after > 0:
			return answer, &backoff.RetryAfterError{Duration: after}
		}
		return answer, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(c.options.Attempts)), backoff.WithMaxElapsedTime(remaining(ctx)))
	switch {
	case err == nil:
		return answer
	case last == nil, errors.Is(ctx.Err(), context.Canceled):
		return c.given(ctx)
	case errors.Is(last, errOverBudget):
		return Answer{Outcome: OverBudget, Detail: errOverBudget.Error()}
	case errors.Is(last, context.DeadlineExceeded):
		return Answer{Outcome: TimedOut, Detail: last.Error()}
	}
	return Answer{Outcome: Unavailable, Detail: last.Error()}
}

// remaining is the time until the deadline of ctx, which Ask always sets.
func remaining(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return max(time.Until(deadline), time.Nanosecond)
}

// inSomeForm makes one request in the fullest form that the endpoint takes.
func (p *purse) inSomeForm(ctx context.Context, q Question, talk []openai.ChatCompletionMessage, a *Answer) (Answer, time.Duration, error) {
	first := int(p.client.form.Load())
	for form := first; ; form++ {
		answer, after, err := p.request(ctx, q, talk, form, a)
		var refusal *endpoint.Error
		if errors.As(err, &refusal) && refusal.AboutInput() && form < len(forms)-1 {
			continue
		}
		if err == nil && form > first {
			p.client.form.Store(int32(form))
		}
		return answer, after, err
	}
}

// request asks once.
func (p *purse) request(ctx context.Context, q Question, talk []openai.ChatCompletionMessage, form int, a *Answer) (Answer, time.Duration, error) {
	c := p.client
	if !p.take() {
		return Answer{}, 0, errOverBudget
	}
	a.Attempts++
	one, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	response, err := c.api.CreateChatCompletion(one, c.body(q, talk, form))
	if err != nil {
		return Answer{}, endpoint.RetryAfter(response.Header(), c.options.Now()), c.explain(ctx, one, err)
	}
	a.Tokens += response.Usage.TotalTokens
	p.spend(response.Usage.TotalTokens)
	return understand(response, q), 0, nil
}

func (c *Client) body(q Question, talk []openai.ChatCompletionMessage, form int) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: c.options.Model, Messages: talk}
	if forms[form].sampling {
		r.MaxTokens = c.options.MaxTokens           //lint:ignore SA1019 the name that local servers know; the other forms have the new one
		r.Temperature = math.SmallestNonzeroFloat32 // the library leaves a 0 out
	} else {
		r.MaxCompletionTokens = c.options.MaxTokens
	}
	if forms[form].schema {
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Name, Schema: q.Schema, Strict: true},
		}
	}
	return r
}

// understand reads what an endpoint answered. A refusal comes as a field of its own, as the reason of the
// end, or as prose.
func understand(r openai.ChatCompletionResponse, q Question) Answer {
	if len(r.Choices) == 0 {
		return Answer{Outcome: Unparsable, Detail: "the endpoint answered without a reply"}
	}
	choice := r.Choices[0]
	text := choice.Message.Content
	switch {
	case choice.Message.Refusal != "":
		return Answer{Outcome: Refused, Reply: choice.Message.Refusal, Detail: "the model refused"}
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return Answer{Outcome: Refused, Reply: text, Detail: "a content filter ended the reply"}
	}
	a := Read(text, q)
	if a.Outcome == Unparsable && choice.FinishReason == openai.FinishReasonLength {
		a.Detail = "the reply was cut off at its longest: " + a.Detail
	}
	return a
}

// explain puts an error of the library into words that hold neither the key nor a whole answer.
func (c *Client) explain(ctx, one context.Context, err error) error {
	var (
		api     *openai.APIError
		request *openai.RequestError
		large   *http.MaxBytesError
	)
	key := c.options.APIKey
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.As(err, &large):
		return fmt.Errorf("answer is larger than %d bytes", large.Limit)
	case errors.Is(err, endpoint.ErrRedirect):
		return endpoint.ErrRedirect
	case errors.Is(err, endpoint.ErrAddress):
		return endpoint.ErrAddress
	case errors.As(err, &api):
		return &endpoint.Error{Status: api.HTTPStatusCode, Code: key.Code(api.Code, api.Type)}
	case errors.As(err, &request):
		return &endpoint.Error{Status: request.HTTPStatusCode}
	case errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated), errors.Is(err, openai.ErrReasoningModelLimitationsOther):
		return &endpoint.Error{Status: http.StatusBadRequest, Code: "no_temperature"}
	case ctx.Err() != nil:
		return fmt.Errorf("no time left: %w", context.DeadlineExceeded)
	case one.Err() != nil:
		return fmt.Errorf("no answer within %v: %w", c.options.Timeout, context.DeadlineExceeded)
	}
	return errors.New(key.Summary(err)) // connection refused, reset, cut off, not JSON
}
