package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ask(t *testing.T, f File, path, etag string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("If-None-Match", etag)
	w := httptest.NewRecorder()
	f.Serve(w, r)
	return w.Result()
}

func TestServe(t *testing.T) {
	files, err := Load()
	require.NoError(t, err)
	for path, f := range files {
		plain := ask(t, f, path, "")
		content, err := io.ReadAll(plain.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(f.content, content), path)
		policy := plain.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'self'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, http.StatusNotModified, ask(t, f, path, `"x", `+plain.Header.Get("ETag")).StatusCode)
		if path == "/" {
			require.Equal(t, "no-cache", plain.Header.Get("Cache-Control"))
			require.Equal(t, "text/html; charset=utf-8", plain.Header.Get("Content-Type"))
		} else {
			require.Contains(t, plain.Header.Get("Cache-Control"), "immutable")
		}
	}
}

// The page must load quickly and offline, and its policy allows no script or style in the document.
func TestTheFilesKeepTheBudget(t *testing.T) {
	files, err := Load()
	require.NoError(t, err)
	raw := 0
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for _, f := range files {
		raw += len(f.content)
		_, err := w.Write(f.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.LessOrEqual(t, raw, 300<<10)
	require.LessOrEqual(t, packed.Len(), 90<<10)

	index := string(files["/"].content)
	require.NotRegexp(t, `<style|style="|<script[^>]*>[^<]|\son[a-z]+=`, index)
	refs := regexp.MustCompile(`/assets/[^"]+`).FindAllString(index, -1)
	require.Len(t, refs, 3)
	for _, ref := range refs {
		require.Contains(t, files, ref)
	}
	for path, f := range files {
		if strings.HasSuffix(path, "js") {
			require.Equal(t, "text/javascript; charset=utf-8", f.mediaType, path)
			require.NotContains(t, string(f.content), "eval(", path)
			require.NotContains(t, string(f.content), "axe-core", "what tests alone need is no part of the page")
		}
	}
}

// A browser resolves an import beside the module that has it, and takes no name of a package.
func TestImportsNameFilesThatAreServed(t *testing.T) {
	files, err := Load()
	require.NoError(t, err)
	seen := 0
	for where, f := range files {
		for _, m := range regexp.MustCompile(`(?m)^import\b.*?from ?"(.*?)"`).FindAllStringSubmatch(string(f.content), -1) {
			require.Regexp(t, `^\./`, m[1], where)
			require.Contains(t, files, path.Join(path.Dir(where), m[1]), where)
			seen++
		}
	}
	require.Greater(t, seen, 50)
}

// The document for MCP hosts holds its style and its script, which cannot end their elements.
func TestAppIsOneDocument(t *testing.T) {
	app, err := App("next")
	require.NoError(t, err)
	require.Contains(t, app, `data-view="next"`)
	require.NotRegexp(t, `>STYLE|>SCRIPT|VIEW"`, app)
	require.NotRegexp(t, `(?m)^import\b|^export\b|\bexport ?\{`, app)
	require.Equal(t, 1, strings.Count(app, "</script"))
	require.Equal(t, 1, strings.Count(app, "</style"))
}

// Each file of others has the recorded sum, and the licence of its package beside it.
func TestVendoredFilesAreThoseRecorded(t *testing.T) {
	for _, folder := range []string{"app/vendored", "browser/vendored"} {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		list, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
		require.NoError(t, err)
		recorded := regexp.MustCompile(`(?m)^# (\S+) \d+\.\d+\.\d+, .*\n([0-9a-f]{64})  (\S+)$`).FindAllSubmatch(list, -1)
		require.Len(t, recorded, len(entries)-1, "%s: all but SHA256SUMS", folder)
		for _, r := range recorded {
			content, err := os.ReadFile(filepath.Join(folder, string(r[3])))
			require.NoError(t, err)
			require.Equal(t, string(r[2]), fmt.Sprintf("%x", sha256.Sum256(content)), "%s", r[3])
			require.FileExists(t, filepath.Join(folder, string(r[1])+".LICENSE"))
		}
	}
}
