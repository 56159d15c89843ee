package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// sniffed is the number of bytes at the start of a file that are used to detect its format.
const sniffed = 64 << 10

var (
	// ErrFormat is returned if the format of an input is not recognised.
	ErrFormat = errors.New("format is not recognised")
	errEmpty  = errors.New("it is empty")
)

// detect returns the formats of the input in the order of [Formats]. For a folder it inspects the files in it, for a
// file its first values.
func (in *input) detect() ([]string, error) {
	if !in.isDir {
		format, err := in.detectFile(in.name)
		return []string{format}, err
	}
	for _, f := range datasetFiles {
		if info, err := fs.Stat(in.fsys, f.name); err == nil && !info.IsDir() {
			return []string{"dataset"}, nil
		}
	}
	found, unread, nothing := map[string]bool{}, error(nil), errEmpty
	err := in.files(func(name, format string, err error) error {
		if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, errEmpty) && unread == nil {
			unread = fmt.Errorf("%s %w", name, unreadable(err))
		}
		if errors.Is(err, ErrFormat) {
			nothing = ErrFormat
		}
		found[format] = true
		return nil
	})
	var all []string
	for _, f := range formats {
		if found[f.Name] {
			all = append(all, f.Name)
		}
	}
	if all == nil && err == nil {
		err = cmp.Or(unread, nothing)
	}
	return all, err
}

// endings lists the extensions of files that may have a format.
var endings = []string{".jsonl", ".ndjson", ".json", ".toml", ".log", ".txt", ".yaml", ".yml"}

// files visits the files below a folder in sorted order, each with its format or the error. A folder that cannot be
// read is visited like a file.
func (in *input) files(visit func(name, format string, err error) error) error {
	return fs.WalkDir(in.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		format := ""
		switch {
		case err != nil && name == ".":
			return err
		case err != nil && d != nil && d.IsDir():
			return cmp.Or(visit(name, "", err), fs.SkipDir)
		case err != nil:
		case d.IsDir():
			return nil
		case !slices.Contains(endings, path.Ext(name)):
			err = ErrFormat
		default:
			format, err = in.detectFile(name)
		}
		return visit(name, format, err)
	})
}

func (in *input) detectFile(name string) (string, error) {
	f, err := in.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, sniffed)
	head, err := b.Peek(sniffed)
	if err != nil && err != io.EOF {
		return "", err
	}
	if in.stream != nil { // the decoder continues with the buffered reader
		in.stream = b
	}
	return sniff(path.Base(name), head)
}

// openAPIHead matches the version field that identifies an OpenAPI document, in YAML or in JSON.
var openAPIHead = regexp.MustCompile(`(?m)^(\{?\s*"(openapi|swagger)"\s*:\s*"[0-9]|["']?(openapi|swagger)["']?:\s*["']?[0-9])`)

// hostFiles are the names of the configuration files in which hosts list their servers.
var hostFiles = []string{".claude.json", "claude_desktop_config.json", ".mcp.json", "mcp.json", "mcp_config.json", "mcp_settings.json"}

// sniff detects the format from the beginning of a file.
func sniff(name string, head []byte) (string, error) {
	if path.Ext(name) == ".toml" || slices.Contains(hostFiles, name) {
		return "mcp-config", nil
	}
	if name == "api_conversation_history.json" {
		return "cline", nil
	}
	if head = bytes.TrimPrefix(head, []byte(bom)); len(bytes.TrimSpace(head)) == 0 {
		return "", errEmpty
	}
	if openAPIHead.Match(head) {
		return "openapi", nil
	}
	rest := stripComments(head)
	for range 50 { // the first line may be damaged, or of a kind that is not known
		l, after, _ := bytes.Cut(rest, []byte("\n"))
		if e, err := openEnvelope(line{data: bytes.TrimSpace(l)}); err == nil && e.message.at("method") != nil {
			return "mcp-jsonrpc", nil
		}
		if format := classify(firstKeys(rest)); format != "" {
			return format, nil
		}
		rest = after
	}
	if bytes.Contains(head, []byte("[mcp_servers.")) {
		return "mcp-config", nil
	}
	return "", ErrFormat
}

// shapes lists the fields that identify an object of each format, see [holds]; the first match is used.
var shapes = []struct{ format, is string }{
	{"codex", `timestamp payload type=session_meta|response_item|event_msg|turn_context;
		id timestamp instructions`},
	{"copilot-cli", `data timestamp type=session.start|user.message|assistant.message`},
	{"gemini-cli", `sessionId projectHash`},
	{"goose", `working_dir; role created content`},
	{"opencode", `info messages`},
	{"langfuse", `trace_id type project_id start_time`},
	{"otel", `resourceSpans; resource_spans; context.span_id; data=*"trace.span"; object=trace*`},
	{"langsmith", `run_type; runs=*"run_type"`},
	{"langfuse", `traceId startTime; observations; data=*"traceId"|*"parentObservationId"`},
	{"openai-chat", `messages; role content; role tool_calls;
		call_id type=function_call*; custom_id body=*"messages"|*"input"; custom_id response; request=*"messages" response; input output model`},
	{"openapi", `openapi info; swagger info; components=*"schemas"`}, // may come first and be long
	{"waymark", `id kind=tool|capability|episode`},                   // a data set may have a field kind with other values
	{"claude-code", `sessionId; type uuid; type message; type leafUuid; type snapshot`},
	{"mcp-config", `mcpServers; servers; mcp_servers; context_servers; mcp`},
	{"dataset", `steps`},
	{"tools-list", `jsonrpc; result; tools !id; inputSchema`},
	{"dataset", `id name; id description; id tools`},
}

// classify detects the format from the members of one object.
func classify(members map[string]*document) string {
	for name, m := range members {
		if m == nil || string(m.raw) == `""` || string(m.raw) == "null" { // an empty value counts as present
			members[name] = &document{raw: json.RawMessage("{}")}
		}
	}
	d := &document{members: members}
	for _, s := range shapes {
		if holds(d, s.is) {
			return s.format
		}
	}
	return ""
}

// firstKeys reads the members of the first object in a document, or in a list, as far as head contains them.
func firstKeys(head []byte) map[string]*document {
	keys := map[string]*document{}
	d := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() == '[' {
		_, _ = d.ReadToken()
	}
	if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
		return keys
	}
	for d.PeekKind() == '"' {
		token, _ := d.ReadToken()
		key, from := token.String(), d.InputOffset()
		value, err := d.ReadValue()
		if err != nil { // head ends here
			value = head[from:]
		}
		if keys[key] = (&document{raw: bytes.Clone(value)}); err != nil {
			break
		}
	}
	return keys
}

// unreadable returns a file system error without its path.
func unreadable(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// eachFile calls visit for the input if it is a file. For a folder it calls visit, in sorted order, for the files of
// the given format, until visit returns false.
func (in *input) eachFile(format string, visit func(name string) (more bool, err error)) error {
	if !in.isDir {
		_, err := visit(in.name)
		return err
	}
	return in.files(func(name, f string, err error) error {
		more := true
		switch {
		case err == nil && f == format:
			more, err = visit(name)
		case err == nil, errors.Is(err, ErrFormat), errors.Is(err, errEmpty):
			err = nil
		default: // continue with the other files
			more, err = in.emit(Item{File: name, Unread: true, Dropped: unreadable(err).Error()}), nil
		}
		if err == nil && !more {
			return fs.SkipAll
		}
		return err
	})
}
