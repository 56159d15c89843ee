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
	"strings"

	"waymark/ingest/toolcall"
)

// sniffed is how much of a file is looked at to tell its format.
const sniffed = 64 << 10

var (
	errUnknownFormat = errors.New("format is not recognised; name it (--format)")
	errEmpty         = errors.New("it is empty")
)

// detect tells the format of the input: a folder by the files in it, a file by its first values.
func (in *input) detect() (string, error) {
	if in.stream != nil {
		b := bufio.NewReaderSize(in.stream, sniffed)
		in.stream = b
		head, err := b.Peek(sniffed)
		if err != nil && err != io.EOF {
			return "", err
		}
		return sniff(in.name, head)
	}
	if !in.isDir {
		return in.detectFile(in.name)
	}
	all, err := in.detectFolder()
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// detectFolder lists the formats of the files in a folder, in the order of [Formats]: catalogs come first.
func (in *input) detectFolder() ([]string, error) {
	for _, f := range datasetFiles {
		if exists(in.fsys, f.name) {
			return []string{"dataset"}, nil
		}
	}
	for _, root := range []string{".", "storage"} {
		if message, err := fs.Stat(in.fsys, path.Join(root, "message")); err == nil && message.IsDir() {
			if part, err := fs.Stat(in.fsys, path.Join(root, "part")); err == nil && part.IsDir() {
				return []string{"opencode"}, nil
			}
		}
	}
	found, empty := map[string]bool{}, true
	var unread error // the first, if nothing else is found
	err := fs.WalkDir(in.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			unread = cmp.Or(unread, fmt.Errorf("%s %w", name, unreadable(err)))
			return passedOver(d)
		case d.IsDir():
			return nil
		}
		if !slices.Contains([]string{".jsonl", ".ndjson", ".json", ".toml", ".log", ".yaml", ".yml"}, path.Ext(name)) {
			empty = false
			return nil
		}
		f, err := in.detectFile(name)
		switch {
		case err == nil:
			found[f] = true
		case !errors.Is(err, errUnknownFormat) && !errors.Is(err, errEmpty):
			unread = cmp.Or(unread, fmt.Errorf("%s %w", name, unreadable(err)))
		}
		empty = empty && errors.Is(err, errEmpty)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range Formats() {
		if found[f.Name] {
			all = append(all, f.Name)
		}
	}
	if all == nil && unread != nil {
		return nil, unread
	}
	if all == nil && empty {
		return nil, errEmpty
	}
	if all == nil {
		return nil, errUnknownFormat
	}
	return all, nil
}

func (in *input) detectFile(name string) (string, error) {
	f, err := in.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil {
		return "", err
	}
	return sniff(path.Base(name), head)
}

func exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && !info.IsDir()
}

// openAPIHead is the field by which an OpenAPI document is known, in YAML or in JSON.
var openAPIHead = regexp.MustCompile(`(?m)^(\{?\s*"(openapi|swagger)"\s*:\s*"[0-9]|["']?(openapi|swagger)["']?:\s*["']?[0-9])`)

// hostFiles are the names under which hosts keep their servers.
var hostFiles = []string{".claude.json", "claude_desktop_config.json", ".mcp.json", "mcp.json", "mcp_config.json", "mcp_settings.json"}

// sniff tells the format from the beginning of a file.
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
	lines := 0
	for l := range bytes.Lines(head) { // line files first, as the first line may be a bad one
		if lines++; lines > 50 {
			break
		}
		if e, ok, err := openEnvelope(line{data: bytes.TrimSpace(l)}); ok && err == nil && isTranscript(e.message) {
			return "mcp-jsonrpc", nil
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal(l, &keys) == nil {
			if format := classify(keys); format != "" {
				return format, nil
			}
		}
	}
	if format := classify(firstKeys(stripComments(head))); format != "" {
		return format, nil
	}
	if bytes.Contains(head, []byte("[mcp_servers.")) {
		return "mcp-config", nil
	}
	return "", errUnknownFormat
}

