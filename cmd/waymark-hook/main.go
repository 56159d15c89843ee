// Command waymark-hook records the tool calls that a host reports to its hooks. Hosts start it before and after every
// call, so it starts in a fraction of the time of the whole program. It exits with 0, whatever happens, and prints
// nothing but, with --whisper, now and then one line for the model.
package main

import (
	"os"

	"waymark/ingest/hook"
)

func main() {
	_ = hook.Main(os.Args[1:], os.Stdin, os.Stdout, hook.DataDir()) // a hook must never disturb its host
}
