package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/storage/eventlog/logtest"
)

// A log is backed up and restored on each engine, and into a data directory: each has the hashes of the events, the keys
// and the answers of the first.
func TestBackupOfALog(t *testing.T) {
	engines := map[string]func(t *testing.T) (address string){
		"postgres": func(t *testing.T) string { return logtest.StartPostgres(t).Address },
	}
	for name, start := range engines {
		t.Run(name, func(t *testing.T) {
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
			log, again := start(t), start(t)
			copied := run("migrate", "--to", log, "--log-unsafe", "--data", in("first"))

			run("backup", in("file"), "--log", log, "--log-unsafe")
			run("restore", in("file"), "--log", again, "--log-unsafe")
			run("restore", in("file"), "--data", in("second"))
			run("migrate", "--from", again, "--log-unsafe", "--data", in("third"))
			files, err := filepath.Glob(in("*"))
			require.NoError(t, err)
			require.Len(t, files, 4, "nothing temporary is left: %v", files)

			for _, data := range []string{in("second"), in("third")} {
				require.Equal(t, run("keys", "list", "--json", "--data", in("first")), run("keys", "list", "--json", "--data", data))
				answer := func(data string) string {
					return builtAt.ReplaceAllString(run("next", "--after", "fs:read_file", "--json", "--data", data, "--workspace", "other"), "")
				}
				require.Equal(t, answer(in("first")), answer(data))
			}
			require.Equal(t, copied, run("migrate", "--to", start(t), "--log-unsafe", "--data", in("second")), "events and hashes")

			_, errs, code := waymark(t, "", "restore", in("file"), "--log", again, "--log-unsafe")
			require.NotZero(t, code)
			require.Contains(t, errs, "is in use")
		})
	}
}
