package request

import "context"

// Exchange is one request and its answer, for the log.
type Exchange struct {
	Id       string
	Failure  error            // behind a 5xx; never shown to the caller
	BodyRead func(size int64) // called once the body has been read to its end; may be nil
	Size     int64            // of the body, as far as it was read
	Ended    []func()         // called once the request is answered

	// Progress tells the caller how far the work is; nil: it did not ask.
	Progress func(done, total float64, message string)
}

type exchangeKey struct{}

// WithExchange is a context of a request.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// ExchangeFrom is never nil, so that code outside a request may note a failure without a check.
func ExchangeFrom(ctx context.Context) *Exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return new(Exchange)
}
