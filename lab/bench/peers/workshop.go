package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/lab/bench"
)

// A workshop has what the runners need: the sources, copied, the programs built of them, the data.
type workshop struct {
	scratch string
	limit   time.Duration
	cpu     bool // processor time decides which result is better
	python  string
	missing map[string]string // what is not there: how to get it
}

func (w *workshop) at(parts ...string) string {
	return filepath.Join(append([]string{w.scratch}, parts...)...)
}

func (w *workshop) data(n int) string { return w.at("data", strconv.Itoa(n)) }

// prepare copies the sources, which may be read-only, and builds and installs what it can.
func (w *workshop) prepare(ctx context.Context, source string) error {
	if err := copyTree(w.at("src"), source); err != nil {
		return fmt.Errorf("copy the peers: %w", err)
	}
	for _, folder := range []string{"bin", "data"} {
		if err := os.MkdirAll(w.at(folder), 0o755); err != nil {
			return err
		}
	}
	if err := w.quiet(ctx, "", "go", "build", "-o", w.at("bin", "ours"), "waymark/lab/bench/ours"); err != nil {
		return err
	}
	for _, runner := range []string{"gen", "prbench", "aabench", "store", "lex"} {
		if err := w.quiet(ctx, w.at("src", "go"), "go", "build", "-mod=mod", "-o", w.at("bin", runner), "./"+runner); err != nil {
			w.missing[runner] = "go build in go/" + runner + ": " + lastLine(err.Error())
			if runner == "lex" {
				w.missing[runner] += " (needs cgo and a C compiler)"
			}
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		w.missing["node"] = "Node.js, with npm (Debian: nodejs npm)"
	} else if _, err := os.Stat(w.at("src", "js", "node_modules", "graphology")); err != nil {
		if err := w.quiet(ctx, w.at("src", "js"), "npm", "install", "--no-audit", "--no-fund", "--no-package-lock"); err != nil {
			w.missing["node"] = "npm install in js/: " + lastLine(err.Error())
		}
	}
	w.findPython(ctx)
	return nil
}

// modules are what the Python peers import, and the Debian package of each.
var modules = map[string]string{
	"numpy": "python3-numpy", "scipy": "python3-scipy", "sklearn": "python3-sklearn", "igraph": "python3-igraph", "leidenalg": "python3-leidenalg",
}

// findPython takes the interpreter in PY, or of those in the path the one that lacks the fewest modules.
func (w *workshop) findPython(ctx context.Context) {
	candidates := []string{os.Getenv("PY")}
	if candidates[0] == "" {
		candidates = candidates[:0]
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			candidates = append(candidates, filepath.Join(dir, "python3"))
		}
	}
	names := slices.Sorted(maps.Keys(modules))
	lacking := names
	ask := "import importlib.util as u\nprint(' '.join(m for m in '" + strings.Join(names, " ") + "'.split() if not u.find_spec(m)))"
	for _, candidate := range candidates {
		out, err := exec.CommandContext(ctx, candidate, "-c", ask).Output()
		if lacks := strings.Fields(string(out)); err == nil && (w.python == "" || len(lacks) < len(lacking)) {
			w.python, lacking = candidate, lacks
		}
	}
	if w.python == "" {
		w.missing["python3"] = "Python 3, named by PY or found in the path"
	}
	for _, m := range lacking {
		w.missing["python module "+m] = "Debian: " + modules[m] + "; or pip install " + cmp.Or(map[string]string{"sklearn": "scikit-learn"}[m], m) + " for the Python that PY names"
	}
}

// lacks names what is not there of what the peer needs, or is empty.
func (w *workshop) lacks(p peer) string {
	needs := []string{}
	switch p.kind {
	case goRunner:
		needs = append(needs, p.program)
	case node:
		needs = append(needs, "node")
	case python:
		needs = append(needs, "python3", "python module numpy")
		for _, m := range p.modules {
			needs = append(needs, "python module "+m)
		}
	}
	for _, need := range needs {
		if _, missing := w.missing[need]; missing {
			return need
		}
	}
	return ""
}

// absent says what is missing and how to get it.
func (w *workshop) absent() string {
	if len(w.missing) == 0 {
		return "All peers were there.\n"
	}
	var b strings.Builder
	b.WriteString("Missing, and how to get it:\n\n")
	for _, what := range slices.Sorted(maps.Keys(w.missing)) {
		fmt.Fprintf(&b, "- %s: %s\n", what, w.missing[what])
	}
	return b.String()
}

