package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"waymark/catalog"
)

// templates reads texts in which templates may stand.
func templates(tasks []catalog.Task) reader {
	return func(s string) (json.RawMessage, error) { return fromTemplate(s, tasks) }
}

// fromTemplate reads a text: one template alone is its value, others are put into the text.
func fromTemplate(s string, tasks []catalog.Task) (json.RawMessage, error) {
	if !strings.Contains(s, "{{") {
		return raw(s), nil
	}
	var parts []string // of an expression
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		if before != "" {
			parts = append(parts, string(raw(before)))
		}
		if !found {
			break
		}
		inside, behind, closed := strings.Cut(after, "}}")
		if !closed {
			return nil, fmt.Errorf("%q: a template is not closed", s)
		}
		n, err := parseTemplate(inside, tasks)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s, err)
		}
		if before == "" && behind == "" && len(parts) == 0 { // nothing else
			if n.ref != nil {
				return from(n.ref.String()), nil
			}
			return computed(n.text), nil
		}
		parts = append(parts, "string("+n.text+")")
		rest = behind
	}
	return computed(strings.Join(parts, " + ")), nil
}

// fromCondition reads a condition: one template, with or without its braces.
func fromCondition(s string, tasks []catalog.Task) (string, error) {
	inside := strings.TrimSpace(s)
	if strings.HasPrefix(inside, "{{") && strings.HasSuffix(inside, "}}") {
		inside = inside[2 : len(inside)-2]
	}
	if strings.Contains(inside, "{{") {
		return "", fmt.Errorf("%q is more than one template", s)
	}
	n, err := parseTemplate(inside, tasks)
	if err != nil {
		return "", fmt.Errorf("%q: %w", s, err)
	}
	return n.text, nil
}

// node is a piece of a template as an expression.
type node struct {
	text string
	ref  *ref // if it is nothing but one
}

// parseTemplate reads what stands between the braces of a Go template: a path, a literal, or one of a few
// functions before what they are applied to.
func parseTemplate(s string, tasks []catalog.Task) (node, error) {
	tokens, err := tokenise(s)
	if err != nil {
		return node{}, err
	}
	p := &templateParser{tokens: tokens, tasks: tasks}
	n, err := p.call(0)
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%q is not understood", p.tokens[0])
	}
	return n, err
}

func tokenise(s string) (tokens []string, err error) {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		end := 1
		switch {
		case s[0] == '(' || s[0] == ')':
		case s[0] == '"':
			for end = 1; end < len(s) && s[end] != '"'; end++ {
				if s[end] == '\\' {
					end++
				}
			}
			if end >= len(s) {
				return nil, errors.New("a string is not closed")
			}
			end++
		default:
			if end = strings.IndexAny(s, " \t\r\n()\""); end < 0 {
				end = len(s)
			}
		}
		tokens, s = append(tokens, s[:end]), s[end:]
	}
	if len(tokens) == 0 {
		return nil, errors.New("an empty template")
	}
	return tokens, nil
}

type templateParser struct {
	tokens []string
	tasks  []catalog.Task
}

