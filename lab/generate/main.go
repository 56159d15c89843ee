// Command generate writes the sample history of package sample.
//
// What is written by hand are texts: the tools of some invented servers (tools.txt, fields.txt), the
// capabilities built on them (capabilities.txt), and kinds of tasks with the wordings people use and
// the paths they take (tasks/*.txt, entities.txt). The generator throws the dice:
//
//	task kind ──▶ wording ──▶ intent
//	          └─▶ path ──▶ plan ──▶ steps, with faults, retries and gaps ──▶ episode
//
// A path is a plan with choices left open; a plan is a small graph of calls; the faults decide which
// calls fail and what is done then. The dice are a PCG with a fixed seed and one goroutine throws
// them, so the same texts always give the same bytes.
//
// From the root of the repository:
//
//	go run ./lab/generate
package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

//go:embed *.txt tasks/*.txt
var texts embed.FS

// The size of the history and the seed of the dice; chosen.
const (
	episodeCount = 1800
	seed         = 20260105
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "sample", "directory to write to")
	flag.Parse()
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(*out, f.name), f.data, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// A file is one of the three files of the sample.
type file struct {
	name string
	data []byte
}

// generate returns the files of the sample in the order tools, capabilities, episodes.
func generate() ([]file, error) {
	fields, err := parseFields()
	if err != nil {
		return nil, err
	}
	tools, err := parseTools(fields)
	if err != nil {
		return nil, err
	}
	capabilities, err := parseCapabilities(fields)
	if err != nil {
		return nil, err
	}
	areas, err := parseTasks()
	if err != nil {
		return nil, err
	}
	entities, err := parseEntities()
	if err != nil {
		return nil, err
	}
	h := newHistory(areas, entities, tools)
	episodes, err := h.run(episodeCount)
	if err != nil {
		return nil, err
	}

	var files []file
	for _, part := range []struct {
		name  string
		lines func(*json.Encoder) error
	}{
		{"tools.jsonl", encodeAll(tools)},
		{"capabilities.jsonl", encodeAll(capabilities)},
		{"episodes.jsonl", encodeAll(episodes)},
	} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := part.lines(e); err != nil {
			return nil, fmt.Errorf("encode %s: %w", part.name, err)
		}
		files = append(files, file{part.name, b.Bytes()})
	}
	return files, nil
}

func encodeAll[T any](list []T) func(*json.Encoder) error {
	return func(e *json.Encoder) error {
		for _, v := range list {
			if err := e.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
}
