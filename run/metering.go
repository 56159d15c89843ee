package run

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"
)

// stepBudget bounds the values that one evaluation may make or look through, and letters by eights.
const stepBudget = 1 << 20

var errBudget = fmt.Errorf("the expression takes more than its budget of %d steps", stepBudget)

// The names of what meters. None is a name that can be written.
const (
	nameBudget  = "budget of this evaluation"
	nameMeter   = "meter of this evaluation"
	nameLook    = "look of this evaluation"
	nameOperate = "operator of this evaluation"
)

var meters = []expr.Option{expr.Function(nameMeter, meter), expr.Function(nameLook, look), expr.Function(nameOperate, operate)}

// metering has everything counted that makes or looks through values:
//
//	what makes values       f(…), a + b, [a], {a: b}, 1..9     their weight, when they are made
//	what turns              filter(list, …)                   the value of each turn
//	what looks through      f(list), f(text)                  the length of what is given, or its weight
//	what compares           a == b, a in b, a matches b, …    the weight of what is compared
type metering struct{}

func (metering) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ArrayNode, *ast.MapNode:
		*node = metered(n)
	case *ast.BuiltinNode:
		lookAt(n.Name, n.Arguments)
		*node = metered(n)
	case *ast.CallNode:
		callee, named := n.Callee.(*ast.IdentifierNode)
		if named && slices.Contains([]string{nameMeter, nameLook, nameOperate}, callee.Value) {
			return
		}
		if named {
			lookAt(callee.Value, n.Arguments)
		}
		*node = metered(n)
	case *ast.BinaryNode:
		switch _, compares := operators[n.Operator]; {
		case n.Operator == "+" || n.Operator == "..":
			*node = metered(n)
		case compares:
			*node = calling(nameOperate, n, &ast.StringNode{Value: n.Operator}, n.Left, n.Right)
		}
	case *ast.PredicateNode:
		n.Node = metered(n.Node)
	}
}

// Functions that do not look through what they are given, and those that do to its depth.
var (
	glancing = []string{"len", "type", "first", "last", "get", "take"}
	deepDown = []string{"max", "min", "mean", "median", "toJSON", "flatten", "uniq"}
)

// lookAt has the arguments of a function counted as far as it looks into them. The turns of a function that
// goes through a list are counted one by one.
func lookAt(function string, arguments []ast.Node) {
	turns := slices.ContainsFunc(arguments, func(a ast.Node) bool { _, ok := a.(*ast.PredicateNode); return ok })
	if turns || slices.Contains(glancing, function) {
		return
	}
	name := nameLook
	if slices.Contains(deepDown, function) {
		name = nameMeter
	}
	for i, a := range arguments {
		arguments[i] = calling(name, a, a)
	}
}

func metered(n ast.Node) ast.Node { return calling(nameMeter, n, n) }

func calling(function string, at ast.Node, arguments ...ast.Node) ast.Node {
	call := &ast.CallNode{
		Callee:    &ast.IdentifierNode{Value: function},
		Arguments: append([]ast.Node{&ast.IdentifierNode{Value: nameBudget}}, arguments...),
	}
	call.SetLocation(at.Location())
	return call
}

// budget is what one evaluation may still do.
type budget struct {
	left     int
	patterns map[string]*pattern
}

func (b *budget) take(n int) bool {
	b.left -= n
	return b.left >= 0
}

// meter counts a value with all that is in it.
func meter(args ...any) (any, error) {
	b, _ := args[0].(*budget)
	if b == nil || !b.spend(args[1], 0) {
		return nil, errBudget
	}
	return args[1], nil
}

// look counts the length of a value.
func look(args ...any) (any, error) {
	b, _ := args[0].(*budget)
	if b == nil || !b.take(1+length(args[1])) {
		return nil, errBudget
	}
	return args[1], nil
}

func length(v any) int {
	switch v := reflect.ValueOf(v); v.Kind() {
	case reflect.String:
		return v.Len() / 8
	case reflect.Slice, reflect.Array, reflect.Map:
		return v.Len()
	}
	return 0
}

// spend takes off what a value weighs, and reports whether that was left.
func (b *budget) spend(v any, depth int) bool {
	if b.left--; b.left < 0 || depth > maxDepth {
		return false
	}
	switch v := v.(type) {
	case nil, bool, int, float64:
	case string:
		b.left -= len(v) / 8
	case []any:
		for _, e := range v {
			if !b.spend(e, depth+1) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			b.left -= len(k) / 8
			if !b.spend(e, depth+1) {
				return false
			}
		}
	default:
		return b.spendOther(reflect.ValueOf(v), depth)
	}
	return b.left >= 0
}

