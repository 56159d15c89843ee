// Package route registers the operations of the HTTP API together with the rules by which the middleware treats them.
package route

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

	"waymark/server/internal/limit"
	"waymark/server/internal/request"
)

// Table registers operations together with the rules by which the middleware treats them.
type Table struct {
	API     huma.API
	MaxBody int64
	Timeout time.Duration // of an answer, where its rule has none
	Overdue *limit.Overdue
	Plans   *limit.Turns
	// Audit notes an act of an administrator.
	Audit func(ctx context.Context, act string, asked any, err error)
	Rules map[string]Rule // by method and gin path
}

// Rule is what the middleware must know of a route before it runs.
type Rule struct {
	Public bool           // answered without a credential
	Scope  request.Scopes // needed
	Stream bool           // no deadlines, no limit of the whole body
	Audit  bool           // an act of an administrator: noted with what was asked
	Plan   bool           // computes for long: answered in turn
	Ndjson bool           // takes application/x-ndjson
	Once   bool           // takes Idempotency-Key

	Creates bool // a workspace that does not exist is created: the route records
	Global  bool // of no workspace, so it does not matter whether there is one

	Also string // a media type that is taken beside application/json
	Gzip bool   // packed bodies are taken

	Timeout time.Duration // of the answer, default Config.Timeout
	Body    int64         // bytes taken where that is more than Config.MaxBody
}

// Add registers an operation together with its rule.
func Add[I, O any](r *Table, ru Rule, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	r.Declare(ru, &op)
	if ru.Stream {
		huma.Register(r.API, op, handler)
		return
	}
	huma.Register(r.API, op, func(ctx context.Context, in *I) (*O, error) {
		return limit.Within(ctx, r.Overdue, r.TimeLimit(ru), func() (*O, error) {
			if ru.Plan {
				leave, err := r.Plans.Enter(ctx, request.From(ctx).Source)
				if err != nil {
					return nil, err
				}
				defer leave()
			}
			out, err := handler(ctx, in)
			if ru.Audit {
				r.Audit(ctx, op.OperationID, in, err)
			}
			return out, err
		})
	})
}

// TimeLimit is how long an answer of a route may take; streams have no limit.
func (r *Table) TimeLimit(ru Rule) time.Duration { return cmp.Or(ru.Timeout, r.Timeout) }

// Declare notes the rule of an operation and completes its description.
func (r *Table) Declare(ru Rule, op *huma.Operation) {
	ginPath := strings.NewReplacer("{", ":", "}", "").Replace(op.Path)
	r.Rules[op.Method+" "+ginPath] = ru
	op.MaxBodyBytes = max(r.MaxBody, ru.Body) + 1 // huma refuses the limit itself; the real limit is in limitBody
	op.BodyReadTimeout = ReadTimeout
	op.Security = []map[string][]string{{"key": {}}, {}}
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable)
	if !ru.Stream {
		op.Errors = append(op.Errors, http.StatusGatewayTimeout)
	}
	if strings.Contains(op.Path, "{") {
		op.Errors = append(op.Errors, http.StatusNotFound)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodDelete {
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	if ru.Once {
		op.Errors = append(op.Errors, http.StatusConflict, http.StatusInsufficientStorage)
		op.Parameters = append(op.Parameters, &huma.Param{Name: "Idempotency-Key", In: "header",
			Description: "Repeating the request with the same key within 24 hours gives the first answer again.",
			Schema:      &huma.Schema{Type: "string", MinLength: new(1), MaxLength: new(255)}})
	}
	op.Description = strings.TrimSpace(op.Description + "\n\nNeeds scope " + strings.Join(ru.Scope.Names(), ", ") + ".")
}

// SplitList splits the values of a query parameter at commas, by the rule of the command line: each value is a line of
// CSV.
func SplitList(name string, values *[]string, most int) []error {
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

// ReadTimeout is how long a body may take, and a request whose body is not read to its end.
const ReadTimeout = 15 * time.Second
