package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// upgrade is what waymark upgrade --check found.
type upgrade struct {
	Version   string `json:"version"`
	Newest    string `json:"newest,omitempty"` // only if an address was asked
	Newer     bool   `json:"newer"`
	Program   string `json:"program"`
	Installed string `json:"installed"` // by which way
	Command   string `json:"command"`   // that upgrades it
}

func (a *app) upgradeCommand() *cobra.Command {
	var check bool
	var from string
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Say how this program was installed, how it is upgraded, and on request whether a newer one exists",
		Long: `Nothing is changed: the way by which the program was installed upgrades it. Nothing is read from the network
unless --from names an address that answers with the newest release: JSON with "tag_name" or "version". Exit code 1 means
that this release is newer.`,
		Example: `  waymark upgrade --check
  waymark upgrade --check --from https://releases.example/waymark/latest`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !check {
				return usagef("upgrade needs --check: the program is upgraded by the way it was installed")
			}
			return a.checkUpgrade(cmd.Context(), from)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "only say what there is")
	cmd.Flags().StringVar(&from, "from", "", "ask this `URL` for the newest release")
	return cmd
}

func (a *app) checkUpgrade(ctx context.Context, from string) error {
	u := upgrade{Version: version().Version}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	u.Program = program
	u.Installed, u.Command = installedBy(filepath.ToSlash(program))
	if from != "" {
		if u.Newest, err = newestRelease(ctx, from); err != nil {
			return fmt.Errorf("--from %s: %w", from, err)
		}
		u.Newer = newerRelease(u.Newest, u.Version)
	}
	if a.json {
		err = a.printValue(u)
	} else {
		a.printf("waymark %s, %s: %s\n", u.Version, u.Installed, u.Program)
		a.printf("upgrade with: %s\n", u.Command)
		switch {
		case u.Newer:
			a.printf("newer release: %s\n", clean(u.Newest))
		case from != "":
			a.printf("newest release: %s; this one is not older\n", clean(u.Newest))
		default:
			a.printf("nothing was read from the network; --from URL asks an address for the newest release\n")
		}
	}
	if err == nil && u.Newer {
		err = errNegative
	}
	return err
}

// installedBy tells the way of an installation by the place of the program.
func installedBy(program string) (way, command string) {
	for _, w := range []struct{ part, way, command string }{
		{"/node_modules/", "from an npm package", "npm update waymark"},
		{"/Cellar/", "by Homebrew", "brew upgrade waymark"},
		{"/Caskroom/", "by Homebrew", "brew upgrade waymark"},
		{"/scoop/apps/", "by Scoop", "scoop update waymark"},
		{"/WinGet/", "by winget", "winget upgrade waymark"},
		{"/go/bin/", "by go install", "make install in a newer working copy"},
	} {
		if strings.Contains(program, w.part) {
			return w.way, w.command
		}
	}
	if filepath.ToSlash(filepath.Dir(program)) == "/usr/bin" {
		return "from a package of the system", "the package of the new release: dpkg -i, rpm -U or apk add"
	}
	return "from an archive or a working copy", "the archive of the new release in its place; a server is stopped before"
}

// newestRelease asks an address for the tag of the newest release.
func newestRelease(ctx context.Context, from string) (string, error) {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return "", usagef("not an address")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "https" && !(u.Scheme == "http" && ip != nil && ip.IsLoopback()) {
		return "", usagef("want https")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", errors.New(resp.Status)
	}
	var release struct {
		Tag     string `json:"tag_name"`
		Version string `json:"version"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&release); err != nil {
		return "", fmt.Errorf("the answer is no JSON: %w", err)
	}
	tag := strings.TrimPrefix(cmp.Or(release.Tag, release.Version), "v")
	if !releaseName.MatchString(tag) {
		return "", errors.New(`the answer names no release: want "tag_name" or "version" as in 1.2.3`)
	}
	return tag, nil
}

var releaseName = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?$`)

// workingCopy matches a version that names a time and a commit.
var workingCopy = regexp.MustCompile(`-\d{14}-[0-9a-f]{12}$`)

// newerRelease reports whether a release is newer than a version of this program; a working copy is never older.
func newerRelease(release, than string) bool {
	a, b := releaseName.FindStringSubmatch(release), releaseName.FindStringSubmatch(strings.TrimPrefix(than, "v"))
	if a == nil || b == nil || workingCopy.MatchString(than) {
		return false
	}
	for i := 1; i <= 3; i++ {
		x, _ := strconv.Atoi(a[i]) // digits
		y, _ := strconv.Atoi(b[i])
		if x != y {
			return x > y
		}
	}
	return a[4] == "" && b[4] != "" // a release comes after its candidates
}
