package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
)

// An expression runs in this process, so it must end soon and use little memory, whatever its source is. The language
// has no endless loops, but it has nested loops and values that double with each step. Therefore, in addition to the
// library's limits on nodes and memory, a meter counts values and loop iterations (see metering).
const (
	maxSource = 16 << 10        // bytes of an expression
	maxNodes  = 2000            // of its syntax tree
	maxDepth  = 64              // of nested values
	patience  = 2 * time.Second // maximum time of one evaluation
)

// Names that an expression can read.
const (
	nameIntent = "intent"
	nameParams = "params"
	nameTasks  = "tasks"
)

// taskParts are the members of a task that an expression may read.
var taskParts = []string{"result", "state", "error"}

// expression is a compiled expression.
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
		expr.Env(types.Map{nameIntent: types.String, nameParams: types.Any, nameTasks: types.Any, nameMeter: types.Any, nameMatches: types.Any}),
		expr.MaxNodes(maxNodes), expr.Optimize(false), expr.Patch(reads),
	}
	// A repeated run must give the same result, so there is no clock. repeat, replace and join create large values
	// before they are metered, and uniq compares each element with each other.
	for _, name := range []string{"now", "date", "duration", "timezone", "repeat", "replace", "join", "uniq"} {
		options = append(options, expr.DisableBuiltin(name))
	}
	if wantBool {
		options = append(options, expr.AsBool())
	}
	_, err := expr.Compile(source, options...) // checks the types, which the meter hides
	if reads.wrong != "" {
		return nil, errors.New(reads.wrong)
	}
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	if reads.mentions != reads.named {
		return nil, errors.New("tasks are named one by one, as in tasks.t1.result, so that it is known which come first")
	}
	program, err := expr.Compile(source, append(options, expr.Patch(metering{}))...)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	slices.Sort(reads.tasks)
	return &expression{program, slices.Compact(reads.tasks)}, nil
}

// oneLine returns the first line of a compiler error, without the excerpt that marks the place.
func oneLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// eval computes the expression. env contains intent, params and tasks.
func (x *expression) eval(env map[string]any) (any, error) {
	seen, b := maps.Clone(env), &budget{left: stepBudget, until: time.Now().Add(patience)}
	seen[nameMeter], seen[nameMatches] = b.meter, matchesPattern
	v, err := expr.Run(x.program, seen)
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
	// Every part of v was metered or read from JSON, so v is no larger than the budget.
	out, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.EscapeForHTML(true))
	if err != nil {
		return nil, fmt.Errorf("the value of the expression is not JSON: %w", err)
	}
	return out, nil
}

// reader collects the ids of the tasks that an expression reads.
type reader struct {
	tasks    []string
	mentions int // number of occurrences of the name tasks
	named    int // those followed by the id of a task
	wrong    string
}

func (r *reader) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case nameTasks:
			r.mentions++
		case "$env", nameMeter, nameMatches:
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

// stepBudget is the maximum total weight of the values that one evaluation creates. A value weighs 1, and a string 1
// more for every 8 bytes.
const stepBudget = 1 << 20

var errBudget = fmt.Errorf("the expression takes more than its budget of %d steps or %v", stepBudget, patience)

// Internal names of functions. An expression cannot contain them, because they have spaces.
const (
	nameMeter   = "meter of this evaluation"
	nameMatches = "matches of this evaluation"
)

// metering inserts calls of the meter: for each value that an expression creates, len(…), a + b, [a], {a: b}, 1..9,
// and for the value of each loop iteration. These calls also check the time, since one iteration may search a long list
// or text. The library counts neither strings nor how often a list contains the same list.
type metering struct{}

func (metering) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ArrayNode, *ast.MapNode, *ast.BuiltinNode:
		*node = calling(nameMeter, n, n)
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
	call := &ast.CallNode{Callee: &ast.IdentifierNode{Value: function}, Arguments: arguments}
	call.SetLocation(at.Location())
	return call
}

// budget is what one evaluation may still use.
type budget struct {
	left  int
	until time.Time
}

// meter deducts the weight of a value and all its parts from the budget, and checks the time.
func (b *budget) meter(value any) (any, error) {
	if !b.spend(reflect.ValueOf(value), 0) || time.Now().After(b.until) {
		return nil, errBudget
	}
	return value, nil
}

// spend deducts the weight of a value, and reports whether the budget was sufficient.
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

// patternWork is the limit on the bytes of a text times the instructions of a pattern. A pattern has at most one
// instruction per byte, or a thousand per byte if it has counted repetitions such as a{1000}.
const patternWork = 1 << 28

