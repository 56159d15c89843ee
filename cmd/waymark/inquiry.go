package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
	"waymark/score/evidence"
)

// triangulation is what the flags of triangulate say.
type triangulation struct {
	auto        bool
	files       []string
	tool        string
	argument    string
	rounds      int
	noneOfThese bool
	evenIfEasy  bool
}

func (a *app) triangulateCommand() *cobra.Command {
	var t triangulation
	return a.of(operation{
		id: "triangulate", use: "triangulate INPUT|- | --auto QUESTION...", flags: "after",
		long: `Weighs the hypotheses of INPUT (a file, or - for standard input, as JSON) by the snippets of its rounds.

With --auto a judge proposes five hypotheses, each with a rationale and the fact that would decide it, and
searches bring the evidence: in text files (--search-file, a file or a folder), or by a tool of a connected
server (--search-tool). Without a place to search it only prints the hypotheses. An easy question needs none.`,
		example: `  waymark triangulate question.json
  waymark triangulate --auto "Why did the bridge fall?" --search-file reports/ --judge-url http://127.0.0.1:11434/v1 --judge-model qwen3`,
		more: func(cmd *cobra.Command) {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if t.auto {
					return atLeast(1, "a question")(cmd, args)
				}
				return exactly(1, "an input")(cmd, args)
			}
			f := cmd.Flags()
			f.BoolVar(&t.auto, "auto", false, "have a judge propose hypotheses for the question, and search for evidence if there is a place to search")
			f.StringSliceVar(&t.files, "search-file", nil, "with --auto: `files` or folders of text to look in (.txt, .md, .html, .json, .csv and the like)")
			f.StringVar(&t.tool, "search-tool", "", "with --auto: `id` of a tool of a connected server that finds texts, as in web:search")
			f.StringVar(&t.argument, "search-argument", "", "with --search-tool: its `argument` that takes the query (default query)")
			f.IntVar(&t.rounds, "rounds", 0, "with --auto: rounds of search at most (default 6)")
			f.BoolVar(&t.noneOfThese, "none-of-these", false, "with --auto: also weigh that none of the hypotheses is right")
			f.BoolVar(&t.evenIfEasy, "even-if-easy", false, "with --auto: ask for hypotheses also where the question is easy")
			a.judgeFlags(cmd)
			a.recordFlag(cmd)
			apart(cmd, "search-file", "search-tool")
		},
		prepare: func(cmd *cobra.Command, args []string, q *asked) (err error) {
			if t.auto {
				q.input = "the question"
				q.body, err = a.inquiry(cmd, strings.Join(args, " "), t)
				return err
			}
			for _, name := range []string{"search-file", "search-tool", "search-argument", "rounds", "none-of-these", "even-if-easy"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s goes with --auto", name)
				}
			}
			q.input = args[0]
			q.body, err = a.jsonInput(args[0])
			return err
		},
	})
}

// inquiry is the request for hypotheses and evidence.
func (a *app) inquiry(cmd *cobra.Command, question string, t triangulation) (in evidence.Request, err error) {
	if len(t.files) == 0 && t.tool == "" {
		for _, name := range []string{"search-argument", "rounds"} {
			if cmd.Flags().Changed(name) {
				return in, usagef("--%s needs --search-file or --search-tool: somewhere to look", name)
			}
		}
	}
	in = evidence.Request{Question: question, NoneOfThese: t.noneOfThese, SearchTool: t.tool, SearchArgument: t.argument,
		MaxRounds: t.rounds, EvenIfEasy: t.evenIfEasy}
	for _, name := range t.files {
		docs, err := a.textsIn(name)
		if err != nil {
			return in, err
		}
		in.Documents = append(in.Documents, docs...)
	}
	if len(t.files) > 0 && len(in.Documents) == 0 {
		return in, rejected{fmt.Errorf("%s: there is no text in it", strings.Join(t.files, ", "))}
	}
	return in, nil
}

// The most text that is looked in: what one request may carry, with room for its form.
const maxTexts = 12 << 20

// textsIn reads a file, or the files of a folder, in order of their names. In a folder, what is hidden or no
// text is passed over.
func (a *app) textsIn(name string) ([]evidence.Document, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--search-file %s does not exist", name)
	}
	if err != nil {
		return nil, err
	}
	var docs []evidence.Document
	size := 0
	read := func(path, id string) error {
		text, err := bounded.ReadFile(a.ctx, path, maxTexts)
		if err != nil {
			return err
		}
		if size += len(text); size > maxTexts {
			return rejected{fmt.Errorf("%s holds more than %d MiB of text", name, maxTexts>>20)}
		}
		docs = append(docs, evidence.Document{ID: id, Text: string(text), Source: id})
		return nil
	}
	if !info.IsDir() {
		if err := read(name, filepath.Base(name)); err != nil {
			return nil, err
		}
		if !utf8.ValidString(docs[0].Text) {
			return nil, rejected{fmt.Errorf("%s is no text", name)}
		}
		return docs, nil
	}
	err = filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case a.ctx.Err() != nil:
			return a.ctx.Err()
		case path != name && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !textKinds[strings.ToLower(filepath.Ext(path))]:
			return nil
		}
		id, err := filepath.Rel(name, path)
		if err != nil {
			return err
		}
		if err := read(path, filepath.ToSlash(id)); err != nil {
			return err
		}
		if n := len(docs) - 1; !utf8.ValidString(docs[n].Text) {
			docs = docs[:n]
		}
		return nil
	})
	return docs, err
}

// textKinds are the endings of the files that are read of a folder.
var textKinds = map[string]bool{".txt": true, ".md": true, ".markdown": true, ".rst": true, ".html": true, ".htm": true, ".json": true,
	".jsonl": true, ".ndjson": true, ".csv": true, ".tsv": true, ".log": true, ".xml": true, ".yaml": true, ".yml": true, ".org": true, ".tex": true, "": true}
