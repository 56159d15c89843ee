// Command src builds the web page: it bundles app with esbuild and writes the result to ../dist, each file named by the
// hash of its content, so that browsers may keep it for ever. Run it with `make page`.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	src := flag.String("src", "server/page/src", "folder of the sources")
	out := flag.String("out", "server/page/dist", "folder of the built files")
	flag.Parse()
	if err := write(*src, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(src, out string) error {
	files, err := build(src)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build returns the files of the page by name.
func build(src string) (map[string][]byte, error) {
	src, err := filepath.Abs(src)
	if err != nil {
		return nil, err
	}
	if err := checkVendor(filepath.Join(src, "third_party")); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	script, err := bundle(src, "main.jsx")
	if err != nil {
		return nil, err
	}
	style, err := bundle(src, "style.css")
	if err != nil {
		return nil, err
	}
	icon, err := os.ReadFile(filepath.Join(src, "app", "icon.svg"))
	if err != nil {
		return nil, err
	}
	index, err := os.ReadFile(filepath.Join(src, "app", "index.html"))
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		place, ext string
		content    []byte
	}{{"SCRIPT", "js", script}, {"STYLE", "css", style}, {"ICON", "svg", icon}} {
		sum := sha256.Sum256(f.content)
		name := "app-" + hex.EncodeToString(sum[:6]) + "." + f.ext
		files[name] = f.content
		index = bytes.ReplaceAll(index, []byte(f.place), []byte("/assets/"+name))
	}
	files["index.html"] = index
	files["mcp.html"], err = oneDocument(src, style)
	return files, err
}

// oneDocument is the page for MCP hosts, which load one document and nothing with it.
func oneDocument(src string, style []byte) ([]byte, error) {
	script, err := bundle(src, "mcp.jsx")
	if err != nil {
		return nil, err
	}
	if bytes.Contains(script, []byte("</script")) || bytes.Contains(style, []byte("</style")) {
		return nil, errors.New("mcp.jsx or style.css would end its own element of the document")
	}
	document, err := os.ReadFile(filepath.Join(src, "app", "mcp.html"))
	document = bytes.Replace(document, []byte("STYLE"), style, 1)
	return bytes.Replace(document, []byte("SCRIPT"), script, 1), err
}

func bundle(src, entry string) ([]byte, error) {
	r := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(src, "app", entry)}, AbsWorkingDir: src,
		Bundle: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Format: api.FormatESModule, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		JSX: api.JSXTransform, JSXFactory: "h", JSXFragment: "Fragment",
		Alias: map[string]string{"preact": "./third_party/preact.mjs", "preact/hooks": "./third_party/hooks.mjs"},
	})
	if len(r.Errors) > 0 {
		return nil, errors.New(api.FormatMessages(r.Errors, api.FormatMessagesOptions{})[0])
	}
	return r.OutputFiles[0].Contents, nil
}

// checkVendor compares the files of others with the checksums in vendor.json, which also names version and licence.
func checkVendor(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, "vendor.json"))
	if err != nil {
		return err
	}
	known := map[string]struct{ Package, License, SHA256 string }{}
	if err := json.Unmarshal(list, &known); err != nil {
		return fmt.Errorf("vendor.json: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "vendor.json" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		k, ok := known[e.Name()]
		if !ok || k.Package == "" || k.License == "" {
			return fmt.Errorf("third_party/%s: vendor.json does not name its package and licence", e.Name())
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != k.SHA256 {
			return fmt.Errorf("third_party/%s: its SHA-256 is %x, vendor.json says %s", e.Name(), sum, k.SHA256)
		}
	}
	return nil
}
