// Package sample is a history to try the program on: half a year of a company that does not exist.
//
//	tools.jsonl          tools of fifteen invented servers, from source hosting to support tickets
//	capabilities.jsonl   what was stored as reusable: small graphs of those tools
//	episodes.jsonl       tasks as people put them, and the calls made for each
//
// It is written so that what is learned from it can be judged by eye. After listing pull requests
// someone opens one; an incident goes from alerts to metrics to logs to an issue to the chat. And it
// is as untidy as a real history: steps without an outcome, calls that fail and are tried again, a
// deprecated tool (metrics:query_series) that hardly ever answers, a merge that fails right after
// its branch was updated, two tools that no catalog names, hosts that report only the order.
//
// The files are generated from hand-written texts; see lab/generate.
package sample

import (
	"bytes"
	"embed"
	"encoding/json"
	"io/fs"
)

//go:generate go run ../lab/generate -out .

//go:embed tools.jsonl capabilities.jsonl episodes.jsonl
var files embed.FS

// Files returns the three files as they are, for an importer of data sets.
func Files() fs.FS { return files }

// Lines decodes the lines of a file, in order: those of tools.jsonl are a catalog.Tool each, and so on.
func Lines[T any](name string) (list []T, err error) {
	data, err := files.ReadFile(name)
	for d := json.NewDecoder(bytes.NewReader(data)); err == nil && d.More(); {
		list = append(list, *new(T))
		err = d.Decode(&list[len(list)-1])
	}
	return list, err
}
