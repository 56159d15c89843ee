package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/server"
)

// operation is the command of an operation of the API: its arguments and flags are fields of the request. Method, path,
// summary, and the types and descriptions of the fields come from the definition of the operation in package server.
//
//	command line ─▶ asked ─▶ request of the operation ─▶ handler in this process, or server ─▶ answer ─▶ show
type operation struct {
	id    string // of the operation
	use   string // the name and the arguments, as cobra shows them
	args  string // the fields of the arguments, in order: "query..." takes all that are left, "id*" sends a request for each, "@" is a file
	flags string // the fields that are flags, as in "intent context=after"
	set   map[string]any
	names string // of the fields that are shown; empty: all. See [app.render]
	wait  string // the operation with the state of the job or run that the request starts; empty: it starts none

	short, long, example string

	confirm string                   // the question asked first, unless --yes is given
	done    string                   // printed after the arguments if the answer is empty
	more    func(cmd *cobra.Command) // adds flags that are not fields
	prepare func(args []string, q *asked) error
	show    shows                                                                  // nil: as tables
	check   func(q *asked, body json.RawMessage) error                             // after show: how the command ends
	around  func(ctx context.Context, c *client, q *asked, one func() error) error // sends requests by calling one
	who     access                                                                 // of the process, where it opens the data directory
}

// shows prints an answer for people.
type shows func(q *asked, body json.RawMessage) error

// asked is a request that is being built and sent.
type asked struct {
	*app
	server.Operation
	fields map[string]any
	body   any    // in place of the fields of the body: a value, or a reader of lines of JSON
	input  string // the file of the body, as the command line names it
	wait   string // of the operation
	source string // under which the server records what is sent
}

// operationsOf returns the operations of the API by id.
var operationsOf = sync.OnceValue(func() map[string]server.Operation {
	all := map[string]server.Operation{}
	for _, o := range server.Operations() {
		all[o.OperationID] = o
	}
	return all
})

