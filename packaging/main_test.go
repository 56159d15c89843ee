package main

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Names come from one file and reach everything that is generated; nothing of a template stays.
func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	owner := filepath.Join(dir, "owner.env")
	if err := os.WriteFile(owner, []byte("# names\nOWNER=Somebody\nREPO=elsewhere\nAUTHOR=Some \"Body\"\nEMAIL=some@body.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := generate(options{owner: owner, templates: "templates", out: out, version: "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	if err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(out, path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if strings.Contains(text, "[[ ") || strings.Contains(text, "[[.") || strings.Contains(text, "example/waymark") {
			t.Errorf("%s holds what is not filled in", name)
		}
	}
	for name, want := range map[string]string{
		"goreleaser.yaml":                     `owner: "Somebody", name: "elsewhere"`,
		"npm/waymark/package.json":            `"@Somebody/waymark-win32-arm64": "1.2.3"`,
		"npm/waymark-darwin-x64/package.json": `"os": ["darwin"]`,
		"helm/waymark/values.yaml":            "repository: ghcr.io/somebody/elsewhere",
		"server.json":                         `"io.github.Somebody/waymark"`,
		"mcpb/darwin-arm64/manifest.json":     `"name": "Some \"Body\""`,
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %s", name, want)
		}
	}
	button := regexp.MustCompile(`config=([A-Za-z0-9+/=]+)\)`).FindStringSubmatch(files["buttons.md"])
	var server struct{ Command string }
	if text, err := base64.StdEncoding.DecodeString(button[1]); err != nil || json.Unmarshal(text, &server) != nil || server.Command != "waymark" {
		t.Errorf("the button of Cursor starts %q: %v", server.Command, err)
	}
}

func TestRefuses(t *testing.T) {
	owner := filepath.Join(t.TempDir(), "owner.env")
	if err := os.WriteFile(owner, []byte("OWNER=x\nREPO=y\nAUTHOR=z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []options{{owner: owner, version: "1.0.0"}, {owner: "owner.env", version: "v1"}} {
		o.templates, o.out = "templates", filepath.Join(t.TempDir(), "out")
		if err := generate(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// Each kind has a file by the name that kubeconform asks for; a member that is not described is refused, and a number is
// as good as a name where the API says so.
func TestSchemas(t *testing.T) {
	dir := t.TempDir()
	api := filepath.Join(dir, "swagger.json")
	for _, text := range []string{`{`, `{"definitions":{"x":{}}}`} {
		if err := os.WriteFile(api, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := schemas(api, dir); err == nil || !strings.Contains(err.Error(), api) {
			t.Errorf("%s is taken: %v", text, err)
		}
	}
	if err := os.WriteFile(api, []byte(`{"definitions":{
		"core.Service":{"properties":{"spec":{"$ref":"#/definitions/port"}},"x-kubernetes-group-version-kind":[{"group":"","kind":"Service","version":"v1"}]},
		"net.Policy":{"properties":{},"x-kubernetes-group-version-kind":[{"group":"networking.k8s.io","kind":"NetworkPolicy","version":"v1"}]},
		"port":{"type":"string","format":"int-or-string"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := schemas(api, dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"service-v1.json":                  `{"$ref":"definitions.json#/definitions/core.Service"}`,
		"networkpolicy-networking-v1.json": `{"$ref":"definitions.json#/definitions/net.Policy"}`,
		"definitions.json":                 `"port":{"type":["string","number"]}`,
	} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v; want %s", name, text, err, want)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "definitions.json")); strings.Count(string(text), `"additionalProperties":false`) != 2 {
		t.Errorf("kinds are open: %s", text)
	}
}
