// Package ingest reads catalogs and histories that other programs wrote.
//
//	file or folder ──▶ decoder ──▶ Item, Item, Item, …      one decoder a format, see [Formats]
//
// [Read] returns a stream: it reads one line at a time and yields each item as soon as it is complete.
// A bad line is dropped alone, with its reason ([Item.Dropped]); an error ends the stream and means
// that the file itself cannot be read. Items are normalised: ids are canonical, texts are cut to their
// limits, and an episode that is read twice has the same id and the same bytes. Items never contain
// argument values, results or secrets.
package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/bounded"
	"waymark/internal/redact"
)

// Item is one item read from the input: either exactly one of Tool, Capability, Episode, Server and
// Tally is set, or none is set and one of Dropped, LeftOut and Duplicate states why.
type Item struct {
	File string // path inside the folder that was read, or the name of the file; "-" for a stream
	Line int    // counted from 1
	Kind Kind
	ID   string // if known

	Tool       *catalog.Tool
	Capability *catalog.Capability
	Episode    *episodic.Episode
	Server     *Server

	Dropped   string            // reason why the item was dropped
	LeftOut   string            // reason why the item was left out on purpose: it belongs to another split
	Duplicate bool              // an earlier item of this import has the same id and content
	Shortened bool              // the intent of the episode is longer than the limit and is cut
	Unread    bool              // File cannot be read; Dropped holds the reason
	Respelled map[string]string // ids of tools that had to be changed to be stored, and what they are now

	// Tally is the last item of a trace import; only Tally and File are set in it.
	Tally *Tally

	Split string // split of a data set: train or test; "" if the item has none
}

// Tally counts the lines of a trace and those among them that were skipped.
type Tally struct {
	Lines   int // records, if the format has no lines
	Skipped int // lines of a kind that the decoder does not support
}

// Kind is the kind of an item; "" for a line that could not be read far enough to determine it.
type Kind string

const (
	KindTool       Kind = "tool"
	KindCapability Kind = "capability"
	KindEpisode    Kind = "episode"
	kindServer     Kind = "server"
)

// Options are the options of an import. The zero value detects the format and selects the train split.
type Options struct {
	Format string // "" or "auto": see [Detect]
	Split  string // train, test or all; "" is train. Items without a split are always included
	Source string // source under which episodes are counted; "" is "import:" plus the format
	Server string // server of a saved tools/list; "" takes it from the file or the file name

	DropIntents bool      // do not import the intents (user requests)
	Now         time.Time // if set, episodes more than a day after it are dropped

	// Seen is shared by imports that count as one: an item that another of them has read is a
	// duplicate.
	Seen Seen

	// Digests is the key for hashing the values in arguments and results of traces. Without a key,
	// items contain no digests of values.
	Digests *episodic.DigestKey
}

// Format is a file format that can be read.
type Format struct {
	Name   string
	Does   string // description in one line
	decode decoder
}

// decoder reads an input and passes every item to emit, until the input ends or emit returns false.
type decoder func(in *input, emit func(Item) bool) error

var formats = []Format{
	{"dataset", "folder of tools.jsonl, capabilities.jsonl and episodes.jsonl, or one of them", decodeDataset},
	{"tools-list", "saved result of MCP tools/list, bare or in JSON-RPC, one or several", decodeToolsList},
	{"openapi", "OpenAPI 2.0, 3.0 or 3.1 document, JSON or YAML: a tool for each operation; calls nothing", decodeOpenAPI},
	{"mcp-config", "MCP server configuration of a host: mcpServers, VS Code servers, Codex TOML; starts nothing", decodeMCPConfig},
	{"claude-code", "Claude Code session JSONL, one file or a folder of projects", sessions("claude-code")},
	{"codex", "Codex session JSONL (rollout), one file or a folder of sessions", sessions("codex")},
	{"copilot-cli", "GitHub Copilot CLI session (events.jsonl), one file or a folder of sessions", sessions("copilot-cli")},
	{"gemini-cli", "Gemini CLI session (session-….json), one file or a folder of chats", sessions("gemini-cli")},
	{"goose", "Goose session JSONL, one file or a folder of sessions", sessions("goose")},
	{"opencode", "OpenCode session as its command export writes it", sessions("opencode")},
	{"cline", "Cline task (api_conversation_history.json), one file or a folder of tasks", sessions("cline")},
	{"openai-chat", "OpenAI conversations: messages with tool_calls, Responses items; one an object, line or list", decodeOpenAIChat},
	{"otel", "OpenTelemetry traces in OTLP JSON, rows of spans of Phoenix, traces of OpenAI's Agents SDK", spanDecoder("otel")},
	{"mcp-jsonrpc", "recorded MCP messages: a transport log, Claude Desktop mcp*.log, JSON-RPC lines", decodeJSONRPC},
	{"langfuse", "Langfuse export of traces or observations", spanDecoder("langfuse")},
	{"langsmith", "LangSmith export of runs", spanDecoder("langsmith")},
	{"waymark", "own export: one tool, capability or episode a line", decodeWaymark},
}

