package storage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Some tests need a process to kill. This binary is one when one of these is set.
const killDir, killSeed, noSync = "WAYMARK_KILL_DIR", "WAYMARK_KILL_SEED", "WAYMARK_KILL_NO_SYNC"

func TestMain(m *testing.M) {
	syncWrites = os.Getenv(noSync) == ""
	if dir := os.Getenv(killDir); dir != "" {
		writeUntilKilled(dir, os.Getenv(killSeed))
	}
	if dir := os.Getenv("WAYMARK_FULL_DIR"); dir != "" {
		writeUntilFull(dir)
	}
	if dirs := os.Getenv(openDirs); dirs != "" {
		openEach(filepath.SplitList(dirs))
	}
	code := m.Run()
	if shared != nil {
		shared.crash()
	}
	os.Exit(code)
}

// child is this binary as the process that TestMain makes of it for a setting, and the lines that it prints. Tests with
// processes do not run beside others: until a new process executes its program it holds the locks of all open stores.
func child(t *testing.T, settings ...string) (cmd *exec.Cmd, lines *bufio.Scanner) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	return cmd, bufio.NewScanner(out)
}

// writeUntilKilled appends from four writers and prints a line for every event that was acknowledged: workspace, seq,
// key. A fifth writes snapshots. A line is one write, so it is printed whole or not at all.
func writeUntilKilled(place, seed string) {
	s, err := Open(place, Options{Logger: quiet})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			workspace := []string{"a", "b"}[w%2]
			err := error(nil)
			for i := 0; err == nil; i++ {
				records := make([]Record, 1+i%3)
				for j := range records {
					key := fmt.Sprintf("%s-%d-%d-%d", seed, w, i, j)
					records[j] = Record{Key: key, Payload: killPayload(key)}
				}
				var done Done
				done, err = s.Append(context.Background(), workspace, Batch{Records: records, Changes: []Change{{Key: fmt.Sprint(w), Value: fmt.Append(nil, i)}}})
				for j, r := range done.Receipts {
					fmt.Fprintf(os.Stdout, "ack %s %d %s\n", workspace, r.Seq, records[j].Key)
				}
			}
			fmt.Println("error", err)
		})
	}
	wg.Go(func() {
		err := s.Create(context.Background(), "a")
		for err == nil {
			seq := s.Head("a").Seq
			if err = putBytes(context.Background(), s, "a", seq, killSnapshot(seq)); err == nil {
				fmt.Fprintf(os.Stdout, "ack snapshot %d -\n", seq)
			}
		}
		fmt.Println("error", err)
	})
	wg.Wait()
	os.Exit(1)
}

// acknowledged reads a line of the writer.
func acknowledged(t *testing.T, line string) (workspace string, seq uint64, key string) {
	_, err := fmt.Sscanf(line, "ack %s %d %s", &workspace, &seq, &key)
	require.NoError(t, err, line)
	return workspace, seq, key
}

func killPayload(key string) []byte {
	return fmt.Append(make([]byte, 0, 600), key, string(make([]byte, 500)))
}

func killSnapshot(seq uint64) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, seq), 3*partBytes/16)
}

// TestKill kills a process while it writes, again and again on one store. After each kill every event that it
// acknowledged is there, with its payload, at its seq, and no key twice; the log is dense and the chain holds. The last
// snapshot that it acknowledged, or a later one, is there whole. WAYMARK_KILL_ROUNDS is the number of kills.
func TestKill(t *testing.T) {
	for i, engine := range engines {
		t.Run(engine.name, func(t *testing.T) { testKill(t, []int{12, 5}[i], engine.place) })
	}
}

