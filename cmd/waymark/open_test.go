package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// open hands the browser a link to the server that has the data directory, and says so where there is none.
func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, errs, code := waymark(t, "", "open", "--data", dir)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "no server has the data directory "+dir+"; `waymark serve` starts one")

	s := startServer(t, dir)
	out, errs, code := waymark(t, "", "open", "--print", "--data", dir)
	require.Zero(t, code, errs)
	require.Regexp(t, `^`+s.URLs.Page+`#/sign-in\?code=[A-Z2-7]{26}\n$`, out)

	given := filepath.Join(t.TempDir(), "given")
	browser := filepath.Join(t.TempDir(), "browser")
	require.NoError(t, os.WriteFile(browser, []byte("#!/bin/sh\necho \"$2\" >"+given+"\nexit ${1}\n"), 0o755))
	t.Setenv("BROWSER", browser+" 0")
	_, errs, code = waymark(t, "", "open", "--data", dir)
	require.Zero(t, code, errs)
	link, err := os.ReadFile(given)
	require.NoError(t, err)
	require.Contains(t, string(link), s.URLs.Page+"#/sign-in?code=")
	require.NotEqual(t, strings.TrimSpace(out), strings.TrimSpace(string(link)))

	t.Setenv("BROWSER", browser+" 1")
	_, errs, code = waymark(t, "", "open", "--data", dir)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "did not open the page")

	_, errs, code = waymark(t, "", "open", "--server", "http://127.0.0.1:1", "--data", dir)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "needs a key in WAYMARK_KEY")
}
