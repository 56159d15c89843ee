package run

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
)

// stepBudget bounds the weight of the values that one evaluation makes: one for each, and letters by eights.
const stepBudget = 1 << 20

var errBudget = fmt.Errorf("the expression takes more than its budget of %d steps or %v", stepBudget, patience)

// The names of what meters. None is a name that can be written.
const (
	nameBudget  = "budget of this evaluation"
	nameMeter   = "meter of this evaluation"
	nameMatches = "matches of this evaluation"
)

var meters = []expr.Option{expr.Function(nameMeter, meter), expr.Function(nameMatches, matchesPattern)}

// metering counts each value that an expression makes, f(…), a + b, [a], {a: b}, 1..9, and of each turn of a loop. At
// the same places it looks at the clock, since a turn may look through a long list or text. The library counts no
// texts, and not how often a list holds the same list.
type metering struct{}

func (metering) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ArrayNode, *ast.MapNode, *ast.BuiltinNode:
		*node = calling(nameMeter, n, n)
	case *ast.CallNode:
		callee, named := n.Callee.(*ast.IdentifierNode)
		if !named || callee.Value != nameMeter && callee.Value != nameMatches {
			*node = calling(nameMeter, n, n)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "+", "..":
			*node = calling(nameMeter, n, n)
		case "matches":
			*node = calling(nameMatches, n, n.Left, n.Right)
		}
	case *ast.PredicateNode:
		n.Node = calling(nameMeter, n.Node, n.Node)
	}
}

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
	left  int
	until time.Time
}

// meter counts a value with all that is in it.
func meter(args ...any) (any, error) {
	b, _ := args[0].(*budget)
	if b == nil || !b.spend(reflect.ValueOf(args[1]), 0) || time.Now().After(b.until) {
		return nil, errBudget
	}
	return args[1], nil
}

// spend takes off what a value weighs, and reports whether that was left.
func (b *budget) spend(v reflect.Value, depth int) bool {
	if b.left--; b.left < 0 || depth > maxDepth {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		b.left -= v.Len() / 8
	case reflect.Interface:
		b.left++
		return b.spend(v.Elem(), depth)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !b.spend(v.Index(i), depth+1) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !b.spend(it.Key(), depth+1) || !b.spend(it.Value(), depth+1) {
				return false
			}
		}
	}
	return b.left >= 0
}

// patternWork bounds the bytes of a text by the instructions of a pattern, which has no more than one a letter, or a
// thousand where it counts: a{1000}.
const patternWork = 1 << 28

// matchesPattern looks for a pattern in no more time than patternWork allows, with reading the pattern.
func matchesPattern(args ...any) (any, error) {
	text, isText := args[1].(string)
	source, isSource := args[2].(string)
	switch work := (1000 + len(text)) * len(source); {
	case args[1] == nil || args[2] == nil:
		return false, nil
	case !isText || !isSource:
		return nil, errors.New("matches takes a text and a pattern")
	case work > patternWork || 1000*work > patternWork && strings.Contains(source, "{"):
		return nil, errBudget
	}
	return regexp.MatchString(source, text)
}
