package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/ingest"
	"waymark/ingest/hook"
	"waymark/internal/bounded"
	"waymark/live"
	"waymark/suggest"
)

// importing is one run of the import command.
type importing struct {
	*app
	opts   ingest.Options
	report importReport
	bar    *progress
	read   int64
	failed []error // inputs that could not be read to their end
}

// importReport is the output of import: the items that were read here, and the result of storing them.
type importReport struct {
	ingest.Report
	Inputs []importInput `json:"inputs"`
	logged
	Interrupted bool `json:"interrupted,omitempty"` // the inputs were not read to their end
}

// logged is the result of storing an import in the log.
type logged struct {
	Flagged      []live.Flagged `json:"flagged,omitempty"` // stored entries that the checks flagged
	FlaggedTotal int            `json:"flagged_total,omitempty"`
	Seq          uint64         `json:"seq"`
	Model        string         `json:"model,omitempty"`
	Held         string         `json:"held,omitempty"`
}

type importInput struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	folder bool
	open   func(context.Context, ingest.Options) iter.Seq2[ingest.Item, error]
}

// imported is the answer of POST /v1/import.
type imported struct {
	Taken         ingest.Counts    `json:"taken"`
	Duplicates    ingest.Counts    `json:"duplicates"`
	Rejected      []live.Rejection `json:"rejected"` // the first 100
	RejectedTotal int              `json:"rejected_total"`
	logged
}