// of makes the command of an operation.
func (a *app) of(o operation) *cobra.Command {
	op := operationsOf()[o.id]
	cmd := &cobra.Command{Use: o.use, Short: cmp.Or(o.short, op.Summary), Long: o.long, Example: o.example}
	if cmd.Long == "" {
		text, _, _ := strings.Cut(op.Description, "Needs scope ")
		cmd.Long = strings.TrimSpace(cmd.Short + ". " + text)
	}
	names := flagsOf(cmd, op, o.flags)
	if o.confirm != "" {
		cmd.Flags().BoolVar(&a.yes, "yes", false, "do not ask")
	}
	if o.wait != "" {
		a.progressFlag(cmd)
	}
	if o.more != nil {
		o.more(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := &asked{app: a, Operation: op, fields: map[string]any{}, wait: o.wait}
		maps.Copy(q.fields, o.set)
		for flag, field := range names {
			if err := q.take(cmd.Flags().Lookup(flag), field); err != nil {
				return err
			}
		}
		each, err := q.arguments(strings.Fields(o.args), args)
		if err == nil && o.prepare != nil {
			err = o.prepare(args, q)
		}
		if err == nil && o.confirm != "" {
			err = a.confirm(strings.ReplaceAll(o.confirm, "%s", strings.Join(args, ", ")))
		}
		if err != nil {
			return err
		}
		return a.within(cmd.Context(), cmp.Or(o.who, brief), func(c *client) error {
			one := func() error { return o.one(cmd.Context(), c, q) }
			if o.around != nil {
				return o.around(cmd.Context(), c, q, one)
			}
			for _, value := range each {
				maps.Copy(q.fields, value)
				if err := one(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}

// one sends one request and prints the answer.
func (o *operation) one(ctx context.Context, c *client, q *asked) error {
	body, err := q.answer(ctx, c)
	switch {
	case err != nil:
		return err
	case q.json:
		err = q.printBody(body)
	case len(body) == 0:
		q.printf("%s %s\n", clean(fmt.Sprint(cmp.Or(q.fields["id"], q.fields["name"]))), o.done)
	case o.show != nil:
		err = o.show(q, body)
	default:
		err = q.render(body, o.names)
	}
	if err == nil && o.check != nil {
		err = o.check(q, body)
	}
	return err
}

// flagsOf adds flags for fields of a request, and returns the fields by the names of the flags.
func flagsOf(cmd *cobra.Command, op server.Operation, fields string) map[string]string {
	names, f := map[string]string{}, cmd.Flags()
	for pair := range strings.FieldsSeq(fields) {
		name, flag, _ := strings.Cut(pair, "=")
		flag = cmp.Or(flag, strings.ReplaceAll(name, "_", "-"))
		field := fieldOf(op, name)
		doc := field.Tag.Get("doc")
		if d := field.Tag.Get("default"); d != "" {
			doc += " (default " + d + ")"
		}
		switch names[flag] = name; field.Kind() {
		case "int":
			f.Int(flag, 0, doc)
		case "float64":
			f.Float64(flag, 0, doc)
		case "bool":
			f.Bool(flag, false, doc)
		case "list":
			f.StringSlice(flag, nil, doc)
		default:
			f.String(flag, "", doc)
		}
	}
	return names
}

// fieldOf returns a field of the request of an operation.
func fieldOf(op server.Operation, key string) server.Field {
	fields := op.Fields()
	i := slices.IndexFunc(fields, func(f server.Field) bool { return f.Key == key })
	if i < 0 {
		panic("no field " + key + " of " + op.OperationID) // a mistake of this program
	}
	return fields[i]
}

// take sets a field to the value of a flag, if the flag was given.
func (q *asked) take(f *pflag.Flag, field string) error {
	if !f.Changed {
		return nil
	}
	text := f.Value.String()
	switch list, many := f.Value.(pflag.SliceValue); {
	case many && len(list.GetSlice()) == 0: // it would read as none given
		return usagef("--%s is empty", f.Name)
	case many:
		q.fields[field] = list.GetSlice()
	case f.Value.Type() == "bool":
		q.fields[field] = text == "true"
	case f.Value.Type() == "int", f.Value.Type() == "float64":
		if !json.Valid([]byte(text)) {
			return usagef("--%s must be a finite number, got %s", f.Name, text)
		}
		q.fields[field] = json.Number(text)
	default:
		q.fields[field] = text
	}
	return nil
}

// arguments sets the fields at the places of the arguments. It returns the fields that differ between the requests.
func (q *asked) arguments(places, args []string) (each []map[string]any, err error) {
	each = []map[string]any{{}}
	for i, place := range places {
		switch name := strings.TrimRight(place, ".*"); {
		case i >= len(args):
		case place == "@":
			err = q.read(args[i])
		case strings.HasSuffix(place, "*"):
			each = nil
			for _, arg := range args[i:] {
				each = append(each, map[string]any{name: arg})
			}
		case !strings.HasSuffix(place, "..."):
			q.fields[name] = args[i]
		case fieldOf(q.Operation, name).Kind() == "list":
			given, _ := q.fields[name].([]string)
			q.fields[name] = slices.Concat(given, args[i:])
		default:
			q.fields[name] = strings.Join(args[i:], " ")
		}
	}
	return each, err
}

// read takes the members of a JSON object in a file as fields, or another value as the body.
func (q *asked) read(path string) error {
	text, err := q.jsonInput(path)
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		q.body = text
	}
	for name, value := range members {
		if q.fields[name] == nil { // a flag comes first
			q.fields[name] = value
		}
	}
	q.input = path
	return err
}

// answer sends the request, waits for the job or run that it starts, and returns the body of the last answer.
func (q *asked) answer(ctx context.Context, c *client) (json.RawMessage, error) {
	r, err := requestOf(q.Operation, q.fields, q.body)
	if err != nil {
		return nil, err
	}
	sent := time.Now()
	r.source = q.source
	answer, err := c.send(ctx, r)
	if q.input != "" && err != nil {
		err = refusedInput(named(q.input), err)
	}
	if err == nil && q.wait != "" {
		return q.await(ctx, c, sent, answer)
	}
	return answer, err
}

// requestOf returns the request of an operation: fields that are no parameters of it are fields of its body. other, a
// value or a reader of lines of JSON, replaces the fields of the body.
func requestOf(o server.Operation, fields map[string]any, other any) (r call, err error) {
	query, body, parameters := url.Values{}, map[string]any{}, map[string]server.Field{}
	for _, f := range o.Fields() {
		if parameters[f.Key] = f; f.In == "body" && other == nil {
			other = body
		}
	}
	r = call{method: o.Method, path: o.Path}
	for key, value := range fields {
		f := parameters[key]
		switch list, many := value.([]string); {
		case f.In == "path":
			r.path = strings.ReplaceAll(r.path, "{"+f.Name+"}", url.PathEscape(fmt.Sprint(value)))
		case f.In == "query" && many:
			query[f.Name] = list
		case f.In == "query":
			query.Set(f.Name, fmt.Sprint(value))
		default:
			body[cmp.Or(f.Name, key)] = value
		}
	}
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	if other == nil && len(body) > 0 {
		other = body
	}
	switch lines, ok := other.(io.Reader); {
	case ok:
		r.body, r.mediaType = lines, "application/x-ndjson"
	case other != nil:
		text, err := json.Marshal(other)
		if err != nil {
			return r, fmt.Errorf("encode the request for %s: %w", o.OperationID, err)
		}
		r.body, r.mediaType = bytes.NewReader(text), "application/json"
	}
	return r, nil
}
