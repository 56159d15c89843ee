package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"waymark/gateway"
	"waymark/ingest"
	"waymark/server/internal/api"
)

// configured returns the servers of a host's configuration, of all or only of these names, and notes about those that are
// left out or get another id. as is the id of the one server, if not empty. isOwn reports whether a port is one of this
// server.
func configured(config string, only []string, as string, allowReserved bool, isOwn func(port string) bool) (found []gateway.Definition, notes []string, err error) {
	launches, leftOut, err := ingest.Launches("config", []byte(config))
	if err != nil {
		return nil, nil, api.WrongField("config", err.Error())
	}
	for _, name := range only {
		if !slices.ContainsFunc(launches, func(l ingest.Launch) bool { return l.Name == name }) {
			return nil, nil, api.WrongField("only", fmt.Sprintf("there is no server %q in the configuration", name))
		}
	}
	var taken []string
	for _, l := range launches {
		if len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		d, err := definitionOf(l)
		d.ID, d.Reserved = cmp.Or(as, serverID(l.Name, taken)), allowReserved && d.URL != ""
		err = cmp.Or(err, d.Check(), d.CheckPlaceholders())
		if i := slices.IndexFunc(found, d.IsAlso); err == nil && i >= 0 {
			err = fmt.Errorf("server %q is the same as %q", l.Name, found[i].ID)
		}
		if u, wrong := url.Parse(d.URL); err == nil && wrong == nil && gateway.IsLoopback(u.Hostname()) && isOwn(u.Port()) {
			err = fmt.Errorf("server %q is the server of this data directory itself", l.Name)
		}
		if err != nil {
			leftOut = append(leftOut, err.Error())
			continue
		}
		if found, taken = append(found, d), append(taken, d.ID); d.ID != l.Name {
			notes = append(notes, fmt.Sprintf("%s: its tools are %s:…", l.Name, d.ID))
		}
	}
	for _, why := range leftOut {
		notes = append(notes, "left out: "+why)
	}
	switch {
	case as != "" && len(found) > 1:
		err = api.WrongField("as", fmt.Sprintf("it names one server, and there are %d; choose with only", len(found)))
	case len(found) == 0:
		err = api.Problem(http.StatusUnprocessableEntity, strings.Join(append([]string{"there is no server that can be taken"}, notes...), "; "))
	}
	return found, notes, err
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// serverID derives an id from a server's name. A name that is too long, such as a registry's reverse DNS name, becomes
// its last part. If the id is too similar to another one, it gets a number.
func serverID(name string, taken []string) string {
	id := strings.Trim(notInID.ReplaceAllString(name, "-"), "-._")
	if len(id) > gateway.MaxServerID {
		last := name[strings.LastIndexAny(name, "./")+1:]
		id = cmp.Or(strings.Trim(notInID.ReplaceAllString(last, "-"), "-._"), id)
		id = strings.TrimRight(id[:min(len(id), gateway.MaxServerID)], "-._")
	}
	id = cmp.Or(id, "server")
	plain := id[:min(len(id), gateway.MaxServerID-3)]
	for n := 2; gateway.Alike(id, taken); n++ {
		id = fmt.Sprintf("%s-%d", plain, n)
	}
	return id
}

// definitionOf makes a definition from an entry of a host. It resolves the command to the program that is found now, so
// that a program put before it in PATH later does not run in its place.
func definitionOf(l ingest.Launch) (gateway.Definition, error) {
	d := gateway.Definition{StartTimeout: l.StartTimeout, CallTimeout: l.CallTimeout, URL: l.Address}
	if d.URL != "" {
		d.SSE, d.Headers = l.Transport == "sse", maps.Clone(l.Headers)
		if l.Bearer != "" {
			d.Headers = maps.Collect(maps.All(d.Headers))
			d.Headers["Authorization"] = "Bearer ${" + l.Bearer + "}"
		}
	}
	if l.Disabled {
		return d, fmt.Errorf("server %q is disabled", l.Name)
	}
	if l.Program == "" {
		return d, nil
	}
	program, err := exec.LookPath(l.Program)
	if err == nil {
		program, err = filepath.Abs(program)
	}
	switch {
	case err != nil:
		return d, fmt.Errorf("server %q: its command %q is not in the PATH of the server", l.Name, l.Program)
	case strings.TrimSuffix(filepath.Base(program), ".exe") == "waymark":
		return d, fmt.Errorf("server %q is waymark itself", l.Name)
	}
	d.Command, d.Args, d.Env, d.Inherit, d.Dir = program, l.Args, l.Env, l.Inherit, l.Dir
	return d, nil
}