func (a *app) importCommand() *cobra.Command {
	opts := ingest.Options{}
	formats := ""
	for _, f := range ingest.Formats() {
		formats += fmt.Sprintf("  %-12s %s\n", f.Name, f.Does)
	}
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Import catalogs and histories",
		Long: `Imports catalogs and histories from files and folders (- is standard input, sample is the bundled sample). It prints the
number of imported, known and dropped entries, with reasons. Importing a file twice changes nothing. Argument values and
results of calls are not stored. Exits 1 if a line was dropped, or if nothing was found. Tools with suspicious texts are
quarantined (waymark approve), unless --yes is given or they come from the sample, a data set or an export of Waymark.

Formats:
` + formats,
		Example: `  waymark import sample
  waymark import ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.DropIntents, opts.Now = a.life.DropIntents, time.Now()
			if !slices.Contains([]string{"all", "test", "train"}, opts.Split) {
				return usagef("unknown --split %q: want all, test or train", opts.Split)
			}
			if names := formatNames(); !slices.Contains(names, opts.Format) {
				return usagef("unknown --format %q: want one of %s", opts.Format, strings.Join(names, ", "))
			}
			return (&importing{app: a, opts: opts, bar: a.progress("import", -1)}).run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Format, "format", "auto", "the `format`, if it cannot be detected")
	f.StringVar(&opts.Split, "split", "train", "part of a data set with splits: train, test or all")
	f.StringVar(&opts.Server, "server", "", "the server `name` of a saved tools/list")
	f.BoolVar(&a.yes, "yes", false, "release new tools at once")
	a.progressFlag(cmd)
	return cmd
}

func formatNames() []string {
	names := []string{"auto"}
	for _, f := range ingest.Formats() {
		names = append(names, f.Name)
	}
	return names
}

func (im *importing) run(ctx context.Context, paths []string) error {
	var inputs []importInput
	for _, path := range paths {
		file := path
		info, err := os.Stat(path)
		if path == "sample" && errors.Is(err, fs.ErrNotExist) {
			inputs = append(inputs, bundledSample)
			continue
		}
		if path == "-" || err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			if file, err = im.spool(path); err != nil {
				return fmt.Errorf("import: %w", err)
			}
			defer os.Remove(file)
		}
		formats := []string{im.opts.Format}
		if im.opts.Format == "auto" {
			var err error
			if formats, err = ingest.Detect(file); errors.Is(err, ingest.ErrFormat) {
				err = fmt.Errorf("%w; name it with --format: %s", err, strings.Join(formatNames()[1:], ", "))
			}
			if err != nil {
				return fmt.Errorf("import %s: %w", path, err)
			}
		}
		if info, err = os.Stat(file); err != nil {
			return fmt.Errorf("import: %w", err)
		}
		for _, format := range formats { // a folder may hold several
			inputs = append(inputs, importInput{Path: path, Format: format, folder: info.IsDir(),
				open: func(ctx context.Context, o ingest.Options) iter.Seq2[ingest.Item, error] {
					return ingest.Read(ctx, file, o)
				}})
		}
	}
	im.report.Inputs = inputs
	return im.with(ctx, func(c *client) error {
		if !im.life.DropDigests { // the server leaves the key of the workspace's digests in the data directory
			if err := c.makeWorkspace(ctx); err != nil {
				return fmt.Errorf("import: %w", err)
			}
			im.opts.Digests = hook.SpoolOf(im.data).Key(im.workspace)
		}
		// One request for each run of inputs of one format: the format is the source of its episodes,
		// and the model is built once a request.
		for len(inputs) > 0 && ctx.Err() == nil {
			n := 1
			for n < len(inputs) && inputs[n].Format == inputs[0].Format {
				n++
			}
			if err := im.send(ctx, c, inputs[:n]); err != nil {
				return err
			}
			inputs = inputs[n:]
		}
		im.bar.hide()
		im.report.Interrupted = ctx.Err() != nil
		return im.print(ctx.Err())
	})
}

// spool copies standard input or a pipe to a file of this user alone. The format must be known before the first line is
// sent, and a pipe can be read only once.
func (im *importing) spool(path string) (string, error) {
	in, err := im.openInput(path, bounded.Stream)
	if err != nil {
		return "", err
	}
	defer in.Close()
	f, err := os.CreateTemp("", "waymark-import-*.jsonl")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, in)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
	}
	return f.Name(), err
}

// send imports inputs of one format, as lines of our own export, and merges the answer into the report. If the context
// ends, send reads no more, but stores and reports the lines read so far.
func (im *importing) send(ctx context.Context, c *client, inputs []importInput) error {
	taken := im.report.Taken // the answer counts the rest
	lines, err := os.CreateTemp("", "waymark-import-*.jsonl")
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer os.Remove(lines.Name())
	defer lines.Close()
	sent, err := im.write(ctx, lines, inputs)
	if err == nil {
		_, err = lines.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	others := inputs[0].Format != "dataset" && inputs[0].Format != "waymark" // its texts come from others
	q := &asked{app: im.app, Operation: operationsOf()["import"], fields: map[string]any{"review": others && !im.yes}, body: lines,
		input: "import " + inputs[0].Path, source: "import:" + inputs[0].Format}
	var answer imported
	body, err := q.answer(context.WithoutCancel(ctx), c)
	if err = cmp.Or(err, decode(body, &answer)); err != nil {
		return err
	}
	im.merge(taken, answer, sent)
	return nil
}

// write reads inputs, reports each item, and writes those that are to be stored. sent has the origin of each written
// line, without its content.
func (im *importing) write(ctx context.Context, to io.Writer, inputs []importInput) (sent []ingest.Item, err error) {
	out, opts := bufio.NewWriterSize(to, 64<<10), im.opts
	opts.Seen = ingest.Seen{}
	for _, in := range inputs {
		opts.Format = in.Format
		for it, err := range in.open(ctx, opts) {
			if ctx.Err() != nil {
				return sent, out.Flush()
			}
			if err != nil {
				im.failed = append(im.failed, err)
				break
			}
			file := it.File
			if it.File = in.Path; in.folder {
				it.File = filepath.Join(in.Path, file)
			}
			im.report.Add(it)
			im.read++
			im.bar.at(im.read, "")
			if it.Tool == nil && it.Capability == nil && it.Episode == nil {
				continue
			}
			from := it
			from.Tool, from.Capability, from.Episode = nil, nil, nil
			sent = append(sent, from)
			it.Line = len(sent)
			if it.Episode != nil {
				it.Episode.Source = "" // the request has it
			}
			if err := ingest.WriteLine(out, it); err != nil {
				return nil, err
			}
		}
	}
	return sent, out.Flush()
}

// merge adds the result of storing the lines to the report.
func (im *importing) merge(before ingest.Counts, answer imported, sent []ingest.Item) {
	r := &im.report
	for _, no := range answer.Rejected {
		it := ingest.Item{File: "-", ID: no.ID}
		if no.Line >= 1 && no.Line <= len(sent) {
			it = sent[no.Line-1]
		}
		r.Refuse(it, no.Error)
	}
	r.Dropped.Lines += answer.RejectedTotal - len(answer.Rejected)
	before.Servers = r.Taken.Servers
	r.Taken, r.Duplicates = sum(before, answer.Taken), sum(r.Duplicates, answer.Duplicates)
	answer.Flagged, answer.FlaggedTotal = append(r.Flagged, answer.Flagged...), r.FlaggedTotal+answer.FlaggedTotal
	r.logged = answer.logged
}

// sum adds the counts of the log.
func sum(a, b ingest.Counts) ingest.Counts {
	a.Tools, a.Capabilities, a.Episodes = a.Tools+b.Tools, a.Capabilities+b.Capabilities, a.Episodes+b.Episodes
	return a
}

// print prints the report, and returns the error with which the command ends. An interrupt or an unreadable input comes
// before dropped lines.
func (im *importing) print(interrupted error) error {
	r := im.report
	if r.Reasons == nil {
		r.Reasons = []ingest.Reason{}
	}
	if !im.json {
		im.printText()
	} else if err := im.printValue(r); err != nil {
		return err
	}
	if failed := errors.Join(append(im.failed, interrupted)...); failed != nil {
		return failed
	}
	if r.Dropped.Total() > 0 || r.Taken.Total()+r.Duplicates.Total() == 0 {
		return errNegative
	}
	return nil
}

func (im *importing) printText() {
	r := im.report
	line := func(show bool, name, format string, args ...any) {
		if show {
			im.printf("%-11s %s\n", name, clean(fmt.Sprintf(format, args...)))
		}
	}
	for _, in := range r.Inputs {
		line(true, in.Format, "%s", in.Path)
	}
	for text := range strings.Lines(r.Report.String()) {
		im.printf("%s\n", strings.TrimRight(clean(strings.TrimRight(text, "\n")), " "))
	}
	waits := false
	for _, f := range r.Flagged {
		waits = waits || f.Quarantined
		line(true, map[bool]string{true: "  quarantined", false: "  stored"}[f.Quarantined], "%s: %s", f.ID, strings.Join(f.Flags, "; "))
	}
	line(r.FlaggedTotal > len(r.Flagged), "  …", "%d more flagged", r.FlaggedTotal-len(r.Flagged))
	line(waits, "quarantined", "entries are offered to no host until they are released: waymark approve")
	line(r.Model != "", "model", "%s at %d", suggest.ShortVersion(r.Model), r.Seq)
	for _, in := range r.Inputs {
		line(in.Format == "mcp-config", "next", "waymark gateway add %s%s puts them behind Waymark", live.ShellWord(in.Path), im.elsewhere())
	}
	line(r.Held != "", "held back", "%s", r.Held)
	line(r.Interrupted, "interrupted", "the rest was not read; the same import takes it")
}