func testKill(t *testing.T, rounds int, newPlace func(testing.TB) string) {
	if text := os.Getenv("WAYMARK_KILL_ROUNDS"); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err)
	} else if testing.Short() {
		rounds = 3
	}
	const seed = 20
	r := rand.New(rand.NewPCG(seed, 0))
	place := newPlace(t)
	acked := map[string]string{} // "workspace seq" → key
	newest := uint64(0)          // snapshot acknowledged
	for round := range rounds {
		if round%100 == 99 { // a new one, since every start reads the whole log
			place, acked, newest = newPlace(t), map[string]string{}, 0
		}
		cmd, lines := child(t, killDir+"="+place, killSeed+"="+strconv.Itoa(round))
		require.NoError(t, cmd.Start())
		delay := time.Duration(r.IntN(200)) * time.Millisecond
		count := 0
		for lines.Scan() {
			workspace, seq, key := acknowledged(t, lines.Text())
			if workspace == "snapshot" {
				newest = seq
			} else {
				acked[fmt.Sprint(workspace, " ", seq)] = key
			}
			if count++; count == 1 { // from the first acknowledgement on
				time.AfterFunc(delay, func() { cmd.Process.Kill() })
			}
		}
		require.Error(t, cmd.Wait(), "it was killed")
		require.Positive(t, count)

		s, err := Open(place, Options{Logger: quiet})
		require.NoError(t, err, "seed %d, round %d", seed, round)
		found, keys := 0, map[string]bool{}
		for _, workspace := range []string{"a", "b"} {
			for i, e := range collect(t, s.Read(t.Context(), workspace, 0)) {
				require.EqualValues(t, i+1, e.Seq)
				own, _, _ := strings.Cut(string(e.Payload), "\x00")
				require.False(t, keys[own], "%s is stored twice", own)
				keys[own] = true
				if key, ok := acked[fmt.Sprint(workspace, " ", e.Seq)]; ok {
					require.Equal(t, string(killPayload(key)), string(e.Payload))
					found++
				}
			}
		}
		require.Equal(t, len(acked), found, "seed %d, round %d: acknowledged events are lost", seed, round)
		kept := collect(t, snapshots(t.Context(), s, "a"))
		for _, snapshot := range kept {
			require.True(t, bytes.Equal(killSnapshot(snapshot.Seq), snapshot.Data))
		}
		if newest > 0 {
			require.NotEmpty(t, kept)
			require.GreaterOrEqual(t, kept[0].Seq, newest)
		}
		require.NoError(t, s.Writable())
		require.NoError(t, s.Close())
	}
}

// openDirs makes this binary a process that opens directories, one after another, and says what it finds.
const openDirs = "WAYMARK_OPEN_DIRS"

func openEach(dirs []string) {
	for _, dir := range dirs {
		fmt.Println(opened(dir))
	}
	os.Exit(0)
}

// opened says that a directory is refused, or the events and rows that are served.
func opened(dir string) string {
	s, err := Open(dir, Options{Logger: quiet})
	if errors.Is(err, ErrDamaged) {
		return "refused"
	}
	if err != nil {
		return "refused without saying damaged: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	defer s.Close()
	events := 0
	for _, name := range []string{"default", "other"} {
		for e, err := range s.Read(context.Background(), name, 0) {
			if err != nil {
				return "refused while reading: " + err.Error()
			}
			if want := fmt.Sprintf("%0200d", e.Seq); string(e.Payload) != want {
				return fmt.Sprintf("event %d has other bytes", e.Seq)
			}
			events++
		}
		for _, err := range snapshots(context.Background(), s, name) {
			if err != nil && !errors.Is(err, ErrDamaged) {
				return err.Error()
			}
		}
	}
	value, _, err := s.System().Get(context.Background(), "row")
	return fmt.Sprintf("serves %d events, row %s %v, health %v", events, value, err, s.Writable())
}

// openInChildren opens all directories in processes of their own. One that dies answers "died" for the directory it
// had; another process goes on behind it.
func openInChildren(t *testing.T, dirs []string) (answers []string) {
	for len(answers) < len(dirs) {
		cmd, lines := child(t, openDirs+"="+strings.Join(dirs[len(answers):], string(filepath.ListSeparator)))
		var died strings.Builder
		cmd.Stderr = &died
		require.NoError(t, cmd.Start())
		for lines.Scan() {
			answers = append(answers, lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			answers = append(answers, fmt.Sprintf("died: %.600s", died.String()))
		}
	}
	return answers
}

// used is the length of a file up to its last byte that is not zero.
func used(b []byte) int { return len(bytes.TrimRight(b, "\x00")) }

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
	{"empty", func(_ *rand.Rand, b []byte) []byte { return b[:0] }},
	{"remove", func(*rand.Rand, []byte) []byte { return nil }},
}

// fillWhole is a closed store with events in two workspaces, rows, snapshots and an owner's note, and a copy of it as a
// crash would have left it.
func fillWhole(t *testing.T) (crashed, closed string) {
	closed, crashed = filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "crashed")
	for half := range 2 {
		s := openTest(t, closed, Options{})
		for _, name := range []string{"default", "other"} {
			for range 4 {
				records := make([]Record, 50)
				for i := range records {
					records[i].Payload = fmt.Appendf(nil, "%0200d", int(s.Head(name).Seq)+i+1)
				}
				mustAppend(t, s, name, records...)
			}
			require.NoError(t, putBytes(t.Context(), s, name, s.Head(name).Seq, []byte("snapshot")))
		}
		require.NoError(t, s.System().Put(t.Context(), "row", []byte("value")))
		if half == 1 {
			require.NoError(t, writeMark(closed, s.engine.(*badgerEngine).commits.Load()))
			copyAll(t, closed, crashed)
		}
		require.NoError(t, s.Close())
	}
	return crashed, closed
}

