package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The real binaries, built once for all tests of this package.
var program, hookProgram string

// importSample imports the bundled sample into a data directory that all tests copy: the import fits for seconds. It
// returns the directory and what the command printed.
var importSample = sync.OnceValues(func() (dir, said string) {
	dir = filepath.Join(filepath.Dir(program), "sample")
	out, err := exec.Command(program, "import", "sample", "--data", dir).CombinedOutput()
	if err != nil {
		panic(fmt.Sprintf("import the sample: %v: %s", err, out))
	}
	return dir, string(out)
})

// copySample makes dir a data directory into which the bundled sample was imported.
func copySample(dir string) error {
	imported, _ := importSample()
	return os.CopyFS(dir, os.DirFS(imported))
}

func TestMain(m *testing.M) {
	if os.Getenv(deskVariable) != "" { // a child of the program under test
		beDesk()
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "waymark-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program, hookProgram = filepath.Join(dir, "waymark"), filepath.Join(dir, "waymark-hook")
	if runtime.GOOS == "windows" {
		program, hookProgram = program+".exe", hookProgram+".exe"
	}
	if out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), ".", "../waymark-hook").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the programs: %v\n%s", err, out)
		return 1
	}
	for _, name := range os.Environ() { // settings of whoever runs the tests must not reach them
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "WAYMARK_") && !strings.HasSuffix(name, "_ROUNDS") {
			os.Unsetenv(name)
		}
	}
	os.Unsetenv("COLUMNS") // the width of tables
	return m.Run()
}

// TestScripts runs the manual: each script is a session with the program.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("WAYMARK_DATA", filepath.Join(env.WorkDir, "data"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"same":  same,
		},
	})
}

// exits CODE command…: runs a command that must end with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// same A B: compares two files of any content; ! same wants them different.
func same(ts *testscript.TestScript, neg bool, args []string) {
	a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if (a == b) == neg {
		ts.Fatalf("%s and %s: same is %v", args[0], args[1], a == b)
	}
}