// matchesPattern searches a text for a pattern. It fails if the work, including compiling the pattern, exceeds
// patternWork.
func matchesPattern(in, pattern any) (any, error) {
	text, isText := in.(string)
	source, isSource := pattern.(string)
	switch work := (1000 + len(text)) * len(source); {
	case in == nil || pattern == nil:
		return false, nil
	case !isText || !isSource:
		return nil, errors.New("matches takes a text and a pattern")
	case work > patternWork || 1000*work > patternWork && strings.Contains(source, "{"):
		return nil, errBudget
	}
	return regexp.MatchString(source, text)
}

// A value is an argument or an output in a DAG: JSON in which an object with the single key $from stands for the target
// of a reference, with the single key $expr for the result of an expression, and with the single key $value for its
// content, taken literally.
type value struct {
	tree  any   // decoded, with a *reference or an *expression in place of such an object
	reads []any // the references and expressions, in order of their places
}

// compiler maps the ids of the tasks of a scope to their places.
type compiler map[string]int

func (c compiler) value(raw json.RawMessage) (*value, error) {
	tree, err := catalog.Decode(raw)
	switch {
	case err != nil:
		return nil, errors.New("is not JSON")
	case !bytes.ContainsRune(raw, '$') && !bytes.Contains(raw, []byte(`\u0024`)):
		return &value{tree: raw}, nil
	}
	v := &value{}
	v.tree, err = c.within(tree, &v.reads)
	return v, err
}

