package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/storage/eventlog/logtest"
)

// A backup of a data directory, and of a server on a log, is restored into a log: each has the history, the keys and the
// answers of the first.
func TestRestoreIntoALog(t *testing.T) {
	dir := t.TempDir()
	in := func(file string) string { return filepath.Join(dir, file) }
	run := func(args ...string) string {
		t.Helper()
		out, errs, code := waymark(t, "", args...)
		require.Zero(t, code, errs)
		return out
	}
	for _, workspace := range []string{"default", "other"} {
		_, errs, code := waymark(t, threeEpisodes, "record", "-", "--data", in("first"), "--workspace", workspace)
		require.Zero(t, code, errs)
	}
	run("keys", "create", "--data", in("first"))
	answer := func(data string) string {
		return builtAt.ReplaceAllString(run("next", "--after", "fs:read_file", "--json", "--data", data, "--workspace", "other"), "")
	}
	keys, want := run("keys", "list", "--json", "--data", in("first")), answer(in("first"))
	last, hash := in("first"), ""
	for _, data := range []string{in("second"), in("third")} {
		log := logtest.StartPostgres(t).Address
		run("backup", data+".backup", "--data", last)
		run("restore", data+".backup", "--log", log, "--log-unsafe")
		_, errs, code := waymark(t, "", "restore", data+".backup", "--log", log, "--log-unsafe")
		require.NotZero(t, code)
		require.Contains(t, errs, "is in use")
		server := startServer(t, data, "--log", log, "--log-unsafe")
		require.Equal(t, keys, run("keys", "list", "--json", "--data", data))
		require.Eventually(t, func() bool { return answer(data) == want }, time.Minute, 50*time.Millisecond)
		resp, err := http.Get(strings.TrimSuffix(server.URLs.API, "/v1") + "/readyz")
		require.NoError(t, err)
		var ready struct {
			Replica struct {
				Hash string `json:"model_hash"`
			}
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&ready))
		require.NoError(t, resp.Body.Close())
		if hash != "" {
			require.Equal(t, hash, ready.Replica.Hash)
		}
		last, hash = data, ready.Replica.Hash
	}
	files, err := filepath.Glob(in("*"))
	require.NoError(t, err)
	require.Len(t, files, 5, "nothing temporary is left: %v", files)
}
