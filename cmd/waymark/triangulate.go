package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"waymark/internal/bounded"
	"waymark/score/evidence"
)

func (a *app) triangulateCommand() *cobra.Command {
	var auto bool
	var files []string
	return a.of(operation{
		id: "triangulate", use: "triangulate INPUT|-|QUESTION...",
		flags: "after search_tool search_argument max_rounds=rounds none_of_these even_if_easy",
		long: `Weighs the hypotheses of INPUT (a JSON file, or - for standard input) by the snippets of its rounds.

For a QUESTION, or an INPUT without hypotheses, a judge proposes five hypotheses, each with a rationale and the fact that
would decide it, and searches bring the evidence: in the documents of INPUT, in text files (--search-file, a file or a
folder), or by a tool of a connected server (--search-tool). Without a place to search it only prints the hypotheses. An
easy question needs none.`,
		example: `  waymark triangulate question.json
  waymark triangulate "Why did the bridge fall?" --search-file reports/ --judge-url http://127.0.0.1:11434/v1 --judge-model qwen3`,
		more: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.BoolVar(&auto, "auto", false, "the arguments are a question, even if it is one word")
			f.StringSliceVar(&files, "search-file", nil, "`files` or folders of text to search")
			a.judgeFlags(cmd)
			cmd.MarkFlagsMutuallyExclusive("search-file", "search-tool")
		},
		prepare: func(args []string, q *asked) (err error) {
			if len(files) > 0 {
				if q.fields["documents"], err = a.textsIn(files); err != nil {
					return err
				}
			}
			if words := strings.Fields(strings.Join(args, " ")); auto || len(words) > 1 {
				q.input, q.fields["question"] = "the question", strings.Join(words, " ")
				return nil
			}
			return q.read(args[0])
		},
	})
}

// maxTexts is the maximum size of the texts to search, in bytes. One request can carry them, with room for its
// encoding.
const maxTexts = 12 << 20

// textsIn reads files, and the files of folders in order of their names. It skips hidden files in a folder, and files
// that are not UTF-8 text.
func (a *app) textsIn(names []string) (docs []evidence.Document, err error) {
	size := 0
	for _, name := range names {
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return usagef("--search-file %s does not exist", name)
			case cmp.Or(err, a.ctx.Err()) != nil:
				return cmp.Or(err, a.ctx.Err())
			case path != name && strings.HasPrefix(d.Name(), ".") && d.IsDir():
				return fs.SkipDir
			case path != name && (strings.HasPrefix(d.Name(), ".") || !d.Type().IsRegular()) || d.IsDir():
				return nil
			}
			text, err := bounded.ReadFile(a.ctx, path, maxTexts)
			if err != nil {
				return err
			}
			if size += len(text); size > maxTexts {
				return rejected{fmt.Errorf("%s holds more than %d MiB of text", name, maxTexts>>20)}
			}
			id, _ := filepath.Rel(name, path) // it is below
			if id = filepath.ToSlash(id); path == name {
				id = filepath.Base(name)
			}
			if utf8.Valid(text) {
				docs = append(docs, evidence.Document{ID: id, Text: string(text), Source: id})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(names) > 0 && len(docs) == 0 {
		err = rejected{fmt.Errorf("%s: there is no text in it", strings.Join(names, ", "))}
	}
	return docs, err
}
