package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	mostPayload = 32 << 20               // bytes
	patience    = 2 * time.Second        // timeout for a host that does not close its payload
	haste       = 100 * time.Millisecond // timeout for finding a line
)

// SpoolOf returns the spool of a data directory.
func SpoolOf(data string) Spool { return Spool(filepath.Join(data, "spool")) }

// Main is the command: it reads a payload, spools an event and, with --whisper, may write one line for the
// model to out. The command never fails; the returned error is for tests.
func Main(args []string, in io.Reader, out io.Writer, data string) error {
	f := flag.NewFlagSet("hook", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	host := f.String("host", "claude-code", "")
	speak := f.Bool("whisper", false, "")
	f.StringVar(&data, "data", cmp.Or(os.Getenv("WAYMARK_DATA"), data), "")
	workspace := f.String("workspace", cmp.Or(os.Getenv("WAYMARK_WORKSPACE"), "default"), "")
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
	e, ok, err := Read(text, now, spool.Key(*workspace))
	if !ok {
		return err
	}
	e.Host, e.Workspace = *host, *workspace
	if e.Kind != Reset {
		err = spool.Leave(e)
	}
	if !*speak {
		return err
	}
	return errors.Join(err, answer(out, e, WhisperOf(data, *workspace)))
}

// answer writes a line into the field that the host passes on to the model. It gives up after haste.
func answer(out io.Writer, e Event, w Whisper) error {
	type result struct {
		line string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		line, err := w.observe(e)
		done <- result{line, err}
	}()
	select {
	case r := <-done:
		if r.line == "" {
			return r.err
		}
		var field any = map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": e.name, "additionalContext": r.line}}
		if e.Host == "cursor" {
			field = map[string]string{"additional_context": r.line}
		}
		return json.NewEncoder(out).Encode(field)
	case <-time.After(haste):
		return errors.New("reading the rules took too long")
	}
}
