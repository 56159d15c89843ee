// Package page holds the built files of the web page and answers requests for them. The sources are in src, a module of
// its own; `make page` builds them.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

// Policy lets the page load only files of this server, forbids inline scripts and styles, and keeps the page out of
// frames. Text from a tool could not run even if the page wrote it as HTML, which Trusted Types refuse.
const Policy = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// App returns a screen, next or plan, as one document for MCP hosts, which show it in a frame with their own policy.
func App(screen string) (string, error) {
	document, err := filled("mcp.html", map[string]string{"STYLE": "style.css", "SCRIPT": "mcp.js"}, func(_ string, content []byte) []byte { return content })
	return strings.Replace(string(document), `data-view="VIEW"`, `data-view="`+screen+`"`, 1), err
}

// filled returns a document in which the value that the function of returns for a file replaces its placeholder.
func filled(name string, places map[string]string, of func(name string, content []byte) []byte) ([]byte, error) {
	document, err := dist.ReadFile("dist/" + name)
	for place, name := range places {
		content, wrong := dist.ReadFile("dist/" + name)
		if wrong != nil {
			return nil, wrong
		}
		document = bytes.Replace(document, []byte(place), of(name, content), 1)
	}
	return document, err
}

// File is one file of the page.
type File struct {
	content                   []byte
	mediaType, etag, freshFor string
}

// Load returns the embedded files by the path at which they are served: each asset under its hash, so that browsers may
// keep it for ever, and the document that names the assets.
func Load() (map[string]File, error) {
	files := map[string]File{}
	add := func(where, name, fresh string, content []byte) string {
		sum := sha256.Sum256(content)
		etag := hex.EncodeToString(sum[:8])
		where = strings.Replace(where, "HASH", etag, 1)
		files[where] = File{content, mime.TypeByExtension(path.Ext(name)), `"` + etag + `"`, fresh}
		return where
	}
	index, err := filled("index.html", map[string]string{"ICON": "icon.svg", "STYLE": "style.css", "SCRIPT": "main.js"}, func(name string, content []byte) []byte {
		return []byte(add("/assets/app-HASH"+path.Ext(name), name, "public, max-age=31536000, immutable", content))
	})
	add("/", "index.html", "no-cache", index)
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
