package server

import "context"

// exchange is one request and its answer, for the log.
type exchange struct {
	id       string
	failure  error            // behind a 5xx; never shown to the caller
	bodyRead func(size int64) // called once the body has been read to its end; may be nil
	about    string           // what an act of an administrator made, for the audit log
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeFrom is never nil, so that code outside a request may note a failure without a check.
func exchangeFrom(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return new(exchange)
}
