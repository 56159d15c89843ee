// Package page serves the web page from its sources in app: modules that a browser loads as they are. Tests in a
// browser are in browser, a module of its own.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
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
	script, failed := embedded.ReadFile("app/mcp.js")
	filled := strings.NewReplacer("VIEW", screen, "STYLE", string(style), "SCRIPT", string(script))
	return filled.Replace(string(document)), errors.Join(err, wrong, failed)
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
