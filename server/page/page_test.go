package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ask(t *testing.T, f File, name string, header map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, PathOf(name), nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	f.Serve(w, r)
	return w.Result()
}

func TestServe(t *testing.T) {
	files, err := Load()
	require.NoError(t, err)
	for name, f := range files {
		plain := ask(t, f, name, nil)
		content, err := io.ReadAll(plain.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(f.content, content), name)
		policy := plain.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'self'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")

		packed := ask(t, f, name, map[string]string{"Accept-Encoding": "br, gzip"})
		require.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
		unpacked, err := gzip.NewReader(packed.Body)
		require.NoError(t, err)
		content, err = io.ReadAll(unpacked)
		require.NoError(t, err)
		require.True(t, bytes.Equal(f.content, content), name)
		require.NotEqual(t, plain.Header.Get("ETag"), packed.Header.Get("ETag"))

		require.Empty(t, ask(t, f, name, map[string]string{"Accept-Encoding": "gzip;q=0"}).Header.Get("Content-Encoding"))
		require.Equal(t, http.StatusNotModified, ask(t, f, name, map[string]string{"If-None-Match": `"x", ` + plain.Header.Get("ETag")}).StatusCode)
		if name == "index.html" {
			require.Equal(t, "no-cache", plain.Header.Get("Cache-Control"))
		} else {
			require.Contains(t, plain.Header.Get("Cache-Control"), "immutable")
		}
	}
}

// The page must load quickly and offline, and its policy allows no script or style in the document.
func TestTheFilesKeepTheBudget(t *testing.T) {
	files, err := Load()
	require.NoError(t, err)
	raw, packed := 0, 0
	for _, f := range files {
		raw, packed = raw+len(f.content), packed+len(f.packed)
	}
	require.LessOrEqual(t, raw, 300<<10)
	require.LessOrEqual(t, packed, 90<<10)

	index := string(files["index.html"].content)
	require.NotRegexp(t, `<style|style="|<script[^>]*>[^<]|\son[a-z]+=`, index)
	refs := regexp.MustCompile(`/assets/([^"]+)`).FindAllStringSubmatch(index, -1)
	require.Len(t, refs, 3)
	for _, ref := range refs {
		require.Contains(t, files, ref[1])
	}
	for name, f := range files {
		if strings.HasSuffix(name, ".js") {
			require.NotContains(t, string(f.content), "eval(", name)
			require.NotContains(t, string(f.content), "axe-core", "what tests alone need is no part of the page")
		}
	}
}
