// Command supply says what a built program consists of: its modules with their licences, or a bill of materials in
// CycloneDX. It reads the module list that Go puts into every program and the sources in the module cache, so it needs
// no network once the program was built.
//
//	go run ./lab/supply licences bin/waymark
//	go run ./lab/supply sbom bin/waymark > waymark.cdx.json
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: supply licences|sbom PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

// module is one that is linked into a program.
type module struct {
	Path, Version, Sum string
	Licences           []string // SPDX ids, sorted
}

func run(what, program string, out io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	modules, err := linked(info)
	if err != nil {
		return err
	}
	switch what {
	case "licences":
		return licences(modules, out)
	case "sbom":
		return sbom(program, info, modules, out)
	}
	return fmt.Errorf("unknown command %q: want licences or sbom", what)
}

// linked lists the modules of a program beside its own, sorted by path.
func linked(info *debug.BuildInfo) ([]module, error) {
	var all []module
	for _, dep := range info.Deps {
		m := dep
		if dep.Replace != nil {
			m = dep.Replace
		}
		dir, err := sourceOf(m.Path, m.Version)
		if err != nil {
			return nil, err
		}
		found, err := licencesIn(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, module{Path: m.Path, Version: m.Version, Sum: m.Sum, Licences: found})
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// sourceOf returns the directory of a module in the cache.
func sourceOf(path, version string) (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var found struct{ Dir, Error string }
	if json.Unmarshal(out, &found) != nil || found.Dir == "" {
		return "", fmt.Errorf("the source of %s@%s is not in the module cache: %s %w", path, version, found.Error, err)
	}
	return found.Dir, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([-._].*)?$`)

// licencesIn reads the licence files at the top of a module.
func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, classify(string(text))...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// phrases name a licence by words that its text alone has. A file may hold several texts.
var phrases = []struct{ id, phrase string }{
	{"AGPL-3.0", "gnu affero general public license"},
	{"LGPL-3.0", "gnu lesser general public license"},
	{"GPL-3.0", "gnu general public license"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"Apache-2.0", "apache license version 2.0"},
	{"BSD-3-Clause", "neither the name of"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright"},
	{"ISC", "permission to use copy modify and or distribute this software for any purpose"},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

var noWord = regexp.MustCompile(`[^a-z0-9.]+`)

func classify(text string) (ids []string) {
	text = noWord.ReplaceAllString(strings.ToLower(text), " ")
	for _, p := range phrases {
		if !strings.Contains(text, p.phrase) {
			continue
		}
		// Other texts mention the GPL: the Mozilla licence as one that may be chosen, the AGPL as its base.
		if p.id == "BSD-2-Clause" && slices.Contains(ids, "BSD-3-Clause") ||
			(strings.HasSuffix(p.id, "GPL-3.0") && strings.Contains(text, "mozilla public license version 2.0")) {
			continue
		}
		ids = append(ids, p.id)
	}
	return ids
}

// allowed are licences under which a module may be part of a program under the MIT licence.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Unlicense"}

func licences(modules []module, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var bad []string
	for _, m := range modules {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Path, m.Version, strings.Join(m.Licences, " AND "))
		if len(m.Licences) == 0 || slices.ContainsFunc(m.Licences, func(id string) bool { return !slices.Contains(allowed, id) }) {
			bad = append(bad, m.Path)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("licence unknown or not one of %s: %s", strings.Join(allowed, ", "), strings.Join(bad, ", "))
	}
	return nil
}

type (
	licence   map[string]map[string]string // {"license": {"id": …}}
	component struct {
		Type     string              `json:"type"`
		Ref      string              `json:"bom-ref"`
		Name     string              `json:"name"`
		Version  string              `json:"version"`
		Purl     string              `json:"purl"`
		Licences []licence           `json:"licenses,omitempty"`
		Hashes   []map[string]string `json:"hashes,omitempty"`
		More     []map[string]string `json:"properties,omitempty"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Need []string `json:"dependsOn"`
	}
)

func componentOf(kind, path, version string) component {
	purl := "pkg:golang/" + path
	if version != "" && version != "(devel)" {
		purl += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return component{Type: kind, Ref: purl, Name: path, Version: version, Purl: purl}
}

// sbom writes CycloneDX 1.5 without a time or a serial number: the same program gives the same bytes.
func sbom(program string, info *debug.BuildInfo, modules []module, out io.Writer) error {
	bin, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	self := componentOf("application", info.Main.Path, info.Main.Version)
	self.Hashes = []map[string]string{{"alg": "SHA-256", "content": fmt.Sprintf("%x", sha256.Sum256(bin))}}
	for _, s := range info.Settings {
		self.More = append(self.More, map[string]string{"name": "go:" + s.Key, "value": s.Value})
	}
	std := componentOf("library", "std", strings.TrimPrefix(info.GoVersion, "go"))
	std.Licences = []licence{{"license": {"id": "BSD-3-Clause"}}}
	components := []component{std}
	for _, m := range modules {
		c := componentOf("library", m.Path, m.Version)
		for _, id := range m.Licences {
			c.Licences = append(c.Licences, licence{"license": {"id": id}})
		}
		c.More = []map[string]string{{"name": "go:sum", "value": m.Sum}}
		components = append(components, c)
	}
	needs := dependency{Ref: self.Ref}
	for _, c := range components {
		needs.Need = append(needs.Need, c.Ref)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": self},
		"components": components, "dependencies": []dependency{needs},
	})
	if err == nil {
		_, err = out.Write(b.Bytes())
	}
	return err
}