// generate makes the data of n tools, if they are not there.
func (w *workshop) generate(ctx context.Context, n int) error {
	if _, err := os.Stat(filepath.Join(w.data(n), "aapairs.i32")); err == nil {
		return nil // it is written last
	}
	for _, runner := range []string{"gen", "prbench", "aabench"} {
		if how, missing := w.missing[runner]; missing {
			return fmt.Errorf("no data of %d tools in %s, and %s to make them: %s", n, w.data(n), runner, how)
		}
	}
	ctx, stop := context.WithTimeout(ctx, 4*w.limit)
	defer stop()
	return w.quiet(ctx, w.at("src"), "bash", "generate.sh", w.at("bin"), w.at("data"), strconv.Itoa(n))
}

// command is how a peer is run.
func (w *workshop) command(c contest, p peer, n int) (name string, args []string) {
	switch p.kind {
	case python:
		name, args = w.python, []string{"-W", "ignore", w.at("src", "py", "peers.py"), "--dir", w.data(n), "--task", c.task, "--peer", p.name, "--reps", "3"}
		if n >= million { // once takes long enough
			args = append(args, "--reps", "1", "--warm", "0")
		}
		if c.k > 0 {
			args = append(args, "--k", strconv.Itoa(c.k))
		}
	case node:
		name, args = "node", []string{"--expose-gc", "--max-old-space-size=14000", w.at("src", "js", "peers.mjs"), "--dir", w.data(n), "--task", c.task, "--peer", p.name, "--reps", "3"}
	case goRunner:
		name, args = w.at("bin", p.program), []string{"-dir", w.data(n), "-peer", p.name}
		if n == 0 {
			args = []string{"-dir", w.at("log")}
		}
	}
	return name, append(args, p.args...)
}

// An outcome is the best results of a contest, and what was not run and why.
type outcome struct {
	contest contest
	n       int
	ours    bench.Result
	peers   map[string]bench.Result
	not     map[string]string
}

// run lets ours and the peers take turns.
func (w *workshop) run(ctx context.Context, c contest, n, rounds int) (outcome, error) {
	o := outcome{contest: c, n: n, peers: map[string]bench.Result{}, not: map[string]string{}}
	dir := w.data(n)
	if n == 0 {
		dir = w.at("log")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return o, err
		}
		defer os.RemoveAll(dir)
	}
	for round := range rounds {
		args := append([]string{"-task", c.task, "-dir", dir}, c.args...)
		if n >= million {
			args = append(args, "-reps", "2")
		}
		r, err := w.result(ctx, w.at("bin", "ours"), args...)
		if err != nil {
			return o, fmt.Errorf("ours, %s: %w", c.task, err)
		}
		o.ours = w.better(c, o.ours, r, round == 0)
		for _, p := range c.peers {
			switch lacks := w.lacks(p); {
			case lacks != "":
				o.not[p.name] = "needs " + lacks
				continue
			case p.most > 0 && n > p.most:
				o.not[p.name] = "takes too long"
				continue
			case o.not[p.name] != "":
				continue
			}
			name, args := w.command(c, p, n)
			r, err = w.result(ctx, name, args...)
			if ctx.Err() != nil {
				return o, ctx.Err()
			} else if err != nil {
				o.not[p.name] = lastLine(err.Error())
				continue
			}
			last, again := o.peers[p.name]
			o.peers[p.name] = w.better(c, last, r, !again)
		}
	}
	return o, nil
}

func (w *workshop) better(c contest, a, b bench.Result, first bool) bench.Result {
	if first || c.cost(b, w.cpu) < c.cost(a, w.cpu) {
		return b
	}
	return a
}

// result runs a program and reads the last line of JSON that it prints.
func (w *workshop) result(ctx context.Context, name string, args ...string) (r bench.Result, err error) {
	fmt.Fprintln(os.Stderr, "#", filepath.Base(name), strings.Join(args, " "))
	limited, stop := context.WithTimeout(ctx, w.limit)
	defer stop()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &complaints, 5*time.Second
	err = cmd.Run()
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		return r, fmt.Errorf("stopped after %v", w.limit)
	case err != nil:
		return r, errors.Join(err, errors.New(complaints.String()))
	}
	return parse(out.String())
}

func parse(out string) (r bench.Result, err error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		return r, fmt.Errorf("no line of JSON: %w", err)
	}
	return r, nil
}

// quiet runs a command whose output matters only if it fails.
func (w *workshop) quiet(ctx context.Context, dir, name string, args ...string) error {
	fmt.Fprintln(os.Stderr, "#", name, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if dir != "" { // a module of its own, also where the scratch folder lies within a workspace
		cmd.Env = append(cmd.Environ(), "GOWORK=off")
	}
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// copyTree copies files so that they can be written to, over those of the last time. Installed
// packages are used where they are.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case d.Name() == "node_modules":
			absolute, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			if err := os.Symlink(absolute, target); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}
