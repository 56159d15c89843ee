package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// openDirs makes this binary a process that opens directories, one after another, and says what it finds.
const openDirs = "WAYMARK_OPEN_DIRS"

// openEach prints one line for each directory: refused, or the events and rows that are served.
func openEach(dirs []string) {
	for _, dir := range dirs {
		fmt.Println(opened(dir))
	}
	os.Exit(0)
}

func opened(dir string) string {
	b, err := Open(dir, Options{Logger: quiet})
	if errors.Is(err, ErrDamaged) {
		return "refused"
	}
	if err != nil {
		return "refused without saying damaged: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	defer b.Close()
	events := 0
	for _, name := range []string{"default", "other"} {
		l, err := b.Log(name)
		if err != nil {
			return err.Error()
		}
		for e, err := range l.Read(context.Background(), 0) {
			if err != nil {
				return "refused while reading: " + err.Error()
			}
			if want := fmt.Sprintf("%0200d", e.Seq); string(e.Payload) != want {
				return fmt.Sprintf("event %d has other bytes", e.Seq)
			}
			events++
		}
		for _, err := range l.Snapshots(context.Background()) {
			if err != nil && !errors.Is(err, ErrDamaged) {
				return err.Error()
			}
		}
	}
	value, _, err := b.System().Get(context.Background(), "row")
	return fmt.Sprintf("serves %d events, row %s %v, health %v", events, value, err, b.Health())
}

// openInChildren opens all directories in processes of their own. One that dies answers "died" for the directory it
// had; another process goes on behind it.
func openInChildren(t *testing.T, dirs []string) (answers []string) {
	self, err := os.Executable()
	require.NoError(t, err)
	for len(answers) < len(dirs) {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), openDirs+"="+strings.Join(dirs[len(answers):], string(filepath.ListSeparator)))
		var died strings.Builder
		cmd.Stderr = &died
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		for lines := bufio.NewScanner(out); lines.Scan(); {
			answers = append(answers, lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			answers = append(answers, fmt.Sprintf("died: %.300s", died.String()))
		}
	}
	return answers
}

var damages = []struct {
	name   string
	change func(r *rand.Rand, b []byte) []byte
}{
	{"flip", func(r *rand.Rand, b []byte) []byte { b[r.IntN(max(used(b), 1))] ^= 1 << r.IntN(8); return b }},
	{"zero 4 KiB", func(r *rand.Rand, b []byte) []byte {
		at := r.IntN(max(used(b), 1))
		clear(b[at:min(len(b), at+4096)])
		return b
	}},
	{"truncate", func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(used(b)+1)] }},
	{"remove", func(*rand.Rand, []byte) []byte { return nil }},
}

// fillWhole is a closed store with events in two workspaces, rows, snapshots and an owner's note, and a copy of it as a
// crash would have left it.
func fillWhole(t *testing.T) (crashed, closed string) {
	closed, crashed = filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "crashed")
	for half := range 2 {
		b := openTest(t, closed, Options{})
		for _, name := range []string{"default", "other"} {
			l := mustLog(t, b, name)
			for range 4 {
				records := make([]Record, 50)
				for i := range records {
					records[i].Payload = fmt.Appendf(nil, "%0200d", int(l.Head().Seq)+i+1)
				}
				mustAppend(t, l, records...)
			}
			require.NoError(t, putBytes(t.Context(), l, l.Head().Seq, []byte("snapshot")))
		}
		_, err := b.System().Put(t.Context(), "row", []byte("value"))
		require.NoError(t, err)
		require.NoError(t, b.writeMark())
		require.NoError(t, WriteOwner(closed, Owner{Addr: "127.0.0.1:1"}))
		if half == 1 {
			copyAll(t, closed, crashed)
		}
		require.NoError(t, b.Close())
	}
	return crashed, closed
}

func copyAll(t *testing.T, from, to string) {
	for _, name := range filesOf(t, from) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o700))
		require.NoError(t, copySparse(filepath.Join(from, name), filepath.Join(to, name)))
	}
}

func filesOf(t *testing.T, dir string) (all []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			all = append(all, name)
		}
		return err
	}))
	slices.Sort(all)
	return all
}

// Whatever happens to whichever file: all events and rows are served as they were, or the opening is refused as
// damaged. Nothing is lost without a word, and no process dies. WAYMARK_DAMAGES sets how often each file is damaged at
// random.
func TestDamageAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for -short")
	}
	times, every := 1, 3 // in short each file gets every third damage, another one each
	if s := os.Getenv("WAYMARK_DAMAGES"); s != "" {
		times, _ = strconv.Atoi(s)
		every = 1
	}
	const seed = 41
	r := rand.New(rand.NewPCG(seed, 0))
	crashed, closed := fillWhole(t)
	const whole = "serves 800 events, row value <nil>, health <nil>"
	refused, served := 0, 0
	for range times {
		var dirs, names []string
		n := 0
		root := t.TempDir()
		for _, from := range []string{crashed, closed} {
			for _, file := range filesOf(t, from) {
				for _, d := range damages {
					if n++; n%every != 0 {
						continue
					}
					dir := filepath.Join(root, strconv.Itoa(len(dirs)))
					copyAll(t, from, dir)
					path := filepath.Join(dir, file)
					content, err := os.ReadFile(path)
					require.NoError(t, err)
					if len(content) == 0 && d.name != "remove" {
						require.NoError(t, os.RemoveAll(dir))
						continue
					}
					if changed := d.change(r, content); changed == nil {
						require.NoError(t, os.Remove(path))
					} else {
						require.NoError(t, os.WriteFile(path, changed, 0o600))
					}
					dirs, names = append(dirs, dir), append(names, fmt.Sprintf("%s %s/%s", d.name, filepath.Base(from), file))
				}
			}
		}
		for i, answer := range openInChildren(t, dirs) {
			switch answer {
			case "refused":
				refused++
			case whole:
				served++
			default:
				t.Errorf("seed %d: %s: %s", seed, names[i], answer)
			}
		}
		require.NoError(t, os.RemoveAll(root))
	}
	require.Positive(t, refused)
	t.Logf("%d damages: %d refused by name, %d without effect, 0 silent, 0 deaths", refused+served, refused, served)
}