// Formats lists the supported formats.
func Formats() []Format { return slices.Clone(formats) }

// input is the input of a decoder: a file or folder in fsys, or a stream.
type input struct {
	ctx    context.Context
	opts   Options
	fsys   fs.FS
	name   string // in fsys; "-" for a stream
	folder string // base name of the folder that is read, or of the folder that contains the file
	isDir  bool
	stream io.Reader
	emit   func(Item) bool // emit function of the decoder

	source string
	fixed  bool // the format is written for import: a text that is too long is rejected, not cut
	own    bool // the format is our own export, whose ids are validated as in an HTTP request
}

// Read streams the items of the file or folder at path; "-" is standard input.
func Read(ctx context.Context, path string, opts Options) iter.Seq2[Item, error] {
	if path == "-" {
		return ReadFrom(ctx, os.Stdin, opts)
	}
	return func(yield func(Item, error) bool) {
		in, err := open(path)
		if err != nil {
			yield(Item{}, fmt.Errorf("import: %w", err))
			return
		}
		in.ctx, in.opts = ctx, opts
		in.read(yield)
	}
}

// ReadFS is [Read] for the root folder of a file system.
func ReadFS(ctx context.Context, fsys fs.FS, opts Options) iter.Seq2[Item, error] {
	return (&input{ctx: ctx, opts: opts, fsys: fsys, name: ".", folder: ".", isDir: true}).read
}

// ReadFrom is [Read] for a stream. It supports every format that is a single file.
func ReadFrom(ctx context.Context, r io.Reader, opts Options) iter.Seq2[Item, error] {
	return (&input{ctx: ctx, opts: opts, name: "-", stream: r}).read
}

// Detect returns the formats of the file, or of the files in the folder, at path; catalog formats come
// first.
func Detect(path string) (formats []string, err error) {
	in, err := open(path)
	if err != nil {
		return nil, err
	}
	return in.detect()
}

func open(path string) (*input, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return &input{fsys: os.DirFS(path), name: ".", folder: filepath.Base(path), isDir: true}, nil
	}
	dir := filepath.Dir(path)
	return &input{fsys: os.DirFS(dir), name: filepath.Base(path), folder: filepath.Base(dir)}, nil
}

// read decodes the input, normalises every item and yields it.
func (in *input) read(yield func(Item, error) bool) {
	format, err := in.opts.Format, error(nil)
	if format == "" || format == "auto" {
		var all []string
		if all, err = in.detect(); err == nil {
			format = all[0]
		}
	}
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == format })
	switch {
	case err != nil:
	case !slices.Contains([]string{"", "train", "test", "all"}, in.opts.Split):
		err = fmt.Errorf("unknown split %q: want train, test or all", in.opts.Split)
	case i < 0:
		err = fmt.Errorf("unknown format %q", format)
	}
	if err != nil {
		yield(Item{}, fmt.Errorf("import %s: %w", in.label(), err))
		return
	}
	in.source, in.own = cmp.Or(in.opts.Source, "import:"+format), format == "waymark"
	if in.fixed = in.own || format == "dataset"; in.opts.Seen == nil {
		in.opts.Seen = Seen{}
	}
	stopped := false
	in.emit = func(it Item) bool {
		if stopped || in.ctx.Err() != nil {
			return false
		}
		in.finish(&it)
		if it.File == "" {
			it.File = in.name
		}
		stopped = !yield(it, nil)
		return !stopped
	}
	err = formats[i].decode(in, in.emit)
	if stopped {
		return
	}
	if err == nil {
		err = in.ctx.Err()
	}
	if err != nil {
		yield(Item{}, fmt.Errorf("import %s as %s: %w", in.label(), format, err))
	}
}