// classify tells the format from the fields of one object.
func classify(keys map[string]json.RawMessage) string {
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := keys[n]; !ok {
				return false
			}
		}
		return true
	}
	kind := strings.Trim(string(keys["kind"]), `"`)
	if format := classifyTrace(keys, has); format != "" {
		return format
	}
	switch {
	case has("openapi", "info") || has("swagger", "info") || bytes.Contains(keys["components"], []byte(`"schemas"`)): // which may come first, and be long
		return "openapi"
	case has("id") && (kind == "tool" || kind == "capability" || kind == "episode"):
		// a data set may have a field kind with other words
		return "waymark"
	case has("sessionId") || has("type", "uuid") || has("type", "message") || has("type", "leafUuid") || has("type", "snapshot"):
		return "claude-code"
	case has("mcpServers") || has("servers") || has("mcp_servers") || has("context_servers") || has("mcp"):
		return "mcp-config"
	case has("steps"):
		return "dataset"
	case has("jsonrpc") || has("result") || has("tools") && !has("id") || has("inputSchema") || has("name", "input_schema") && !has("id") ||
		has("type", "function"):
		return "tools-list"
	case has("id", "name") || has("id", "description") || has("id", "tools"):
		return "dataset"
	}
	return ""
}

// classifyTrace is classify for the traces of agents.
func classifyTrace(keys map[string]json.RawMessage, has func(...string) bool) string {
	holds := func(key, words string) bool { return bytes.Contains(keys[key], []byte(words)) }
	kind := strings.Trim(string(keys["type"]), `"`)
	switch {
	case has("timestamp", "type", "payload") && (kind == "session_meta" || kind == "response_item" || kind == "event_msg" || kind == "turn_context"):
		return "codex"
	case has("type", "data", "timestamp") && (kind == "session.start" || kind == "user.message" || kind == "assistant.message"):
		return "copilot-cli"
	case has("sessionId", "projectHash"):
		return "gemini-cli"
	case has("working_dir") || has("role", "created", "content"):
		return "goose"
	case has("resourceSpans") || has("resource_spans"):
		return "otel"
	case has("run_type") || has("runs") && holds("runs", `"run_type"`):
		return "langsmith"
	case has("traceId", "startTime") || has("observations") || has("data") && (holds("data", `"traceId"`) || holds("data", `"parentObservationId"`)):
		return "langfuse"
	case has("data") && holds("data", `"trace`) || has("object") && holds("object", `"trace`):
		return "openai-chat"
	case has("messages") || has("role", "content") || has("role", "tool_calls") || has("call_id") && strings.HasPrefix(kind, "function_call") ||
		has("request", "response") && holds("request", `"messages"`) || has("input", "output") && has("model"):
		return "openai-chat"
	}
	return ""
}

// isTranscript tells a message that was recorded under way from the answer to tools/list that was saved.
func isTranscript(v json.RawMessage) bool {
	if v[0] == '[' {
		return true
	}
	_, asks := toolcall.Members(v)["method"]
	return asks
}

// firstKeys reads the fields of the first object of a document, or of a list, as far as there is any.
func firstKeys(head []byte) map[string]json.RawMessage {
	keys := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(head))
	for range 2 {
		token, err := d.Token()
		if err != nil {
			return keys
		}
		if token == json.Delim('{') {
			break
		}
	}
	for d.More() {
		token, err := d.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return keys
		}
		var value json.RawMessage
		from := d.InputOffset()
		if err = d.Decode(&value); err != nil { // the beginning ends here
			keys[key] = head[from:]
			return keys
		}
		keys[key] = value
	}
	return keys
}

// unreadable is an error of the file system without its path.
func unreadable(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}

// passedOver goes on after a file or folder that cannot be read.
func passedOver(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// eachFile calls visit for the input if it is a file, and for the files of a folder, sorted, that have
// one of the endings and are of the format, until visit reports false.
func (in *input) eachFile(format string, endings []string, visit func(name string) (more bool, err error)) error {
	if !in.isDir {
		_, err := visit(in.name)
		return err
	}
	return fs.WalkDir(in.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && (d.IsDir() || !slices.Contains(endings, path.Ext(name))) {
			return nil
		}
		f := ""
		if err == nil {
			f, err = in.detectFile(name)
		}
		switch {
		case errors.Is(err, errUnknownFormat) || errors.Is(err, errEmpty) || err == nil && f != format:
			return nil
		case err != nil && name == ".":
			return err
		case err != nil: // the others still count
			if !in.emit(Item{File: name, Unread: true, Dropped: unreadable(err).Error()}) {
				return fs.SkipAll
			}
			return passedOver(d)
		}
		more, err := visit(name)
		if err == nil && !more {
			return fs.SkipAll
		}
		return err
	})
}
