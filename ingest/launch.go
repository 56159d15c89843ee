package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"waymark/catalog"
)

// Launch is a server of a host's configuration with all that is needed to start or reach it, as it is
// written there: variables are not replaced. It holds secrets where the file does.
type Launch struct {
	Server
	Program string            // the command, one program or path
	Args    []string          // its arguments
	Env     map[string]string // variables for it
	Inherit []string          // names of variables that it takes from whoever starts it
	Dir     string            // where it runs
	Address string            // the whole URL
	Headers map[string]string // for each request to it
	Bearer  string            // name of a variable that holds a bearer token

	StartTimeout, CallTimeout float64 // seconds; 0: not said
}

// Launches reads the servers of a host's configuration in the forms that mcp-config reads, in the order
// in which hosts rank them; of several of one name the first counts. What cannot be understood comes back
// as a complaint.
func Launches(name string, text []byte) (all []Launch, complaints []string, err error) {
	root, err := hostConfig(name, text)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for _, t := range serverTables(root) {
		table, _ := t.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(table)) {
			l, err := launch(name, table[name])
			if seen[l.Name] {
				continue
			}
			if seen[l.Name] = l.Name != ""; err != nil {
				complaints = append(complaints, err.Error())
			} else {
				all = append(all, l)
			}
		}
	}
	return all, complaints, nil
}

// launch reads one server. One that is understood but for what is needed to start it comes with an error, too.
func launch(name string, v any) (l Launch, err error) {
	clean, err := catalog.Identifier("name", name, catalog.MaxName)
	if err != nil {
		return l, fmt.Errorf("server: %w", err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return l, fmt.Errorf("server %q is no object", clean)
	}
	word := func(keys ...string) (word string) {
		for _, key := range keys {
			if w, _ := fields[key].(string); word == "" {
				word = w
			}
		}
		return word
	}
	disabled, _ := fields["disabled"].(bool)
	enabled, said := fields["enabled"].(bool)
	kind := strings.ToLower(word("type", "transport"))
	l.Program, l.Address = word("command"), word("url", "serverUrl", "httpUrl")
	var command []any // the whole command line as a list
	switch c := fields["command"].(type) {
	case []any:
		if command = c; len(c) > 0 {
			l.Program, _ = c[0].(string)
		}
	case map[string]any: // Zed keeps all of it inside
		l.Program, _ = c["path"].(string)
		fields = c
	}
	if program, rest, ok := strings.Cut(l.Program, " -"); ok { // arguments in one string with the command
		l.Program, l.Args = program, strings.Fields("-"+rest)
	}
	s := Server{Name: clean, Command: catalog.Cut(l.Program, catalog.MaxID), URL: address(l.Address), Disabled: disabled || said && !enabled}
	switch {
	case !slices.Contains(transportTypes, kind):
		return l, fmt.Errorf("server %q has the unknown type %q", clean, catalog.Cut(kind, 64))
	case s.Command != "" && s.URL == "":
		s.Transport = "stdio"
	case kind == "sse" || strings.HasSuffix(s.URL, "/sse") && kind == "":
		s.Transport = "sse"
	case s.URL != "":
		s.Transport = "http"
	default:
		return l, fmt.Errorf("server %q has neither command nor url", clean)
	}
	l.Server = s
	l.times(fields)
	if err := l.details(fields, command); err != nil {
		return l, fmt.Errorf("server %q: %w", clean, err)
	}
	return l, nil
}

// times reads how long a start and a call may take. Hosts write "timeout" in seconds or milliseconds, and mean one or both by it.
func (l *Launch) times(fields map[string]any) {
	seconds := func(name string, unit float64) float64 {
		v, err := strconv.ParseFloat(fmt.Sprint(fields[name]), 64)
		if err != nil || !(v > 0) {
			return 0
		}
		return v * unit
	}
	l.StartTimeout = max(seconds("startup_timeout_sec", 1), seconds("startup_timeout_ms", .001))
	l.CallTimeout = seconds("tool_timeout_sec", 1)
	both := seconds("timeout", 1)
	if both >= 1000 {
		both /= 1000
	}
	if both > 0 && l.CallTimeout == 0 {
		l.CallTimeout = both
	}
	if both > 120 && l.StartTimeout == 0 { // as long as every start may take
		l.StartTimeout = both
	}
}

// details reads arguments, variables and headers.
func (l *Launch) details(fields map[string]any, command []any) (err error) {
	list := func(field string, v any) (words []string) {
		if err == nil {
			words, err = textList(field, v)
		}
		return words
	}
	table := func(names ...string) (words map[string]string) {
		for _, name := range names {
			if err == nil && words == nil {
				words, err = textTable(name, fields[name])
			}
		}
		return words
	}
	words := list("command", command)
	l.Args = slices.Concat(l.Args, words[min(1, len(words)):], list("args", fields["args"]))
	l.Env, l.Inherit = table("env", "environment"), list("env_vars", fields["env_vars"])
	l.Dir, _ = fields["cwd"].(string)
	l.Bearer, _ = fields["bearer_token_env_var"].(string)
	l.Headers = table("headers", "http_headers")
	if fromEnv := table("env_http_headers"); fromEnv != nil { // header: name of a variable
		if l.Headers == nil {
			l.Headers = map[string]string{}
		}
		for header, variable := range fromEnv {
			l.Headers[header] = "${" + variable + "}"
		}
	}
	return err
}

func textList(field string, v any) (words []string, err error) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("%s is no list", field)
	}
	for _, e := range list {
		switch w := e.(type) {
		case string:
			words = append(words, w)
		case bool, float64, int64:
			words = append(words, fmt.Sprint(w))
		default:
			return nil, fmt.Errorf("%s holds something that is no text", field)
		}
	}
	return slices.Clip(words), nil
}

func textTable(field string, v any) (map[string]string, error) {
	table, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("%s is no object", field)
	}
	if len(table) == 0 {
		return nil, nil
	}
	words := make(map[string]string, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		switch w := table[name].(type) {
		case string:
			words[name] = w
		case bool, float64, int64:
			words[name] = fmt.Sprint(w)
		default:
			return nil, fmt.Errorf("%s of %s is no text", name, field)
		}
	}
	return words, nil
}