func (in *input) label() string {
	if in.isDir {
		return in.folder
	}
	return in.name
}

// open opens a file of the input; "" is the input itself. In a folder it opens regular files only: a
// pipe would block until another process writes to it, and a device has no end.
func (in *input) open(name string) (io.ReadCloser, error) {
	if in.stream != nil {
		return io.NopCloser(in.stream), nil
	}
	if name == "" {
		name = in.name
	}
	if info, err := fs.Stat(in.fsys, name); in.isDir && err == nil && !info.Mode().IsRegular() {
		return nil, ErrFormat
	}
	return in.fsys.Open(name)
}

func (in *input) readAll(name string) ([]byte, error) {
	f, err := in.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := bounded.ReadAll(in.ctx, f, name, maxDocument)
	return bytes.TrimPrefix(b, []byte(bom)), err
}

// Seen maps a hash of the kind and id of an item to a hash of its content.
type Seen map[[16]byte][16]byte

// finish converts an item to its stored form, or drops it if it is not valid.
func (in *input) finish(it *Item) {
	switch {
	case it.Tool != nil:
		t := it.Tool
		it.Kind = KindTool
		sent := t.Description
		if in.fixed { // the episodes of a data set refer to the tool by the respelled id
			in.respell(it, &t.ID)
		}
		err := t.Normalise()
		in.keep(it, err, t.ID, t)
		if _, hidden := catalog.Hidden(sent); hidden { // keep hidden characters: the store removes and reports them
			t.Description = sent
		}
	case it.Capability != nil:
		c := it.Capability
		it.Kind = KindCapability
		if in.opts.DropIntents {
			c.Intent = ""
		}
		err := c.Normalise()
		in.keep(it, err, c.ID, c)
	case it.Episode != nil:
		e := it.Episode
		it.Kind = KindEpisode
		if e.Label == "" {
			e.Label = e.Source
		}
		if !in.fixed { // requests recorded in traces have no length limit
			e.Label = catalog.Cut(e.Label, catalog.MaxID)
			it.Shortened = len(e.Intent) > episodic.MaxIntent && !in.opts.DropIntents
			e.Intent = redact.Cut(e.Intent, episodic.MaxIntent, catalog.Cut)
		}
		e.Source = in.source
		for i := range e.Steps {
			in.respell(it, &e.Steps[i].Tool)
		}
		if in.opts.DropIntents {
			e.Intent = ""
		}
		err := e.Normalise()
		if err == nil && !in.opts.Now.IsZero() {
			err = e.Validate(in.opts.Now)
		}
		in.keep(it, err, e.ID, e)
		if it.Episode != nil && it.Split != "" && in.opts.Split != "all" && it.Split != cmp.Or(in.opts.Split, "train") {
			it.Episode, it.LeftOut = nil, "split "+it.Split
		}
	case it.Server != nil:
		it.Kind, it.ID = kindServer, it.Server.Name
	}
}

// respell replaces the id of a tool that cannot be stored as it is.
func (in *input) respell(it *Item, id *string) {
	if is := catalog.RespellToolID(*id); is != *id && !in.own {
		if it.Respelled == nil {
			it.Respelled = map[string]string{}
		}
		it.Respelled[*id], *id = is, is
	}
}

// keep drops an item that is not valid, is a duplicate, or contradicts an earlier one.
func (in *input) keep(it *Item, err error, id string, content any) {
	it.ID = id
	if err != nil {
		it.drop(err.Error())
		return
	}
	hash := func(b []byte) [16]byte {
		sum := sha256.Sum256(b)
		return [16]byte(sum[:16])
	}
	key, is := hash([]byte(string(it.Kind)+"\x00"+id)), hash(encode(content))
	switch was, known := in.opts.Seen[key]; {
	case !known:
		in.opts.Seen[key] = is
	case was == is:
		it.Tool, it.Capability, it.Episode = nil, nil, nil
		it.Duplicate = true
	default:
		it.drop(fmt.Sprintf("%s %q was read before, with other content", it.Kind, id))
	}
}

func (it *Item) drop(reason string) {
	it.Tool, it.Capability, it.Episode, it.Server = nil, nil, nil, nil
	it.Dropped = reason
}
