package server

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// routes registers operations together with the rules by which the middleware treats them.
type routes struct {
	api     huma.API
	maxBody int64
	timeout time.Duration // of an answer, where its rule has none
	overdue *overdue
	plans   *turns
	// audit notes an act of an administrator.
	audit func(ctx context.Context, act string, asked any, err error)
	rules map[string]rule // by method and gin path
}

// rule is what the middleware must know of a route before it runs.
type rule struct {
	public bool   // answered without a credential
	scope  scopes // needed
	stream bool   // no deadlines, no limit of the whole body
	audit  bool   // an act of an administrator: noted with what was asked
	plan   bool   // computes for long: answered in turn
	ndjson bool   // takes application/x-ndjson
	once   bool   // takes Idempotency-Key

	creates bool // a workspace that does not exist is created: the route records
	global  bool // of no workspace, so it does not matter whether there is one

	also string // a media type that is taken beside application/json
	gzip bool   // packed bodies are taken

	timeout time.Duration // of the answer, default Config.Timeout
	body    int64         // bytes taken where that is more than Config.MaxBody
}

// add registers an operation together with its rule.
func add[I, O any](r *routes, ru rule, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	r.declare(ru, &op)
	if ru.stream {
		huma.Register(r.api, op, handler)
		return
	}
	huma.Register(r.api, op, func(ctx context.Context, in *I) (*O, error) {
		return answerWithin(ctx, r.overdue, r.timeLimit(ru), func() (*O, error) {
			if ru.plan {
				leave, err := r.plans.enter(ctx, accessFrom(ctx).Source)
				if err != nil {
					return nil, err
				}
				defer leave()
			}
			out, err := handler(ctx, in)
			if ru.audit {
				r.audit(ctx, op.OperationID, in, err)
			}
			return out, err
		})
	})
}

// timeLimit is how long an answer of a route may take; streams have no limit.
func (r *routes) timeLimit(ru rule) time.Duration { return cmp.Or(ru.timeout, r.timeout) }

// declare notes the rule of an operation and completes its description.
func (r *routes) declare(ru rule, op *huma.Operation) {
	ginPath := strings.NewReplacer("{", ":", "}", "").Replace(op.Path)
	r.rules[op.Method+" "+ginPath] = ru
	op.MaxBodyBytes = max(r.maxBody, ru.body) + 1 // huma refuses the limit itself; the real limit is in limitBody
	op.BodyReadTimeout = readTimeout
	op.Security = []map[string][]string{{"key": {}}, {}}
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	if !ru.stream {
		op.Errors = append(op.Errors, http.StatusGatewayTimeout)
	}
	if strings.Contains(op.Path, "{") {
		op.Errors = append(op.Errors, http.StatusNotFound)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	if ru.once {
		op.Errors = append(op.Errors, http.StatusConflict, http.StatusInsufficientStorage)
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header",
			Description: "Repeating the request with the same key within 24 hours gives the first answer again.",
			Schema:      &huma.Schema{Type: "string", MinLength: new(1), MaxLength: new(255)}})
	}
	op.Description = strings.TrimSpace(op.Description + "\n\nNeeds scope " + strings.Join(ru.scope.names(), ", ") + ".")
}

// splitList splits the values of a query parameter at commas, by the rule of the command line: each value is a line of
// CSV.
func splitList(name string, values *[]string, most int) []error {
	var list []string
	refused := func(message string) []error {
		return []error{&huma.ErrorDetail{Location: "query." + name, Message: message, Value: *values}}
	}
	for _, value := range *values {
		if value == "" {
			continue
		}
		records, err := csv.NewReader(strings.NewReader(value)).ReadAll()
		switch {
		case err != nil:
			return refused("is no list of values separated by commas: " + err.Error())
		case len(records) != 1 || slices.Contains(records[0], ""):
			return refused("holds an empty value or a line break")
		}
		list = append(list, records[0]...)
	}
	if len(list) > most {
		return refused(fmt.Sprintf("has %d values, at most %d are taken", len(list), most))
	}
	*values = list
	return nil
}

// readTimeout is how long a body may take, and a request whose body is not read to its end.
const readTimeout = 15 * time.Second
