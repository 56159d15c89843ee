package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build describes this build of the program.
type build struct {
	Version  string `json:"version"` // of the package or module, else the revision of a working copy; (devel) if the build has none
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// stamped is the version of the package that the program is built for: -ldflags "-X main.stamped=v0.1.0".
var stamped string

func version() build {
	b := build{"(devel)", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(stamped, info.Main.Version, b.Version)
	}
	return b
}

func (b build) String() string {
	return "waymark " + b.Version + " · " + b.Go + " · " + b.Platform
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, Go version and platform",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printValue(version())
			}
			_, err := fmt.Fprintln(a.out, version())
			return err
		},
	}
}