func copyAll(t *testing.T, from, to string) {
	out, err := exec.Command("cp", "-r", "--sparse=always", from, to).CombinedOutput()
	require.NoError(t, err, "%s", out)
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
	times := 1
	if text := os.Getenv("WAYMARK_DAMAGES"); text != "" {
		times, _ = strconv.Atoi(text)
	}
	seed := uint64(41)
	r := rand.New(rand.NewPCG(seed, 0))
	crashed, closed := fillWhole(t)
	const whole = "serves 800 events, row value <nil>, health <nil>"
	refused, served := 0, 0
	for range times {
		root := t.TempDir()
		dirs, names := []string{filepath.Join(root, "crashed"), filepath.Join(root, "closed")}, []string{"nothing", "nothing"}
		copyAll(t, crashed, dirs[0])
		copyAll(t, closed, dirs[1])
		for _, from := range []string{crashed, closed} {
			for _, file := range filesOf(t, from) {
				for _, d := range damages {
					content, err := os.ReadFile(filepath.Join(from, file))
					require.NoError(t, err)
					if len(content) == 0 && d.name != "remove" {
						continue
					}
					dir := filepath.Join(root, strconv.Itoa(len(dirs)))
					copyAll(t, from, dir)
					path := filepath.Join(dir, file)
					if changed := d.change(r, content); changed == nil {
						require.NoError(t, os.Remove(path))
					} else {
						require.NoError(t, os.Truncate(path, int64(len(changed))))
						f, err := os.OpenFile(path, os.O_WRONLY, 0)
						require.NoError(t, err)
						_, err = f.Write(changed[:min(len(changed), used(changed)+8192)]) // the rest is zero and stays so
						require.NoError(t, errors.Join(err, f.Close()))
					}
					dirs, names = append(dirs, dir), append(names, fmt.Sprintf("%s %s/%s", d.name, filepath.Base(from), file))
				}
			}
		}
		for i, answer := range openInChildren(t, dirs) {
			switch {
			case answer == whole:
				served++
			case answer == "refused" && i > 1:
				refused++
			default:
				t.Errorf("seed %d: %s: %s", seed, names[i], answer)
			}
		}
		require.NoError(t, os.RemoveAll(root))
	}
	require.Positive(t, refused)
	t.Logf("%d damages: %d refused by name, %d without effect, 0 silent, 0 deaths", refused+served, refused, served)
}

// A kill while badger makes a log leaves an empty file, or one without content.
func TestNewLogsAreEmpty(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"db/00009.mem", "db/000009.vlog"} {
		dir := t.TempDir()
		s := openTest(t, dir, Options{})
		mustAppend(t, s, "w", Record{})
		require.NoError(t, s.Close())
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		for range 2 {
			s = openTest(t, dir, Options{})
			require.Len(t, collect(t, s.Read(t.Context(), "w", 0)), 1)
			require.NoError(t, s.Writable())
			require.NoError(t, s.Close())
		}
	}
}

func TestHighwater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	mustAppend(t, s, "w", Record{})
	require.Eventually(t, func() bool { n, err := readMark(dir); return err == nil && n == 1 }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, s.Close())
	path := filepath.Join(dir, markName)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, content := range []string{"", "1", string(whole[:len(whole)/2]), "9" + string(whole), "2\n"} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := Open(dir, Options{Logger: quiet})
		require.ErrorIs(t, err, ErrDamaged, "%q", content)
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	require.NoError(t, os.WriteFile(path+".tmp", []byte("torn"), 0o600))
	require.NoError(t, openTest(t, dir, Options{}).Close())
}

func TestInUse(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	_, err := Open(dir, Options{Logger: quiet})
	require.ErrorIs(t, err, ErrInUse)
	require.Contains(t, openInChildren(t, []string{dir})[0], ErrInUse.Error())
	require.NoError(t, s.engine.(*badgerEngine).unlock()) // badger has a lock of its own
	_, err = Open(dir, Options{Logger: quiet})
	require.ErrorIs(t, err, ErrInUse)
	require.NotErrorIs(t, err, ErrDamaged)
}