var templateOperators = map[string]string{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or"}

// call reads a function with what follows, or one operand.
func (p *templateParser) call(depth int) (node, error) {
	if depth > 32 {
		return node{}, errors.New("nested too deep")
	}
	if len(p.tokens) == 0 {
		return node{}, errors.New("ends too early")
	}
	name := p.tokens[0]
	operator, isOperator := templateOperators[name]
	if !isOperator && name != "not" && name != "index" && name != "len" {
		return p.operand(depth)
	}
	p.tokens = p.tokens[1:]
	var operands []node
	for len(p.tokens) > 0 && p.tokens[0] != ")" {
		n, err := p.operand(depth)
		if err != nil {
			return node{}, err
		}
		operands = append(operands, n)
	}
	switch {
	case name == "index" && len(operands) >= 2:
		return indexed(operands)
	case name == "not" && len(operands) == 1:
		return node{text: "not (" + operands[0].text + ")"}, nil
	case name == "len" && len(operands) == 1:
		return node{text: "len(" + operands[0].text + ")"}, nil
	case isOperator && len(operands) == 2 || (name == "and" || name == "or") && len(operands) > 2:
		texts := make([]string, len(operands))
		for i, o := range operands {
			texts[i] = o.text
		}
		return node{text: "(" + strings.Join(texts, " "+operator+" ") + ")"}, nil
	}
	return node{}, fmt.Errorf("%s with %d operands is not understood", name, len(operands))
}

// indexed is a step into a value for each further operand.
func indexed(operands []node) (node, error) {
	r := operands[0].ref
	if r == nil {
		return node{}, errors.New("index of what is no reference")
	}
	deeper := ref{r.intent, r.task, slices.Clone(r.path)}
	for _, o := range operands[1:] {
		if i, err := strconv.Atoi(o.text); err == nil && i >= 0 {
			deeper.path = append(deeper.path, part{"", i})
			continue
		}
		var name string
		if json.Unmarshal([]byte(o.text), &name) != nil {
			return node{}, errors.New("index by what is no constant")
		}
		deeper.path = append(deeper.path, part{name, -1})
	}
	return node{deeper.expression(), &deeper}, nil
}

func (p *templateParser) operand(depth int) (node, error) {
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	switch {
	case token == "(":
		n, err := p.call(depth + 1)
		if err != nil {
			return n, err
		}
		if len(p.tokens) == 0 || p.tokens[0] != ")" {
			return n, errors.New("a bracket is not closed")
		}
		p.tokens = p.tokens[1:]
		if len(p.tokens) > 0 && strings.HasPrefix(p.tokens[0], ".") && n.ref != nil && len(p.tokens[0]) > 1 && !strings.HasPrefix(p.tokens[0], ".params") && !strings.HasPrefix(p.tokens[0], ".steps") {
			deeper := ref{n.ref.intent, n.ref.task, append(slices.Clone(n.ref.path), names(p.tokens[0][1:])...)}
			p.tokens = p.tokens[1:]
			return node{deeper.expression(), &deeper}, nil
		}
		return n, nil
	case token[0] == '"':
		var s string
		if json.Unmarshal([]byte(token), &s) != nil {
			return node{}, fmt.Errorf("%s is no string", token)
		}
		return node{text: string(raw(s))}, nil
	case token == "true" || token == "false" || token == "nil":
		return node{text: token}, nil
	case token[0] == '.':
		return p.path(token)
	}
	if _, err := strconv.ParseFloat(token, 64); err == nil && json.Valid([]byte(token)) {
		return node{text: token}, nil
	}
	return node{}, fmt.Errorf("%q is not understood", token)
}

func (p *templateParser) path(token string) (node, error) {
	if rest, ok := strings.CutPrefix(token, ".params"); ok && (rest == "" || rest[0] == '.') {
		r := &ref{path: names(strings.TrimPrefix(rest, "."))}
		return node{r.expression(), r}, nil
	}
	rest, ok := strings.CutPrefix(token, ".steps.")
	if !ok {
		return node{}, fmt.Errorf("%s is neither .params nor .steps", token)
	}
	best := ""
	for _, t := range p.tasks {
		if strings.HasPrefix(rest, t.ID+".") && len(t.ID) > len(best) {
			best = t.ID
		}
	}
	if best == "" {
		return node{}, fmt.Errorf("%s names no step", token)
	}
	rest = rest[len(best)+1:]
	switch {
	case rest == "output" || strings.HasPrefix(rest, "output."):
		r := &ref{task: best, path: names(strings.TrimPrefix(strings.TrimPrefix(rest, "output"), "."))}
		return node{r.expression(), r}, nil
	case rest == "error":
		return node{text: "tasks" + pathText([]part{{best, -1}}) + ".error"}, nil
	}
	return node{}, fmt.Errorf("%s is neither the output nor the error of a step", token)
}

func names(s string) (path []part) {
	if s == "" {
		return nil
	}
	for name := range strings.SplitSeq(s, ".") {
		path = append(path, part{name, -1})
	}
	return path
}
