// Command packaging writes everything that installs Waymark: from one file of names, templates, and the program
// itself, which lists its own tools and completions.
//
//	owner.env + templates/ + bin/waymark ──▶ out/
//
// Templates use [[ ]], since most of what they make uses {{ }} itself. A part PLATFORM in the path of a template makes
// one file for each platform.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"text/template"
)

func main() {
	var o options
	flag.StringVar(&o.owner, "owner", "owner.env", "file of names")
	flag.StringVar(&o.templates, "templates", "templates", "folder of templates")
	flag.StringVar(&o.out, "out", "out", "folder to write; it is made anew")
	flag.StringVar(&o.program, "program", "", "built program: lists tools, writes completions, and goes into the packages of this platform")
	flag.StringVar(&o.dist, "dist", "", "what goreleaser built: programs for the packages of all platforms")
	flag.StringVar(&o.version, "version", "0.0.0-dev", "semantic version")
	swagger := flag.String("kubernetes", "", "description of the API of Kubernetes: only write the JSON schemas of its kinds, for kubeconform")
	flag.Parse()
	do := func() error { return generate(o) }
	if *swagger != "" {
		do = func() error { return schemas(*swagger, o.out) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

type options struct{ owner, templates, out, program, dist, version string }

// platform is one that is built for, in the words of Go and of npm.
type platform struct{ OS, Arch, NodeOS, NodeArch, Exe string }

// Name is part of the names of packages.
func (p platform) Name() string { return p.NodeOS + "-" + p.NodeArch }

var platforms = []platform{
	{"linux", "amd64", "linux", "x64", ""}, {"linux", "arm64", "linux", "arm64", ""},
	{"darwin", "amd64", "darwin", "x64", ""}, {"darwin", "arm64", "darwin", "arm64", ""},
	{"windows", "amd64", "win32", "x64", ".exe"}, {"windows", "arm64", "win32", "arm64", ".exe"},
}

// tool is one of the program's own, for manifests that list them.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// data is what templates see.
type data struct {
	Owner, Repo, Author, Email string
	Version                    string
	Title, Short, Description  string
	Homepage, Image            string
	Platforms                  []platform
	Platform                   platform // of a file for one
	Here                       platform // that this runs on
	Tools                      []tool
	Bundles                    map[string]string // SHA-256 of the MCPB files, by platform

	programs map[string][]string // by platform: waymark, and waymark-hook where it was built
}

func generate(o options) error {
	d, err := newData(o)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	if o.program != "" {
		if d.Tools, err = tools(o.program); err != nil {
			return err
		}
		if err := pages(o); err != nil {
			return err
		}
	}
	render := func(only bool) error {
		return filepath.WalkDir(o.templates, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || only != strings.HasSuffix(path, "server.json") {
				return err
			}
			return renderFile(o, d, path)
		})
	}
	if err := render(false); err != nil {
		return err
	}
	for _, p := range platforms {
		if len(d.programs[p.Name()]) == 0 {
			continue
		}
		if d.Bundles[p.Name()], err = bundle(o, p, d.programs[p.Name()][0]); err != nil {
			return err
		}
	}
	return render(true) // it names the hashes of the bundles
}

func newData(o options) (*data, error) {
	text, err := os.ReadFile(o.owner)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			names[name] = value
		}
	}
	for _, name := range []string{"OWNER", "REPO", "AUTHOR", "EMAIL"} {
		if names[name] == "" {
			return nil, fmt.Errorf("%s: %s is missing", o.owner, name)
		}
	}
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(o.version) {
		return nil, fmt.Errorf("-version %q is no semantic version", o.version)
	}
	d := &data{Owner: names["OWNER"], Repo: names["REPO"], Author: names["AUTHOR"], Email: names["EMAIL"], Version: o.version, Platforms: platforms,
		Title: "Waymark", Short: "Tells an agent which tool comes next",
		Description: "Learns the paths that agents take through their tools and suggests which tool comes next, which DAG of tools a request needs, and why. One program, no language model, nothing leaves the machine."}
	d.Homepage = "https://github.com/" + d.Owner + "/" + d.Repo
	d.Image = "ghcr.io/" + strings.ToLower(d.Owner+"/"+d.Repo)
	d.Bundles, d.programs = map[string]string{}, map[string][]string{}
	for _, p := range platforms {
		here := p.OS == runtime.GOOS && p.Arch == runtime.GOARCH
		if here {
			d.Here = p
		}
		for _, name := range []string{"waymark", "waymark-hook"} {
			path := filepath.Join(o.dist, name+"_"+p.OS+"_"+p.Arch+"*", name+p.Exe)
			if o.dist == "" {
				path = filepath.Join(filepath.Dir(o.program), name+p.Exe)
			}
			built, _ := filepath.Glob(path)
			if len(built) != 1 || o.dist == "" && (o.program == "" || !here) {
				break // waymark-hook is nothing without waymark
			}
			d.programs[p.Name()] = append(d.programs[p.Name()], built[0])
		}
	}
	if o.dist != "" && len(d.programs) == 0 {
		return nil, fmt.Errorf("-dist %s holds no program", o.dist)
	}
	return d, nil
}

