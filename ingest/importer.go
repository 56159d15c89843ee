// Package ingest reads catalogs and histories that other programs wrote.
//
//	file or folder ──▶ decoder ──▶ Item, Item, Item, …      one decoder a format, see [Formats]
//
// [Read] is a stream: lines are read one at a time, and each gives items as soon as it can. A bad
// line loses only itself and says why ([Item.Dropped]); an error ends the stream and means that the
// file itself cannot be read. What comes out is normalised: ids are canonical, texts are cut to their
// limits, an episode that is read twice has the same id and the same bytes. Argument values, results
// and secrets do not come out at all.
package ingest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
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

// Item is one thing read: exactly one of Tool, Capability, Episode, Server and Tally is set, or none and
// one of Dropped, LeftOut and Duplicate says what became of it.
type Item struct {
	File string // inside the folder that was read, or the name of the file; "-" for a stream
	Line int    // from 1
	Kind Kind
	ID   string // as far as it is known

	Tool       *catalog.Tool
	Capability *catalog.Capability
	Episode    *episodic.Episode
	Server     *Server

	Dropped   string // why it was not taken
	LeftOut   string // taken out on purpose: it belongs to another split
	Duplicate bool   // an earlier item of this import had its id and content
	Shortened bool   // its intent is cut at the limit
	Respelled []Respelling
	Unread    bool // File could not be read, which is why it is Dropped

	// Tally closes the import of a trace; nothing else is set then but File.
	Tally *Tally

	Split string // of a data set: train or test; "" where it has none
}

// Tally says how much of a trace was understood.
type Tally struct {
	Lines   int // or records, where the format has no lines
	Skipped int // of a kind that the decoder does not know
}

// Kind of an item; "" for a line that could not be read far enough to tell.
type Kind string

const (
	KindTool       Kind = "tool"
	KindCapability Kind = "capability"
	KindEpisode    Kind = "episode"
	kindServer     Kind = "server"
)

// Options of an import. The zero value detects the format and takes the train part.
type Options struct {
	Format string // "" or "auto": see [Detect]
	Split  string // train, test or all; "" is train. What names no split is always taken
	Source string // counted source of episodes; "" is "import:" and the format
	Server string // server of a saved tools/list; "" takes it from the file or its name

	DropIntents bool      // keep what users asked out of the history
	Now         time.Time // if set, episodes more than a day after it are dropped

	// Seen is shared by imports that count as one: an item that another of them has read is a duplicate.
	Seen Seen

	// Digests is the key of the hashes of the values in arguments and results of traces; without it
	// nothing of a value comes out.
	Digests *episodic.DigestKey
}

// Format is one kind of file that can be read.
type Format struct {
	Name   string
	Does   string // in one line
	decode decoder
}

// decoder reads an input and hands every item to emit, until there are no more or emit reports false.
type decoder func(in *input, emit func(Item) bool) error

var formats = []Format{
	{"dataset", "folder of tools.jsonl, capabilities.jsonl and episodes.jsonl, or one of them", decodeDataset},
	{"tools-list", "saved result of MCP tools/list, bare or in JSON-RPC, one or several", decodeToolsList},
	{"openapi", "OpenAPI 2.0, 3.0 or 3.1 document, JSON or YAML: a tool for each operation; calls nothing", decodeOpenAPI},
	{"mcp-config", "MCP server configuration of a host: mcpServers, VS Code servers, Codex TOML; starts nothing", decodeMCPConfig},
	{"claude-code", "Claude Code session JSONL, one file or a folder of projects", hosts["claude-code"].decode},
	{"codex", "Codex session JSONL (rollout), one file or a folder of sessions", hosts["codex"].decode},
	{"copilot-cli", "GitHub Copilot CLI session (events.jsonl), one file or a folder of sessions", hosts["copilot-cli"].decode},
	{"gemini-cli", "Gemini CLI session (session-….json), one file or a folder of chats", hosts["gemini-cli"].decode},
	{"goose", "Goose session JSONL, one file or a folder of sessions", hosts["goose"].decode},
	{"opencode", "OpenCode folder storage, with message and part", decodeOpenCode},
	{"cline", "Cline task (api_conversation_history.json), one file or a folder of tasks", hosts["cline"].decode},
	{"openai-chat", "OpenAI conversations: messages with tool_calls, Responses items, Agents traces; one an object, line or list", decodeOpenAIChat},
	{"otel", "OpenTelemetry traces in OTLP JSON, rows of spans of Phoenix and MLflow", spanRows["otel"].decode},
	{"mcp-jsonrpc", "recorded MCP messages: a transport log, Claude Desktop mcp*.log, JSON-RPC lines", decodeJSONRPC},
	{"langfuse", "Langfuse export of traces or observations", spanRows["langfuse"].decode},
	{"langsmith", "LangSmith export of runs", spanRows["langsmith"].decode},
	{"waymark", "own export: one tool, capability or episode a line", decodeWaymark},
}

// Formats lists what can be read.
func Formats() []Format { return slices.Clone(formats) }

// input is what a decoder reads: a file or folder in fsys, or a stream.
type input struct {
	ctx    context.Context
	opts   Options
	fsys   fs.FS
	name   string // in fsys; "-" for a stream
	folder string // last part of the path of the folder that is read, or that the file is in
	isDir  bool
	stream io.Reader
	emit   func(Item) bool // of the decoder
}

// Read streams what is in the file or folder at path; "-" is standard input.
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

