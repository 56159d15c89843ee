package hook

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	mostPayload = 32 << 20        // bytes
	patience    = 2 * time.Second // with a host that does not end its payload
)

// SpoolOf is the spool of a data directory.
func SpoolOf(data string) Spool { return Spool(filepath.Join(data, "spool")) }

// Main is the command: it reads a payload and leaves an event. It says nothing and never fails; an
// error is for tests.
func Main(args []string, in io.Reader, data string) error {
	f := flag.NewFlagSet("hook", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	if from := os.Getenv("WAYMARK_DATA"); from != "" {
		data = from
	}
	workspace := os.Getenv("WAYMARK_WORKSPACE")
	if workspace == "" {
		workspace = "default"
	}
	host := f.String("host", "claude-code", "")
	f.StringVar(&data, "data", data, "")
	f.StringVar(&workspace, "workspace", workspace, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	defer time.AfterFunc(patience, func() { os.Exit(0) }).Stop()
	now := time.Now()
	text, err := io.ReadAll(io.LimitReader(in, mostPayload))
	if err != nil {
		return err
	}
	spool := SpoolOf(data)
	e, ok, err := Read(text, now, spool.Key(workspace))
	if !ok {
		return err
	}
	e.Host, e.Workspace = *host, workspace
	return spool.Leave(e)
}
