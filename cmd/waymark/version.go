package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// build says which program this is.
type build struct {
	Version  string `json:"version"`  // of the module; (devel) when built from a working copy
	Revision string `json:"revision"` // of the working copy; empty where the build did not see one
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func version() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	parts := []string{"waymark " + b.Version}
	if b.Revision != "" {
		revision := b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			revision += "+modified"
		}
		parts = append(parts, revision)
	}
	return strings.Join(append(parts, b.Go, b.Platform), " · ")
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, revision and Go version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printValue(version())
			}
			_, err := fmt.Fprintln(a.out, version())
			return err
		},
	}
}
