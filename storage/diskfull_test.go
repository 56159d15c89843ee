//go:build linux

package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), fullDir+"="+dir)
		var died strings.Builder
		cmd.Stderr = &died
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		acked, read := 0, -1
		var refused, writable bool
		for lines := bufio.NewScanner(out); lines.Scan(); {
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
