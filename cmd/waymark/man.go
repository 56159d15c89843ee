package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages that packages install. People read --help.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write the manual pages",
		Hidden: true,
		Args:   exactly(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			date := time.Unix(0, 0).UTC()
			if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
				date = time.Unix(seconds, 0).UTC()
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "waymark", Manual: "Waymark"}, args[0])
		},
	}
}
