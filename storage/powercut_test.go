//go:build linux

package storage

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	t.Logf("%d power cuts, %d acknowledged events, 0 lost; with 95 %% confidence fewer than %.2g of the cuts lose one (Clopper-Pearson); without syncing %d were lost in one",
		cuts, all, upperBound(cuts, 0.05), lost)
}

func powerCut(t *testing.T, mkfs string, seed int, sync bool) (acked, lost int) {
	dir := t.TempDir()
	image, after, disk := filepath.Join(dir, "image"), filepath.Join(dir, "after"), filepath.Join(dir, "disk")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	require.NoError(t, os.Truncate(image, 320<<20))
	require.NoError(t, exec.Command(mkfs, "-q", "-F", image).Run())
	require.NoError(t, os.Mkdir(disk, 0o700))
	mount(t, image, disk)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), killDir+"="+filepath.Join(disk, "store"), killSeed+"="+strconv.Itoa(seed))
	if !sync {
		cmd.Env = append(cmd.Env, noSync+"=1")
	}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	keys := make(map[string]bool)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var workspace, key string
		var seq uint64
		_, err := fmt.Sscanf(lines.Text(), "ack %s %d %s", &workspace, &seq, &key)
		require.NoError(t, err, lines.Text())
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
