package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"waymark/live"
	"waymark/storage"
)

// check is the result of one check.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// lowSpace is the free space in bytes below which the check fails, well before writes are refused.
const lowSpace = 512 << 20

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "doctor",
		SuggestFor: []string{"stats", "status", "check"},
		Short:      "Check the data directory, the log and the model",
		Long: `Checks the data directory, the log and the model, and exits 1 if a check fails. It then lists the sources of the history
with the number of their limited episodes (see waymark rule), the last jobs, and the settings with their origin.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := a.examine(cmd.Context())
			d.OK = !slices.ContainsFunc(d.Checks, func(c check) bool { return !c.OK })
			negative := map[bool]error{false: errNegative}[d.OK]
			if a.json {
				return cmp.Or(a.printValue(d), negative)
			}
			var rows [][]string
			for _, c := range d.Checks {
				rows = append(rows, []string{c.Name, map[bool]string{true: "ok", false: "FAILED"}[c.OK], c.Detail})
			}
			a.table([]string{"check", "result", "detail"}, rows)
			a.printf("\n")
			return cmp.Or(a.show(d, "sources limited jobs settings name id state started_at progress phase reason error value origin from"), negative)
		},
	}
}

// diagnosis is the report of the doctor.
type diagnosis struct {
	Checks   []check        `json:"checks"`
	Jobs     []live.Job     `json:"jobs"`
	Limited  map[string]int `json:"limited"`
	OK       bool           `json:"ok"`
	Settings shownSettings  `json:"settings"` // of the server, if one answers
	Sources  map[string]int `json:"sources"`
}

// examine first checks what needs no open store, then the store itself.
func (a *app) examine(ctx context.Context) (d diagnosis) {
	d.Settings = a.settings
	add := func(name string, ok bool, detail string) { d.Checks = append(d.Checks, check{name, ok, detail}) }
	add("version", true, version().String())
	dir, err := filepath.Abs(a.data)
	info, wrong := os.Stat(dir)
	switch err = cmp.Or(err, wrong); {
	case errors.Is(err, fs.ErrNotExist):
		add("directory", true, dir+" does not exist yet; the first import or serve makes it")
		return d
	case err == nil && !info.IsDir():
		err = errors.New(dir + " is not a directory")
	}
	if err != nil {
		add("directory", false, err.Error())
		return d
	}
	add("directory", true, dir)
	if mode := info.Mode().Perm(); mode&0o077 != 0 && os.PathSeparator == '/' {
		add("permissions", false, fmt.Sprintf("others may read it (%v); run chmod 700 %s", mode, dir))
	} else {
		add("permissions", true, mode.String())
	}
	if n, err := storage.FreeSpace(dir); err != nil {
		add("free space", false, err.Error())
	} else if n < math.MaxUint64 { // else it is not known
		add("free space", n >= lowSpace, fmt.Sprintf("%d MiB", n>>20))
	}
	owner, _ := readOwner(a.data) // none, or unreadable: it is not known
	h, c, err := a.enter(ctx, a.logger(), brief)
	held := owner.String()
	if c == nil && !errors.Is(err, storage.ErrInUse) {
		if held = "nobody"; owner.PID != 0 {
			held = fmt.Sprintf("nobody; %v, which had it, ended without closing it", owner)
		}
	}
	add("owner", true, held)
	if h != nil {
		c = h.client(a.workspace)
	}
	if err == nil {
		var remote struct {
			Checks   []check
			Settings *shownSettings
		}
		if err = c.ask(ctx, "doctor", nil, &remote); remote.Settings != nil {
			d.Settings = *remote.Settings
		}
		d.Checks = append(d.Checks, remote.Checks...)
	}
	if err == nil {
		err = c.ask(ctx, "stats", nil, &d)
	}
	if err == nil {
		err = c.ask(ctx, "list-jobs", map[string]any{"limit": 10}, &d)
	}
	if h != nil {
		err = errors.Join(err, h.close())
	}
	if errors.Is(err, storage.ErrDamaged) {
		err = fmt.Errorf("%w; restore a backup", err)
	}
	if err != nil {
		add("open", false, err.Error())
	}
	return
}
