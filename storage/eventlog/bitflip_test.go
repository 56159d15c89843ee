package eventlog

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/storage"
	"waymark/storage/eventlog/logtest"
)

// flipBit changes one bit of a text in all files below a directory that have it.
func flipBit(t *testing.T, dir, text string) {
	flipped := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if at := bytes.Index(data, []byte(text)); err == nil && at >= 0 {
			data[at+len(text)/2] ^= 1
			flipped++
			err = os.WriteFile(path, data, 0o600)
		}
		return err
	}))
	require.NotZero(t, flipped, "no file below %s has the text", dir)
}

// A bit that flips in the files of a node that is stopped is found by who reads the log after its start, and the event is
// named.
func TestABitFlipsInTheFilesOfAnEngine(t *testing.T) {
	for _, at := range []int{1, 30, 60} {
		t.Run(fmt.Sprint("event ", at), func(t *testing.T) {
			db := logtest.StartPostgres(t)
			log, err := Open(t.Context(), db.Address, Options{Unsafe: true})
			require.NoError(t, err)
			var head storage.Head
			for i := range 60 {
				events := sealed(t, head, 1, fmt.Sprintf("text-%03d", i+1))
				require.NoError(t, log.Append(t.Context(), "w", events))
				head = events[0].Head()
			}
			require.NoError(t, log.Close())
			db.Stop()
			flipBit(t, filepath.Join(db.Data(), "base"), fmt.Sprintf("payload of text-%03d-0", at))
			db.Start()
			log, err = Open(t.Context(), db.Address, Options{Unsafe: true})
			require.NoError(t, err)
			defer log.Close()
			for _, err = range log.Read(t.Context(), "w", 0, false) {
				if err != nil {
					break
				}
			}
			require.ErrorIs(t, err, storage.ErrDamaged)
			require.Regexp(t, fmt.Sprintf(`event %d\b`, at), err.Error())
			t.Log(err)
		})
	}
}
