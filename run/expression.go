package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An expression is computed in this process, so it must end soon and stay small whatever it says. The
// language has no endless loops, but loops in loops and values that double in each step. So beside the limits of
// the library, on nodes and on memory, values and turns pass a meter (see metering).
const (
	maxSource = 16 << 10        // bytes of an expression
	maxNodes  = 2000            // of its syntax tree
	maxDepth  = 64              // of nested values
	patience  = 2 * time.Second // with one evaluation
)

// The names that an expression sees.
const (
	nameIntent = "intent"
	nameParams = "params"
	nameTasks  = "tasks"
)

// taskParts are what an expression may ask of a task.
var taskParts = []string{"result", "state", "error"}

// expression is a compiled one.
type expression struct {
	program *vm.Program
	tasks   []string // ids of the tasks whose results it reads, sorted
}

// compileExpression compiles a condition (wantBool) or a value.
func compileExpression(source string, wantBool bool) (*expression, error) {
	switch {
	case strings.TrimSpace(source) == "":
		return nil, errors.New("the expression is empty")
	case len(source) > maxSource:
		return nil, fmt.Errorf("the expression has %d bytes, at most %d", len(source), maxSource)
	case !utf8.ValidString(source):
		return nil, errors.New("the expression is not valid UTF-8")
	}
	reads := &reader{}
	options := []expr.Option{
		expr.Env(types.Map{nameIntent: types.String, nameParams: types.Any, nameTasks: types.Any, nameBudget: types.Any}),
		expr.MaxNodes(maxNodes), expr.Optimize(false), expr.Patch(reads),
	}
	// A run gives the same answer tomorrow, so there is no clock; repeat, replace and join make much of little before
	// it is metered, and uniq compares each with each.
	for _, name := range []string{"now", "date", "duration", "timezone", "repeat", "replace", "join", "uniq"} {
		options = append(options, expr.DisableBuiltin(name))
	}
	if wantBool {
		options = append(options, expr.AsBool())
	}
	_, err := expr.Compile(source, options...) // with the types, which the meter hides
	if reads.wrong != "" {
		return nil, errors.New(reads.wrong)
	}
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	if reads.mentions != reads.named {
		return nil, errors.New("tasks are named one by one, as in tasks.t1.result, so that it is known which come first")
	}
	program, err := expr.Compile(source, append(options, append(meters, expr.Patch(metering{}))...)...)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	slices.Sort(reads.tasks)
	return &expression{program, slices.Compact(reads.tasks)}, nil
}

// oneLine is the first line of an error of the compiler, without its drawing.
func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// eval computes the expression. intent, params and tasks are what it sees.
func (x *expression) eval(env map[string]any) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	seen := maps.Clone(env)
	seen[nameBudget] = &budget{left: stepBudget, until: time.Now().Add(patience)}
	v, err = expr.Run(x.program, seen)
	if err != nil {
		if errors.Is(err, errBudget) || strings.Contains(err.Error(), "memory budget") {
			return nil, errBudget
		}
		return nil, errors.New(oneLine(err.Error()))
	}
	return v, nil
}

// condition computes an expression that must be true or false.
func (x *expression) condition(env map[string]any) (bool, error) {
	v, err := x.eval(env)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, errors.New("the condition is neither true nor false")
	}
	return b, nil
}

// value computes an expression as JSON.
func (x *expression) value(env map[string]any) (json.RawMessage, error) {
	v, err := x.eval(env)
	if err != nil {
		return nil, err
	}
	// Whatever is in v was metered or came in as JSON, so it is no larger than the budget.
	out, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.EscapeForHTML(true))
	if err != nil {
		return nil, fmt.Errorf("the value of the expression is not JSON: %w", err)
	}
	return out, nil
}

// reader notes which tasks an expression reads.
type reader struct {
	tasks    []string
	mentions int // of the name tasks
	named    int // of them followed by the name of one
	wrong    string
}

func (r *reader) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case nameTasks:
			r.mentions++
		case "$env", nameBudget, nameMeter, nameMatches:
			r.wrong = fmt.Sprintf("unknown name %s", n.Value)
		}
	case *ast.MemberNode:
		property, ok := n.Property.(*ast.StringNode)
		if id, isTasks := n.Node.(*ast.IdentifierNode); ok && isTasks && id.Value == nameTasks {
			r.named++
			r.tasks = append(r.tasks, property.Value)
		}
		if of, isMember := n.Node.(*ast.MemberNode); isMember {
			if id, isTasks := of.Node.(*ast.IdentifierNode); isTasks && id.Value == nameTasks && (!ok || !slices.Contains(taskParts, property.Value)) {
				r.wrong = fmt.Sprintf("a task has %s, as in tasks.t1.result", strings.Join(taskParts, ", "))
			}
		}
	}
}