func (b *budget) spendOther(v reflect.Value, depth int) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !b.spend(v.Index(i).Interface(), depth+1) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !b.spend(it.Key().Interface(), depth+1) || !b.spend(it.Value().Interface(), depth+1) {
				return false
			}
		}
	}
	return b.left >= 0
}

// operators are those that compare, as the language has them.
var operators = map[string]func(a, b any) any{
	"==": func(a, b any) any { return runtime.Equal(a, b) },
	"!=": func(a, b any) any { return !runtime.Equal(a, b) },
	"<":  func(a, b any) any { return runtime.Less(a, b) },
	"<=": func(a, b any) any { return runtime.LessOrEqual(a, b) },
	">":  func(a, b any) any { return runtime.More(a, b) },
	">=": func(a, b any) any { return runtime.MoreOrEqual(a, b) },
	"in": func(a, b any) any { return runtime.In(a, b) },

	"contains":   ofTexts(strings.Contains),
	"startsWith": ofTexts(strings.HasPrefix),
	"endsWith":   ofTexts(strings.HasSuffix),
	"matches":    nil, // see [budget.matches]
}

// ofTexts is false where there is no text.
func ofTexts(f func(a, b string) bool) func(a, b any) any {
	return func(a, b any) any { return !runtime.IsNil(a) && !runtime.IsNil(b) && f(a.(string), b.(string)) }
}

// operate compares, after what that takes is counted.
func operate(args ...any) (any, error) {
	b, _ := args[0].(*budget)
	operator, _ := args[1].(string)
	left, right := args[2], args[3]
	if b == nil {
		return nil, errBudget
	}
	if operator == "matches" {
		return b.matches(left, right)
	}
	enough := false
	switch kind := reflect.ValueOf(right).Kind(); {
	case operator == "in" && kind != reflect.Map: // each element is compared
		enough = b.spend(right, 0)
	case operator == "contains":
		enough = b.take(1 + length(left))
	case kind == reflect.Slice || kind == reflect.Map:
		if reflect.ValueOf(left).Kind() == kind && operator != "in" { // side by side
			enough = b.spend(left, 0)
			break
		}
		fallthrough
	default: // as far as the shorter one goes
		enough = b.take(1 + min(length(left), length(right)))
	}
	if !enough {
		return nil, errBudget
	}
	return operators[operator](left, right), nil
}

// pattern is a compiled regular expression and its size in instructions.
type pattern struct {
	*regexp.Regexp
	size int
}

const (
	patternSize = 2000 // instructions of a pattern, at most
	patternCost = 2000 // steps that compiling one takes
)

var errPattern = fmt.Errorf("the pattern is too large: it stands for more than %d steps", patternSize)

// checkPattern reports what is wrong with a pattern before it is compiled: {1000} is short and makes much.
func checkPattern(text string) error {
	if len(text) > patternSize {
		return errPattern
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("the pattern cannot be read: %w", err)
	}
	if sizeOf(tree) > patternSize {
		return errPattern
	}
	return nil
}

// sizeOf is about how many instructions a pattern compiles to.
func sizeOf(r *syntax.Regexp) int {
	n := 1 + len(r.Rune)
	for _, sub := range r.Sub {
		n += sizeOf(sub)
	}
	if r.Op == syntax.OpRepeat {
		n *= max(1, r.Min, r.Max)
	}
	return n
}

// matches looks for a pattern. The time that takes is bounded by the product of text and pattern.
func (b *budget) matches(text, by any) (any, error) {
	if runtime.IsNil(text) || runtime.IsNil(by) {
		return false, nil
	}
	s, ok1 := text.(string)
	source, ok2 := by.(string)
	if !ok1 || !ok2 {
		return nil, errors.New("matches takes a text and a pattern")
	}
	p := b.patterns[source]
	if p == nil {
		if !b.take(patternCost) {
			return nil, errBudget
		}
		if err := checkPattern(source); err != nil {
			return nil, err
		}
		compiled, err := regexp.Compile(source)
		if err != nil {
			return nil, fmt.Errorf("the pattern cannot be read: %w", err)
		}
		tree, _ := syntax.Parse(source, syntax.Perl) // it was read before
		p = &pattern{compiled, sizeOf(tree)}
		if b.patterns == nil {
			b.patterns = map[string]*pattern{}
		}
		b.patterns[source] = p
	}
	if !b.take(1 + len(s)*p.size/16) {
		return nil, errBudget
	}
	return p.MatchString(s), nil
}
