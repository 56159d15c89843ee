// Command waymark-hook is `waymark hook` alone, for hosts that start it before and after every call: it
// starts in a fraction of the time. It exits with 0, whatever happens, and prints
// nothing but, with --whisper, now and then one line for the model.
package main

import (
	"os"

	"waymark/ingest/hook"
	"waymark/internal/datadir"
)

func main() {
	_ = hook.Main(os.Args[1:], os.Stdin, os.Stdout, datadir.Default()) // a hook must never be in its host's way
}
