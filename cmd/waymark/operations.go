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
	args  string // the fields of the arguments, in order: "query..." takes all that are left, "id*" sends a request for each
	flags string // the fields that are flags, as in "intent context=after"
	set   map[string]any

	columns string // of the objects listed in the answer, that are shown; empty: all. See [app.render]

	short, long, example string

	confirm string                   // the question asked first, unless --yes is given
	done    string                   // printed after the arguments if the answer is empty
	more    func(cmd *cobra.Command) // adds flags that are not fields
	prepare func(cmd *cobra.Command, args []string, q *asked) error
	show    shows                                                // nil: as tables
	check   func(a *app, q *asked, body json.RawMessage) error   // after show: how the command ends
	follow  func(ctx context.Context, c *client, q *asked) error // in place of request, show and check
	who     access                                               // of the process, where it opens the data directory
}

// shows prints an answer for people.
type shows func(a *app, q *asked, body json.RawMessage) error

// asked is a request that is being built and sent.
type asked struct {
	server.Operation
	fields map[string]any
	body   any    // in place of the fields of the body: a value, or a reader of lines of JSON
	input  string // the file of the body, as the command line names it
	file   io.Closer
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
	op, known := operationsOf()[o.id]
	if !known {
		panic("no operation " + o.id) // a mistake of this program
	}
	cmd := &cobra.Command{Use: o.use, Short: o.short, Long: o.long, Example: o.example}
	if cmd.Short == "" {
		cmd.Short = op.Summary
	}
	if cmd.Long == "" {
		cmd.Long, _, _ = strings.Cut(op.Description, "Needs scope ")
		cmd.Long = strings.TrimSpace(cmd.Short + ". " + cmd.Long)
	}
	names := flagsOf(cmd, op, o.flags)
	if o.confirm != "" {
		cmd.Flags().BoolVar(&a.yes, "yes", false, "do not ask")
	}
	places := strings.Fields(o.args)
	if o.more != nil {
		o.more(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := asked{Operation: op, fields: maps.Clone(o.set)}
		if q.fields == nil {
			q.fields = map[string]any{}
		}
		for flag, field := range names {
			if err := q.take(cmd.Flags().Lookup(flag), field); err != nil {
				return err
			}
		}
		each := []string{""}
		for i, place := range places {
			switch name := strings.TrimRight(place, ".*"); {
			case strings.HasSuffix(place, "*"):
				each = args[i:]
				q.fields[name] = nil
			case strings.HasSuffix(place, "..."):
				q.fields[name] = strings.Join(args[i:], " ")
			case i < len(args):
				q.fields[name] = args[i]
			}
		}
		if o.prepare != nil {
			if err := o.prepare(cmd, args, &q); err != nil {
				return err
			}
		}
		if q.file != nil {
			defer q.file.Close()
		}
		if o.confirm != "" {
			if err := a.confirm(strings.ReplaceAll(o.confirm, "%s", strings.Join(args, ", "))); err != nil {
				return err
			}
		}
		return a.within(cmd.Context(), cmp.Or(o.who, brief), func(c *client) error {
			if o.follow != nil {
				return o.follow(cmd.Context(), c, &q)
			}
			for _, one := range each {
				if one != "" {
					q.fields[strings.TrimRight(places[len(places)-1], "*")] = one
				}
				body, err := q.send(cmd.Context(), c)
				if err == nil {
					err = o.print(a, &q, cmp.Or(one, strings.Join(args, " ")), body)
				}
				if err == nil && o.check != nil {
					err = o.check(a, &q, body)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return cmd
}

// print prints an answer: unchanged with --json, else in the form of the operation.
func (o *operation) print(a *app, q *asked, about string, body json.RawMessage) error {
	switch {
	case a.json:
		return a.printBody(body)
	case len(body) == 0:
		a.printf("%s %s\n", clean(about), o.done)
		return nil
	case o.show != nil:
		return o.show(a, q, body)
	}
	return a.render(body, "", o.columns)
}

// showing returns a function that decodes an answer and shows it.
func showing[Answer any](show func(*app, Answer)) shows {
	return func(a *app, _ *asked, body json.RawMessage) error {
		var answer Answer
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("unexpected answer: %w", err)
		}
		show(a, answer)
		return nil
	}
}

// flagsOf adds flags for fields of a request, and returns the fields by the names of the flags.
func flagsOf(cmd *cobra.Command, op server.Operation, fields string) map[string]string {
	names, f := map[string]string{}, cmd.Flags()
	for pair := range strings.FieldsSeq(fields) {
		name, flag, renamed := strings.Cut(pair, "=")
		if !renamed {
			flag = strings.ReplaceAll(name, "_", "-")
		}
		i := slices.IndexFunc(op.Fields(), func(f server.Field) bool { return f.Key == name })
		if i < 0 {
			panic("no field " + name + " of " + op.OperationID) // a mistake of this program
		}
		field := op.Fields()[i]
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
		if values := field.Tag.Get("enum"); values != "" {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(strings.Split(values, ","), cobra.ShellCompDirectiveNoFileComp)) // the flag was made just now
		}
	}
	return names
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

// send sends the request and returns the body of the answer.
func (q *asked) send(ctx context.Context, c *client) (json.RawMessage, error) {
	r, err := requestOf(q.Operation, q.fields, q.body)
	if err != nil {
		return nil, err
	}
	answer, err := c.send(ctx, r)
	if q.input != "" && err != nil {
		return nil, refusedInput(named(q.input), err)
	}
	return answer, err
}

// requestOf returns the request of an operation with these fields. other, a value or a reader of lines of JSON,
// replaces the fields of the body.
func requestOf(o server.Operation, fields map[string]any, other any) (r call, err error) {
	query, body := url.Values{}, map[string]any{}
	r = call{method: o.Method, path: o.Path}
	for _, f := range o.Fields() {
		if f.In == "body" && other == nil {
			other = body
		}
		value, given := fields[f.Key]
		switch list, many := value.([]string); {
		case !given:
		case f.In == "path":
			r.path = strings.ReplaceAll(r.path, "{"+f.Name+"}", url.PathEscape(fmt.Sprint(value)))
		case f.In == "query" && many:
			query[f.Name] = list
		case f.In == "query":
			query.Set(f.Name, fmt.Sprint(value))
		default:
			body[f.Name] = value
		}
	}
	if len(query) > 0 {
		r.path += "?" + query.Encode()
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
