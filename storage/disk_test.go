//go:build linux

package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A power cut keeps what has reached the disk and nothing else: a process writes to a file system in an image, is
// stopped, and the image is copied as it is then. All that was acknowledged by then is in the copy; with syncing
// switched off it must not be, or the test shows nothing. It needs root and ext4. WAYMARK_CUTS sets the number.
func TestPowerCut(t *testing.T) {
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs root and mkfs.ext4, to mount a file system of its own")
	}
	if testing.Short() {
		t.Skip("too long for -short")
	}
	cuts := 2
	if s := os.Getenv("WAYMARK_CUTS"); s != "" {
		cuts, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	all := 0
	for i := range cuts {
		acked, lost := powerCut(t, mkfs, i, true)
		require.Zero(t, lost, "cut %d", i)
		all += acked
	}
	_, lost := powerCut(t, mkfs, cuts, false)
	require.Positive(t, lost, "without syncing a power cut must lose events")
	t.Logf("%d power cuts, %d acknowledged events, 0 lost; without syncing %d were lost in one", cuts, all, lost)
}

func powerCut(t *testing.T, mkfs string, seed int, sync bool) (acked, lost int) {
	dir := t.TempDir()
	image, after, disk := filepath.Join(dir, "image"), filepath.Join(dir, "after"), filepath.Join(dir, "disk")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 320<<20))
	require.NoError(t, exec.Command(mkfs, "-q", "-F", image).Run())
	require.NoError(t, os.Mkdir(disk, 0o700))
	mount(t, image, disk)
	cmd, lines := child(t, killDir+"="+filepath.Join(disk, "store"), killSeed+"="+strconv.Itoa(seed))
	if !sync {
		cmd.Env = append(cmd.Env, noSync+"=1")
	}
	require.NoError(t, cmd.Start())
	keys := make(map[string]bool)
	for lines.Scan() {
		workspace, seq, _ := acknowledged(t, lines.Text())
		if len(keys) == 0 {
			time.AfterFunc(time.Duration(200+37*(seed%10))*time.Millisecond, func() {
				cmd.Process.Signal(syscall.SIGSTOP)
				for !stopped(cmd.Process.Pid) {
					time.Sleep(time.Millisecond)
				}
				exec.Command("cp", "--sparse=always", image, after).Run()
				cmd.Process.Kill()
			})
		}
		if workspace != "snapshot" {
			keys[fmt.Sprint(workspace, " ", seq)] = true
		}
	}
	require.Error(t, cmd.Wait(), "it was killed")
	unmount(t, disk)
	mount(t, after, disk)
	defer unmount(t, disk)
	s, err := Open(filepath.Join(disk, "store"), Options{Logger: quiet})
	if err != nil {
		require.ErrorIs(t, err, ErrDamaged)
		return len(keys), len(keys)
	}
	found := make(map[string]bool)
	for _, name := range []string{"a", "b"} {
		for e, err := range s.Read(t.Context(), name, 0) {
			require.NoError(t, err)
			found[fmt.Sprint(name, " ", e.Seq)] = true
		}
	}
	require.NoError(t, s.Close())
	for key := range keys {
		if !found[key] {
			if lost++; sync {
				t.Logf("lost: %s of %d acknowledged, %d found", key, len(keys), len(found))
			}
		}
	}
	return len(keys), lost
}

// stopped reports whether no thread of a process is at work, in the kernel either: a copy that is made while a sync is
// under way holds early blocks of the image as they were before it and late ones as they were after.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		text, _ := os.ReadFile(path)
		if i := bytes.LastIndex(text, []byte(") ")); i >= 0 && text[i+2] != 'T' {
			return false
		}
	}
	return true
}

func mount(t *testing.T, image, disk string) {
	if text, err := exec.Command("mount", "-o", "loop", image, disk).CombinedOutput(); err != nil {
		t.Skipf("no image can be mounted: %s", text)
	}
}

func unmount(t *testing.T, disk string) {
	require.Eventually(t, func() bool { return exec.Command("umount", disk).Run() == nil }, time.Minute, 20*time.Millisecond)
}

// fullDir makes this binary a process that writes until its disk is full, then closes when stdin ends.
const fullDir = "WAYMARK_FULL_DIR"

func writeUntilFull(dir string) {
	s, err := Open(dir, Options{Logger: quiet})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	in := bufio.NewReader(os.Stdin)
	for i := 0; err == nil; i++ {
		if i == 200 { // the disk is filled behind the back of the guard
			in.ReadString('\n')
		}
		if _, err = s.Append(context.Background(), "default", Batch{Records: []Record{{Payload: make([]byte, 3000)}}}); err == nil {
			fmt.Println("ack", i+1)
		}
	}
	fmt.Println("refused", errors.Is(err, ErrNoSpace), errors.Is(s.Writable(), ErrNoSpace))
	in.ReadString('\n')
	read := 0
	for range s.Read(context.Background(), "default", 0) {
		read++
	}
	fmt.Println("read", read)
	s.Close() // an error is right: the high-water file cannot be written
	os.Exit(0)
}

// Another process fills a small disk while this one writes. It refuses, goes on reading, ends in order, and after
// something was freed everything that was acknowledged is there. It needs root, to mount a disk of its own.
func TestDiskFilledByAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a tmpfs")
	}
	for range 3 {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=192m"); err != nil {
			t.Skipf("no tmpfs can be mounted: %v", err)
		}
		t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
		dir := filepath.Join(disk, "store")
		cmd, lines := child(t, fullDir+"="+dir)
		var died strings.Builder
		cmd.Stderr = &died
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		acked, read := 0, -1
		var refused, writable bool
		for lines.Scan() {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "ack"):
				fmt.Sscanf(line, "ack %d", &acked)
				if acked == 200 {
					fillDisk(t, disk)
					fmt.Fprintln(in)
				}
			case strings.HasPrefix(line, "refused"):
				fmt.Sscanf(line, "refused %t %t", &refused, &writable)
				fmt.Fprintln(in)
			case strings.HasPrefix(line, "read"):
				fmt.Sscanf(line, "read %d", &read)
			default:
				t.Fatal(line)
			}
		}
		require.NoError(t, cmd.Wait(), "%.2000s", died.String())
		require.True(t, refused && writable, "writes end with ErrNoSpace, and Writable says so")
		require.Equal(t, acked, read, "reads go on")
		require.NoError(t, os.Remove(filepath.Join(disk, "filler")))
		s, err := Open(dir, Options{Logger: quiet})
		require.NoError(t, err)
		require.Len(t, collect(t, s.Read(t.Context(), "default", 0)), acked)
		mustAppend(t, s, "default", Record{Payload: []byte("again")})
		require.NoError(t, s.Close())
	}
}

// fillDisk leaves no byte free.
func fillDisk(t *testing.T, disk string) {
	f, err := os.Create(filepath.Join(disk, "filler"))
	require.NoError(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 16
		}
	}
}
