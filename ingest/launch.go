package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
			s, err := server(name, table[name])
			if err != nil {
				complaints = append(complaints, err.Error())
				continue
			}
			if seen[s.Name] {
				continue
			}
			seen[s.Name] = true
			l, err := launch(*s, table[name].(map[string]any)) // server has seen that it is one
			if err != nil {
				complaints = append(complaints, fmt.Sprintf("server %q: %v", s.Name, err))
				continue
			}
			all = append(all, l)
		}
	}
	return all, complaints, nil
}

func launch(s Server, fields map[string]any) (l Launch, err error) {
	l.Server = s
	word := func(key string) string { w, _ := fields[key].(string); return w }
	l.Program = word("command")
	switch c := fields["command"].(type) {
	case []any: // the whole command line as a list
		words, err := textList("command", c)
		if err != nil {
			return l, err
		}
		if len(words) > 0 {
			l.Program, l.Args = words[0], words[1:]
		}
	case map[string]any:
		l.Program, _ = c["path"].(string)
		fields = c // Zed keeps all of it inside
	}
	if program, rest, ok := strings.Cut(l.Program, " -"); ok { // arguments in one string with the command
		l.Program, l.Args = program, append(strings.Fields("-"+rest), l.Args...)
	}
	args, err := textList("args", fields["args"])
	if err != nil {
		return l, err
	}
	l.Args = append(l.Args, args...)
	for _, key := range []string{"env", "environment"} {
		if l.Env == nil {
			if l.Env, err = textTable(key, fields[key]); err != nil {
				return l, err
			}
		}
	}
	if l.Inherit, err = textList("env_vars", fields["env_vars"]); err != nil {
		return l, err
	}
	l.Dir, _ = fields["cwd"].(string)
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		if l.Address == "" {
			l.Address = word(key)
		}
	}
	for _, key := range []string{"headers", "http_headers"} {
		if l.Headers == nil {
			if l.Headers, err = textTable(key, fields[key]); err != nil {
				return l, err
			}
		}
	}
	l.Bearer = word("bearer_token_env_var")
	if fromEnv, _ := fields["env_http_headers"].(map[string]any); fromEnv != nil { // header: name of a variable
		headers, err := textTable("env_http_headers", fromEnv)
		if err != nil {
			return l, err
		}
		if l.Headers == nil {
			l.Headers = map[string]string{}
		}
		for header, variable := range headers {
			l.Headers[header] = "${" + variable + "}"
		}
	}
	return l, nil
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