func TestReopen(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	var head Head
	for i := range 3 {
		s, err := Open(dir, Options{Logger: quiet})
		require.NoError(t, err)
		require.Equal(t, head, s.Head("w"))
		mustAppend(t, s, "w", Record{Key: "once", Payload: []byte("x")}, Record{Payload: fmt.Append(nil, i)})
		head = s.Head("w")
		require.NoError(t, s.Writable())
		require.NoError(t, s.Close())
	}
	require.EqualValues(t, 4, head.Seq)
	info, err := os.Stat(dir + "/db")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
}

// Low space refuses writes, not reads, and is over as soon as there is space again.
func TestSpaceGuard(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64
	free.Store(math.MaxInt64)
	dir := t.TempDir()
	s := openTest(t, dir, Options{free: func(string) (uint64, error) { return free.Load(), nil }})
	full := func() (err error) {
		for i := 0; err == nil && i < 2*spaceBytes/MaxPayload; i++ {
			_, err = s.Append(t.Context(), "w", Batch{Records: []Record{{Payload: make([]byte, MaxPayload)}}})
		}
		return err
	}
	require.NoError(t, s.Create(t.Context(), "w"))
	free.Store(spaceReserve - 1)
	require.ErrorIs(t, full(), ErrNoSpace)
	require.ErrorIs(t, s.System().Put(t.Context(), "row", nil), ErrNoSpace)
	require.ErrorIs(t, s.Writable(), ErrNoSpace)
	require.Len(t, collect(t, s.Read(t.Context(), "w", 0)), int(s.Head("w").Seq))
	free.Store(math.MaxInt64)
	require.NoError(t, s.Writable())
	mustAppend(t, s, "w", Record{})
	require.NoError(t, s.Close())
	_, err := Open(dir, Options{Logger: quiet, free: func(string) (uint64, error) { return 0, nil }})
	require.ErrorIs(t, err, ErrNoSpace)
}

// A context that ends during a commit does not turn what is stored into an error.
func TestContextEndsDuringACommit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := openTest(t, t.TempDir(), Options{commit: func(f func() error) error {
		cancel()
		return f()
	}})
	require.NoError(t, ctx.Err())
	done, err := s.Append(ctx, "w", Batch{Records: []Record{{}}})
	require.NoError(t, err)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.Equal(t, []Receipt{{1, Stored, done.Head.Chain}}, done.Receipts)
}

func TestFailedCommit(t *testing.T) {
	var failing atomic.Bool
	broken := errors.New("input/output error")
	dir := t.TempDir()
	s := openTest(t, dir, Options{commit: func(f func() error) error {
		if failing.Load() {
			return broken
		}
		return f()
	}})
	mustAppend(t, s, "w", Record{})
	failing.Store(true)
	_, err := s.Append(t.Context(), "w", Batch{Records: []Record{{}}})
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, ErrReadOnly)
	failing.Store(false)
	_, err = s.Append(t.Context(), "w", Batch{Records: []Record{{}}})
	require.ErrorIs(t, err, ErrReadOnly)
	require.ErrorIs(t, s.Writable(), ErrReadOnly)
	require.Len(t, collect(t, s.Read(t.Context(), "w", 0)), 1)
	require.NoError(t, s.Close())
	require.EqualValues(t, 1, openTest(t, dir, Options{}).Head("w").Seq)
}

// A mark that cannot be written ends writing, except for want of room.
func TestMarkFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openTest(t, dir, Options{})
	require.NoError(t, os.Mkdir(filepath.Join(dir, markName+".tmp"), 0o700))
	mustAppend(t, s, "w", Record{})
	require.Eventually(t, func() bool { return errors.Is(s.Writable(), ErrReadOnly) }, 30*time.Second, 10*time.Millisecond)
	require.ErrorIs(t, s.Writable(), syscall.EISDIR)
}

// An ERROR line of badger is a failure that it reports in no other way.
func TestErrorLine(t *testing.T) {
	s := openTest(t, t.TempDir(), Options{})
	s.engine.(*badgerEngine).Warningf("nothing of note")
	require.NoError(t, s.Writable())
	s.engine.(*badgerEngine).Errorf("Error while curlf sync: %v\n", errors.New("disk gone"))
	require.ErrorContains(t, s.Writable(), "disk gone")
}

// More than badger keeps in its first level goes into a store in memory.
func TestMemoryHasNoEnd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("too much memory for -short")
	}
	s := NewMemory()
	records := make([]Record, 7)
	for i := range records {
		records[i].Payload = make([]byte, MaxPayload)
	}
	for range 180 { // 315 MiB
		mustAppend(t, s, "w", records...)
	}
	require.NoError(t, s.Close())
}