// renderFile writes one template, or one file for each platform. What is JSON must be.
func renderFile(o options, d *data, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	t, err := template.New(path).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"b64":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"uri": func(s string) string {
			return strings.NewReplacer("%", "%25", "\"", "%22", " ", "%20", "{", "%7B", "}", "%7D", ",", "%2C", ":", "%3A", "[", "%5B", "]", "%5D").Replace(s)
		},
	}).Parse(string(text))
	if err != nil {
		return err
	}
	name, err := filepath.Rel(o.templates, path)
	if err != nil {
		return err
	}
	for _, p := range platforms {
		one := *d
		one.Platform = p
		var out bytes.Buffer
		if err := t.Execute(&out, one); err != nil {
			return err
		}
		target := filepath.Join(o.out, strings.ReplaceAll(name, "PLATFORM", p.Name()))
		if filepath.Ext(target) == ".json" && !json.Valid(out.Bytes()) {
			return fmt.Errorf("%s is no JSON:\n%s", target, out.Bytes())
		}
		if err := write(target, out.Bytes(), modeOf(out.Bytes())); err != nil {
			return err
		}
		if !strings.Contains(name, "PLATFORM") {
			break
		}
		if !strings.HasPrefix(filepath.ToSlash(name), "npm/") {
			continue
		}
		for _, program := range d.programs[p.Name()] {
			if err := copyFile(program, filepath.Join(filepath.Dir(target), "bin", filepath.Base(program))); err != nil {
				return err
			}
		}
	}
	return nil
}

// modeOf makes scripts executable.
func modeOf(text []byte) fs.FileMode {
	if bytes.HasPrefix(text, []byte("#!")) {
		return 0o755
	}
	return 0o644
}

func write(path string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, mode)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(to, text, 0o755)
}

// tools asks the program for its own, over MCP.
func tools(program string) ([]tool, error) {
	dir, err := os.MkdirTemp("", "waymark-packaging-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(program, "mcp", "--data", dir)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"packaging","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s mcp: %w", program, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var answer struct {
			ID     int
			Result struct{ Tools []tool }
		}
		if err := d.Decode(&answer); err != nil {
			return nil, errors.New("the program did not list its tools")
		}
		if answer.ID == 2 {
			return answer.Result.Tools, nil
		}
	}
}

// pages has the program write its completions.
func pages(o options) error {
	for shell, name := range map[string]string{"bash": "waymark.bash", "zsh": "_waymark", "fish": "waymark.fish", "powershell": "waymark.ps1"} {
		text, err := exec.Command(o.program, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("%s completion %s: %w", o.program, shell, err)
		}
		if err := write(filepath.Join(o.out, "completions", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bundle makes the MCPB file of a platform, and returns its SHA-256.
func bundle(o options, p platform, program string) (string, error) {
	path := filepath.Join(o.out, "mcpb", "waymark-"+p.Name()+".mcpb")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	z := zip.NewWriter(io.MultiWriter(f, sum))
	for _, file := range []struct {
		from, to string
		mode     fs.FileMode
	}{{filepath.Join(o.out, "mcpb", p.Name(), "manifest.json"), "manifest.json", 0o644}, {program, "server/waymark" + p.Exe, 0o755}} {
		text, err := os.ReadFile(file.from)
		if err != nil {
			return "", err
		}
		h := &zip.FileHeader{Name: file.to, Method: zip.Deflate} // without a time: equal programs give equal bundles
		h.SetMode(file.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return "", err
		}
		if _, err := w.Write(text); err != nil {
			return "", err
		}
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), f.Close()
}
