// Package page holds the built files of the web page and answers requests for them. The sources are in src, a module of
// its own; `make page` builds them.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed all:dist
var dist embed.FS

// Policy lets the page load only what this server serves, no inline script or style, and keeps it out of frames. What a
// tool says of itself could not run even if the page wrote it as HTML, which Trusted Types refuse.
const Policy = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

const (
	index = "index.html"
	app   = "mcp.html"
)

// App is a screen as one document for MCP hosts: next or plan. They show it in a frame of their own policy.
func App(screen string) (string, error) {
	document, err := fs.ReadFile(dist, "dist/"+app)
	return strings.Replace(string(document), `data-view="VIEW"`, `data-view="`+screen+`"`, 1), err
}

// File is one file of the page.
type File struct {
	content, packed           []byte
	mediaType, etag, freshFor string
}

// PathOf is where a file is served.
func PathOf(name string) string {
	if name == index {
		return "/"
	}
	return "/assets/" + name
}

// Load reads and packs the embedded files and returns them by name.
func Load() (map[string]File, error) {
	files := map[string]File{}
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == app {
			continue
		}
		content, err := fs.ReadFile(dist, "dist/"+e.Name())
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		fresh := "public, max-age=31536000, immutable" // its name changes with its content
		if e.Name() == index {
			fresh = "no-cache"
		}
		files[e.Name()] = File{content, b.Bytes(), mime.TypeByExtension(path.Ext(e.Name())), hex.EncodeToString(sum[:8]), fresh}
	}
	if _, ok := files[index]; !ok {
		return nil, fmt.Errorf("the built page has no %s", index)
	}
	return files, nil
}

// Serve answers a request for the file.
func (f File) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", f.freshFor)
	h.Set("Vary", "Accept-Encoding")
	body, etag := f.content, `"`+f.etag+`"`
	if takesGzip(r) {
		body, etag = f.packed, `"`+f.etag+`-gzip"`
	}
	h.Set("ETag", etag)
	if matches(r.Header.Get("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // net/http leaves it out for HEAD; if it fails, the client is gone
}

func matches(header, etag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == etag || one == "*" {
			return true
		}
	}
	return false
}

func takesGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, q, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64)
			return strings.TrimSpace(q) == "" || err == nil && weight > 0
		}
	}
	return false
}
