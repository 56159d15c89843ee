package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/live"
	"waymark/storage"
)

// The intents, ids, arguments and errors of episodes that are purged are in no file afterwards: not in the database, the
// snapshots, kept answers, or the audit log, where an act before has named one.
func TestPurge(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads every file of the store")
	}
	dir := t.TempDir()
	w := newWeb(t, func(c *Config) {
		store, err := storage.Open(dir, storage.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, store.Close()) })
		c.Store, c.Data, c.Workspaces = store, dir, live.NewWorkspaces(store, live.Options{})
	})
	local := bearerOf("local-token")
	random := rand.New(rand.NewPCG(11, 12)) // random texts stay readable in compressed tables
	var planted []string
	text := func() string {
		s := fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
		planted = append(planted, s)
		return s
	}
	holding := func() (files []string) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			for _, s := range planted {
				if bytes.Contains(b, []byte(s)) {
					files = append(files, filepath.Base(path))
					break
				}
			}
			return err
		}))
		return files
	}
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = text()
		body := fmt.Sprintf(`{"episodes":[{"id":%q,"intent":"find <%s>","steps":[{"tool":"desk:find","outcome":"failure","error":%q}]}]}`, ids[i], text(), text())
		r := w.ask("POST", "/v1/episodes", body, local)
		require.Equal(t, 200, r.status, r.body)
	}
	require.Equal(t, 200, w.ask("POST", "/v1/forget", fmt.Sprintf(`{"episode":%q}`, ids[0]), local).status)
	finish := func(path, body string) live.Job {
		job := parse[live.Job](t, 202, w.ask("POST", path, body, local))
		for job.State == live.JobRunning {
			time.Sleep(5 * time.Millisecond)
			job = parse[live.Job](t, 200, w.ask("GET", "/v1/jobs/"+url.PathEscape(job.ID), "", local))
		}
		return job
	}
	finish("/v1/rebuild", "{}") // writes a snapshot, which is compressed: storage has the test of what is in those
	require.NotEmpty(t, holding(), "else the test shows nothing")

	job := finish("/v1/purge", fmt.Sprintf(`{"episode":%q}`, ids[1]))
	require.Equal(t, live.JobDone, job.State, job.Error)
	assert.Equal(t, 1, job.Purge.Erased)
	job = finish("/v1/purge", `{"source":"local"}`)
	require.Equal(t, live.JobDone, job.State, job.Error)
	require.NotNil(t, job.Purge)
	assert.Positive(t, job.Purge.Erased)
	assert.Positive(t, job.Purge.Blank)
	assert.GreaterOrEqual(t, job.Purge.Texts, 3*18, "ids, intents and errors")
	found, err := json.Marshal(job.Purge.Found)
	require.NoError(t, err)
	assert.Equal(t, "null", string(found))
	assert.Empty(t, holding())

	audit, err := os.ReadFile(filepath.Join(dir, AuditFile))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(audit), `"act":"purge"`))
	assert.Contains(t, string(audit), `"sha256:`)
	job = finish("/v1/purge", `{}`)
	assert.Equal(t, live.JobDone, job.State)
	assert.Zero(t, job.Purge.Erased)
	requireProblem(t, 422, "at most one", w.ask("POST", "/v1/purge", `{"source":"a","episode":"b"}`, local))
}

func TestPurgeIsTheOperators(t *testing.T) {
	w := newWeb(t)
	a, _ := w.twoKeys()
	requireProblem(t, 403, "operator", w.ask("POST", "/v1/purge", `{}`, a))
}