func (c compiler) within(at any, reads *[]any) (_ any, err error) {
	switch at := at.(type) {
	case []any:
		for i := range at {
			if at[i], err = c.within(at[i], reads); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range []string{"$from", "$expr", "$value"} {
			if body, ok := at[key]; ok && len(at) > 1 {
				return nil, fmt.Errorf("an object with %s must have no other member", key)
			} else if ok {
				return c.special(key, body, reads)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(at)) {
			if at[name], err = c.within(at[name], reads); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return at, nil
}

func (c compiler) special(key string, body any, reads *[]any) (read any, err error) {
	text, ok := body.(string)
	switch {
	case key == "$value":
		return body, nil
	case !ok:
		return nil, fmt.Errorf("%s is not a string", key)
	case key == "$from":
		read, err = parseReference(text, c)
	default:
		read, err = compileExpression(text, false)
	}
	*reads = append(*reads, read)
	return read, err
}

// tasksOf lists the ids of the tasks whose results a reference or an expression reads.
func tasksOf(read any) []string {
	switch read := read.(type) {
	case *expression:
		return read.tasks
	case *reference:
		if read.from == fromTask {
			return []string{read.id}
		}
	}
	return nil
}

// plain returns a value without references and expressions as JSON.
func (v *value) plain() json.RawMessage {
	b, _ := json.Marshal(v.tree) // it was JSON
	return b
}

// missingError is the error of a reference to a part that does not exist.
type missingError struct {
	text    string
	skipped bool // the task was skipped, or failed with on_error set
	task    int
}

func (e *missingError) Error() string { return fmt.Sprintf("there is no %s", e.text) }

// eval computes the value. missing is set if the whole value is a reference without a target; within an object or a
// list, such a reference becomes null.
func (v *value) eval(in scopeView) (out json.RawMessage, missing *missingError, err error) {
	if ref, ok := v.tree.(*reference); ok {
		out, missing = in.resolve(ref)
		return out, missing, nil
	}
	tree, err := in.filled(v.tree)
	if err == nil {
		out, err = json.Marshal(tree)
	}
	return out, nil, err
}

// filled returns a decoded value with the results of its references and expressions.
func (v scopeView) filled(at any) (_ any, err error) {
	switch at := at.(type) {
	case *reference:
		out, _ := v.resolve(at)
		return out, nil
	case *expression:
		return at.value(v.environment(at))
	case []any:
		all := make([]any, len(at))
		for i := range at {
			if all[i], err = v.filled(at[i]); err != nil {
				return nil, err
			}
		}
		return all, nil
	case map[string]any:
		all := make(map[string]any, len(at))
		for _, name := range slices.Sorted(maps.Keys(at)) {
			if all[name], err = v.filled(at[name]); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return at, nil
}

// A reference names the source of a value:
//
//	intent                    the intent of the run
//	params                    all parameters; params.repo, params.filter.labels[0]
//	t1.result                 the whole result of task t1
//	t1.result.items[0].id     a part of it; t1.items[0].id means the same
//	t1.result["odd name"]     a name that cannot follow a dot
//
// A field of a result that is itself called result is t1.result.result. If ids of tasks contain dots, the longest
// matching id is used.
type reference struct {
	text string
	from source
	id   string // set if from is fromTask
	task int    // its place in the scope
	path []step
}

type source uint8

const (
	fromIntent source = iota
	fromParams
	fromTask
)

// step selects a part of a value: a member by its name, or an element of a list by its index.
type step struct {
	name  string
	index int // -1: by name
}

const maxPath = 64 // steps

// parseReference reads a reference.
func parseReference(text string, tasks map[string]int) (*reference, error) {
	r := &reference{text: text}
	rest := ""
	switch {
	case text == "intent":
		return r, nil
	case head(text, "params"):
		r.from, rest = fromParams, text[len("params"):]
	default:
		for end := range len(text) + 1 { // the longest id wins
			if end == len(text) || text[end] == '.' || text[end] == '[' {
				if at, ok := tasks[text[:end]]; ok {
					r.from, r.id, r.task = fromTask, text[:end], at
				}
			}
		}
		if r.from != fromTask {
			id, _, _ := strings.Cut(text, ".")
			id, _, _ = strings.Cut(id, "[")
			return r, fmt.Errorf("%q: there is no task %q; a value comes from intent, from params or from a task, as in t1.result.id", text, id)
		}
		rest = text[len(r.id):]
		if head(rest, ".result") {
			rest = rest[len(".result"):]
		}
	}
	for rest != "" {
		var s step
		var err error
		if s, rest, err = parseStep(rest); err != nil {
			return r, fmt.Errorf("%q: %w", text, err)
		}
		if r.path = append(r.path, s); len(r.path) > maxPath {
			return r, fmt.Errorf("%.80q: more than %d steps", text, maxPath)
		}
	}
	return r, nil
}

// head reports whether text begins with a whole word: its end, a dot or a bracket follows.
func head(text, word string) bool {
	rest, ok := strings.CutPrefix(text, word)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// stepForm is one step: .name, [0] or ["a name in JSON"].
var stepForm = regexp.MustCompile(`^(?:\.([^.\[]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\])`)

func parseStep(text string) (s step, rest string, err error) {
	m := stepForm.FindStringSubmatch(text)
	s = step{"", -1}
	switch {
	case m == nil:
		return s, "", fmt.Errorf("%.20q is not a step into a value: .name, [0] or [\"name\"]", text)
	case m[1] != "":
		s.name = m[1]
	case m[2] != "":
		s.index, err = strconv.Atoi(m[2])
	default:
		err = json.Unmarshal([]byte(m[3]), &s.name)
	}
	return s, text[len(m[0]):], err
}

func (s step) String() string {
	if s.index >= 0 {
		return fmt.Sprintf("[%d]", s.index)
	}
	return "." + s.name
}

// follow returns the part of a value at a path. ok is false if there is none.
func follow(v json.RawMessage, path []step) (_ json.RawMessage, ok bool) {
	for _, s := range path {
		if s.index >= 0 {
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil || s.index >= len(list) {
				return nil, false
			}
			v = list[s.index]
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(v, &object) != nil {
			return nil, false
		}
		if v, ok = object[s.name]; !ok {
			return nil, false
		}
	}
	return v, len(v) > 0
}

// followSchema returns the schema at a path. problem describes a part that cannot exist; doubt one that the schema
// neither lists nor forbids.
func followSchema(s catalog.Schema, path []step) (at catalog.Schema, problem, doubt string) {
	where := ""
	for _, p := range path {
		t := s.Types()
		member, found := s.Member(p.name)
		switch {
		case p.index >= 0 && t&catalog.ListType == 0:
			return s, fmt.Sprintf("%s is %s, no list", orWhole(where), t), doubt
		case p.index >= 0:
			s = s.Element()
		case t&catalog.ObjectType == 0:
			return s, fmt.Sprintf("%s is %s and has no %q", orWhole(where), t, p.name), doubt
		case found == catalog.Absent:
			return s, fmt.Sprintf("%s has no %q; it has %s", orWhole(where), p.name, list(s.Names())), doubt
		default:
			if found == catalog.Unlisted && doubt == "" {
				doubt = fmt.Sprintf("%s lists no %q; it lists %s", orWhole(where), p.name, list(s.Names()))
			}
			s = member
		}
		where += p.String()
	}
	return s, "", doubt
}

func orWhole(where string) string {
	if where == "" {
		return "it"
	}
	return strings.TrimPrefix(where, ".")
}

// list joins names for a message, at most 12 of them.
func list(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "nothing"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
