package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// An expression is computed in this process, so it must end soon and stay small whatever it says. The
// language has no endless loops, but loops in loops, values that double in each step, and texts and lists
// that are looked through in each turn. So all that passes a meter (see metering).
const (
	maxSource = 16 << 10 // bytes of an expression
	maxNodes  = 2000     // of its syntax tree
	maxDepth  = 64       // of nested values
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
		expr.Function("replace", replace, replace3), expr.Function("join", join, join1, join2), expr.Function("uniq", uniq, uniq1),
	}
	// A run gives the same answer tomorrow, so there is no clock; repeat makes much of little, and uniq compares
	// each with each.
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
	seen := map[string]any{nameBudget: &budget{left: stepBudget}}
	for name, value := range env {
		seen[name] = value
	}
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
		return false, fmt.Errorf("the condition is %s, neither true nor false", kindOf(v))
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
	plain, err := plainValue(reflect.ValueOf(v), 0)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// plainValue is v as JSON can say it.
func plainValue(v reflect.Value, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the value of the expression is nested more than %d deep", maxDepth)
	}
	switch v.Kind() {
	case reflect.Invalid:
		return nil, nil
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64:
		return v.Interface(), nil
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("the value of the expression is no finite number")
		}
		return v.Interface(), nil
	case reflect.Interface:
		return plainValue(v.Elem(), depth)
	case reflect.Slice, reflect.Array:
		list := make([]any, v.Len())
		for i := range list {
			var err error
			if list[i], err = plainValue(v.Index(i), depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case reflect.Map:
		object := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			key, ok := it.Key().Interface().(string)
			if !ok {
				return nil, errors.New("the value of the expression has keys that are no strings")
			}
			var err error
			if object[key], err = plainValue(it.Value(), depth+1); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return nil, fmt.Errorf("the value of the expression is a %s, which JSON does not have", v.Type())
}

// kindOf names a value as JSON does.
func kindOf(v any) string {
	switch reflect.ValueOf(v).Kind() {
	case reflect.Invalid:
		return "null"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map:
		return "an object"
	case reflect.Bool:
		return "a boolean"
	}
	return "a number"
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
		case "$env", nameBudget, nameMeter, nameLook, nameOperate:
			r.wrong = fmt.Sprintf("unknown name %s", n.Value)
		}
	case *ast.BinaryNode:
		if text, ok := n.Right.(*ast.StringNode); ok && n.Operator == "matches" {
			if err := checkPattern(text.Value); err != nil {
				r.wrong = err.Error()
				n.Right = &ast.StringNode{} // compiling it may take all memory
			}
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

// The types of the functions that stand in for builtin ones.
type (
	replace3Func func(s, old, by string) string
	join1Func    func(list any) string
	join2Func    func(list any, between string) string
	uniq1Func    func(list any) []any
)

var (
	replace3 replace3Func
	join1    join1Func
	join2    join2Func
	uniq1    uniq1Func
)

// replace is strings.ReplaceAll, measured before it is done: a long text for each letter of another.
func replace(args ...any) (any, error) {
	s, ok1 := args[0].(string)
	old, ok2 := args[1].(string)
	by, ok3 := args[2].(string)
	if !ok1 || !ok2 || !ok3 {
		return nil, errors.New("replace takes three strings")
	}
	if strings.Count(s, old)*len(by) > 8*stepBudget {
		return nil, errBudget
	}
	return strings.ReplaceAll(s, old, by), nil
}

// join puts a list of strings together, measured before.
func join(args ...any) (any, error) {
	var parts []string
	switch list := args[0].(type) {
	case []string:
		parts = list
	case []any:
		for _, e := range list {
			s, ok := e.(string)
			if !ok {
				return nil, fmt.Errorf("join takes a list of strings, and one element is %s", kindOf(e))
			}
			parts = append(parts, s)
		}
	default:
		return nil, fmt.Errorf("join takes a list, not %s", kindOf(args[0]))
	}
	between := ""
	if len(args) == 2 {
		s, ok := args[1].(string)
		if !ok {
			return nil, errors.New("join puts a string between")
		}
		between = s
	}
	if len(parts)*len(between) > 8*stepBudget {
		return nil, errBudget
	}
	return strings.Join(parts, between), nil
}

// uniq is a list without what is equal to an earlier element. Numbers are equal whatever their type.
func uniq(args ...any) (any, error) {
	list := reflect.ValueOf(args[0])
	if list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("uniq takes a list, not %s", kindOf(args[0]))
	}
	seen, out := map[any]bool{}, []any{}
	for i := range list.Len() {
		element := list.Index(i).Interface()
		key := element
		switch v := element.(type) {
		case nil, bool, string, float64:
		case int:
			key = float64(v)
		default:
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			key = [1]string{string(text)} // is equal to no text
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, element)
		}
	}
	return out, nil
}
