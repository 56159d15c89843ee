// Package page serves the web page from its sources in app: modules that a browser loads as they are. Tests in a
// browser are in browser, a module of its own.
package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed app/*.html app/*.js app/*.css app/*.svg app/vendored/*.mjs
var embedded embed.FS

// Policy lets the page load only files of this server, forbids inline scripts and styles, and keeps the page out of
// frames. Text from a tool could not run even if the page wrote it as HTML, which Trusted Types refuse.
const Policy = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// App returns a screen, next or plan, as one document for MCP hosts, which show it in a frame under a policy of their
// own: it may run the scripts of the document and load no other.
func App(screen string) (string, error) {
	document, err := embedded.ReadFile("app/mcp.html")
	style, wrong := embedded.ReadFile("app/style.css")
	script := &strings.Builder{}
	script.WriteString("const modules = {};\n")
	err = cmp.Or(err, wrong, link(script, "app/mcp.js", map[string]bool{}))
	filled := strings.NewReplacer("VIEW", screen, "STYLE", string(style), "SCRIPT", script.String())
	return filled.Replace(string(document)), err
}

// The forms of import and export that the modules of the page use.
var (
	importList    = regexp.MustCompile(`(?m)^import ?\{(.+?)\} ?from ?"(.+?)";`)
	exportList    = regexp.MustCompile(`export(\{.+?\});`)
	exportDefault = regexp.MustCompile(`\bexport default `)
	exportConst   = regexp.MustCompile(`(?m)^export const (\w+) =`)
	exportFunc    = regexp.MustCompile(`(?m)^export ((?:async )?function (\w+))`)
	renamed       = regexp.MustCompile(`([\w$]+) as (\w+)`)
)

// link appends a module to the script, after the modules that it imports. Each becomes a function, so that its names
// stay its own.
func link(script *strings.Builder, name string, linked map[string]bool) error {
	if linked[name] {
		return nil
	}
	linked[name] = true
	content, err := embedded.ReadFile(name)
	text := importList.ReplaceAllStringFunc(string(content), func(statement string) string {
		list := importList.FindStringSubmatch(statement)
		from := path.Join(path.Dir(name), list[2])
		err = cmp.Or(err, link(script, from, linked))
		return fmt.Sprintf("const {%s} = modules[%q];", renamed.ReplaceAllString(list[1], "$1: $2"), from)
	})
	text = exportList.ReplaceAllStringFunc(text, func(statement string) string {
		list := exportList.FindStringSubmatch(statement)
		return "Object.assign(exports, " + renamed.ReplaceAllString(list[1], "$2: $1") + ");"
	})
	text = exportDefault.ReplaceAllString(text, "exports.default = ")
	text = exportConst.ReplaceAllString(text, "const $1 = exports.$1 =")
	text = exportFunc.ReplaceAllString(text, "exports.$2 = $2; $1")
	fmt.Fprintf(script, "((exports) => {\n%s\n})(modules[%q] = {});\n", text, name)
	return err
}

// File is one file of the page.
type File struct {
	content                   []byte
	mediaType, etag, freshFor string
}

// mediaTypes holds the types by the endings of file names. Those of the system may differ, and then no browser loads a module.
var mediaTypes = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// Load returns the embedded files by the path at which they are served: the document, and what it loads below the hash
// of all files. So browsers may keep each file for ever, and never mix the modules of two versions.
func Load() (map[string]File, error) {
	contents, sum := map[string][]byte{}, sha256.New()
	err := fs.WalkDir(embedded, "app", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		contents[name], err = embedded.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(contents[name]), contents[name])
		return err
	})
	version := hex.EncodeToString(sum.Sum(nil)[:8])
	files := map[string]File{}
	for name, content := range contents {
		where, fresh := strings.Replace(name, "app", "/assets/"+version, 1), "public, max-age=31536000, immutable"
		switch name {
		case "app/mcp.html", "app/mcp.js":
			continue // [App] is made of them
		case "app/index.html":
			where, fresh = "/", "no-cache"
			content = bytes.ReplaceAll(content, []byte("VERSION"), []byte(version))
		}
		files[where] = File{content, mediaTypes[path.Ext(name)], `"` + version + `"`, fresh}
	}
	return files, err
}

// Serve answers a request for the file.
func (f File) Serve(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": Policy, "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": f.freshFor, "ETag": f.etag, "Content-Type": f.mediaType,
	} {
		w.Header().Set(name, value)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}