// ReadFS is [Read] of the folder that is the root of a file system.
func ReadFS(ctx context.Context, fsys fs.FS, opts Options) iter.Seq2[Item, error] {
	return (&input{ctx: ctx, opts: opts, fsys: fsys, name: ".", folder: ".", isDir: true}).read
}

// ReadFrom is [Read] of a stream: any format that is one file.
func ReadFrom(ctx context.Context, r io.Reader, opts Options) iter.Seq2[Item, error] {
	return (&input{ctx: ctx, opts: opts, name: "-", stream: r}).read
}

// Detect names the formats of the file, or of the files in the folder, at path; catalogs come first.
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

// read decodes the input, and finishes and yields every item.
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
	source := cmp.Or(in.opts.Source, "import:"+format)
	f := finisher{opts: in.opts, source: source, seen: in.opts.Seen, trace: !slices.Contains(written, format), own: format == "waymark"}
	if f.seen == nil {
		f.seen = Seen{}
	}
	stopped := false
	in.emit = func(it Item) bool {
		if in.ctx.Err() != nil {
			return false
		}
		f.finish(&it)
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

// open opens a file of the input; "" is the input itself. In a folder only regular files are read: a pipe would wait for
// somebody to write to it, and a device has no end.
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

// maxDocument bounds a file that has to be read whole.
const maxDocument = 256 << 20

var errTooLarge = errors.New("file is larger than 256 MiB")

func (in *input) readAll(name string) ([]byte, error) {
	f, err := in.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := bounded.ReadAll(in.ctx, f, name, maxDocument)
	return bytes.TrimPrefix(b, []byte(bom)), err
}

// written are the formats whose texts somebody wrote for them: one that is too long is refused, not cut.
var written = []string{"dataset", "waymark"}

// finisher puts items into the form in which they are stored, and drops what cannot be.
type finisher struct {
	opts   Options
	source string
	seen   Seen
	trace  bool // the format is not one of catalogs and data sets
	own    bool // the format is our own, whose ids are refused as in a request
}

// Seen maps a hash of the kind and id of an item to where it was first read and what it was.
type Seen map[[16]byte]first

type first struct {
	line   int32
	digest [12]byte
}

func (f *finisher) finish(it *Item) {
	switch {
	case it.Tool != nil:
		t := it.Tool
		it.Kind = KindTool
		sent := t.Description
		if !f.trace { // its episodes name it so
			f.respell(it, &t.ID)
		}
		f.keep(it, t.Normalise(), &t.ID, func() []byte { return encode(t) })
		if _, hidden := catalog.Hidden(sent); hidden { // whoever stores it takes them out, and says that they were there
			t.Description = sent
		}
	case it.Capability != nil:
		c := it.Capability
		it.Kind = KindCapability
		if f.opts.DropIntents {
			c.Intent = ""
		}
		f.keep(it, c.Normalise(), &c.ID, func() []byte { return encode(c) })
	case it.Episode != nil:
		e := it.Episode
		it.Kind = KindEpisode
		if e.Label == "" {
			e.Label = e.Source
		}
		if f.trace { // what people wrote to an agent has no limit
			e.Label = catalog.Cut(e.Label, catalog.MaxID)
			it.Shortened = len(e.Intent) > episodic.MaxIntent && !f.opts.DropIntents
			e.Intent = redact.Cut(e.Intent, episodic.MaxIntent, catalog.Cut)
		}
		e.Source = f.source
		for i := range e.Steps {
			f.respell(it, &e.Steps[i].Tool)
		}
		if f.opts.DropIntents {
			e.Intent = ""
		}
		err := e.Normalise()
		if err == nil && !f.opts.Now.IsZero() {
			err = e.Validate(f.opts.Now)
		}
		f.keep(it, err, &e.ID, func() []byte { return episodic.Canonical(*e) })
		if it.Episode != nil && !f.takes(it.Split) {
			it.Episode, it.LeftOut = nil, "split "+it.Split
		}
	case it.Server != nil:
		it.Kind, it.ID = kindServer, it.Server.Name
	}
}

// respell changes the id of a tool that cannot be kept as it is.
func (f *finisher) respell(it *Item, id *string) {
	if is := catalog.RespellToolID(*id); is != *id && !f.own {
		it.Respelled = append(it.Respelled, Respelling{*id, is})
		*id = is
	}
}

// takes reports whether a part of a data set is wanted.
func (f *finisher) takes(split string) bool {
	switch f.opts.Split {
	case "all":
		return true
	case "test":
		return split == "" || split == "test"
	}
	return split == "" || split == "train"
}

// keep drops an item that is not valid, is a duplicate, or contradicts an earlier one.
func (f *finisher) keep(it *Item, err error, id *string, content func() []byte) {
	it.ID = *id
	if err != nil {
		it.drop(err.Error())
		return
	}
	sum := sha256.Sum256([]byte(string(it.Kind) + "\x00" + it.ID))
	key, digest := [16]byte(sum[:16]), [12]byte{}
	sum = sha256.Sum256(content())
	copy(digest[:], sum[:])
	switch was, known := f.seen[key]; {
	case !known:
		f.seen[key] = first{int32(it.Line), digest}
	case was.digest == digest:
		it.Tool, it.Capability, it.Episode = nil, nil, nil
		it.Duplicate = true
	default:
		it.drop(fmt.Sprintf("%s %q was read before, on line %d, with other content", it.Kind, it.ID, was.line))
	}
}

func (it *Item) drop(reason string) {
	it.Tool, it.Capability, it.Episode, it.Server = nil, nil, nil, nil
	it.Dropped = reason
}
