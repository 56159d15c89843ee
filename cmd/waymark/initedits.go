package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/cmd/waymark/internal/hostfile"
)

// edit is a file of a host before and after; nil is none.
type edit struct {
	path          string
	before, after []byte
}

// madeFile lists, by file of a host, what was not there before Waymark wrote into it: "" for the file, else the path of
// a member. Of what becomes empty when Waymark is taken out again only that is removed.
const madeFile = "host-files.json"

// traced adds what an edit makes to the list, and where it is undone takes out what it leaves empty. record is the list.
func (a *app) traced(edits []edit, undo bool) (record edit, err error) {
	dir, err := filepath.Abs(a.data)
	if err != nil {
		return record, err
	}
	if record, err = a.readEdit(filepath.Join(dir, madeFile)); err != nil {
		return record, err
	}
	all := map[string][]string{}
	if len(record.before) > 0 {
		if err := json.Unmarshal(record.before, &all); err != nil {
			return record, fmt.Errorf("%s: %w", record.path, err)
		}
	}
	for i, e := range edits {
		if filepath.Dir(e.path) == dir { // a list like this one
			edits[i].after = withoutEmpty(e.after, []string{""})
			continue
		}
		made := append(all[e.path], madeBy(e)...)
		slices.Sort(made)
		made = slices.Compact(made)
		slices.Reverse(made) // inner before outer
		if undo {
			edits[i].after = withoutEmpty(e.after, made)
		}
		made = slices.DeleteFunc(made, func(path string) bool {
			v, err := hostfile.Get(edits[i].after, strings.Split(path, "/")...)
			return edits[i].after == nil || path != "" && (err != nil || v == nil)
		})
		if all[e.path] = made; len(made) == 0 {
			delete(all, e.path)
		}
	}
	if len(all) > 0 {
		record.after = append([]byte(indented(all)), '\n')
	}
	return record, nil
}

// madeBy lists what an edit makes, two levels deep.
func madeBy(e edit) (made []string) {
	if e.before == nil {
		made = append(made, "")
	}
	var was, is map[string]json.RawMessage
	_, _ = json.Unmarshal(e.before, &was), json.Unmarshal(e.after, &is) // TOML has no empty lists to leave
	for name, v := range is {
		if was[name] == nil {
			made = append(made, name)
		}
		var inWas, inIs map[string]json.RawMessage
		_, _ = json.Unmarshal(was[name], &inWas), json.Unmarshal(v, &inIs) // no object: no members
		for inner := range inIs {
			if inWas[inner] == nil {
				made = append(made, name+"/"+inner)
			}
		}
	}
	return made
}

// withoutEmpty takes out of a text what was made and is empty; nil where that is the file.
func withoutEmpty(text []byte, made []string) []byte {
	for _, name := range slices.Concat(made, made) { // again: a version goes when the hooks are gone
		path := strings.Split(name, "/")
		v, err := hostfile.Get(text, path...)
		switch {
		case name == "" && strings.Trim(string(text), "{} \t\r\n") == "":
			return nil
		case err == nil && (sameJSON(v, []byte("{}")) || sameJSON(v, []byte("[]")) || name == "version" && sameJSON(text, []byte(`{"version":1}`))):
			text, _, _ = hostfile.Remove(text, path...) // it was just read
		}
	}
	return text
}

// readEdit is a file as it is; one that is not there is empty.
func (a *app) readEdit(path string) (e edit, err error) {
	e.path = path
	if e.before, err = a.readFile(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return e, err
}

// writeHost changes the files of a host, after showing how and asking.
func (a *app) writeHost(i int, o initOptions, undo bool, servers, hooks func([]byte) ([]byte, error)) error {
	serversFile, hooksFile, err := o.filesOf(i)
	if err != nil {
		return err
	}
	files := []struct {
		name   string
		change func([]byte) ([]byte, error)
	}{{serversFile, servers}, {hooksFile, hooks}}
	if !o.hook {
		files = files[:1]
	}
	edits := []edit{}
	var left error // a file that cannot be undone does not keep the other from it
	for _, f := range files {
		path, err := hostPath(f.name, o.project)
		if err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(path); err == nil { // a link stays one
			path = real
		}
		e, err := a.readEdit(path)
		if err != nil {
			return err
		}
		byHand := "waymark init --print prints what to add by hand"
		if undo {
			byHand = "take waymark out of it by hand"
			if !bytes.Contains(e.before, []byte("waymark")) { // nothing to take out, whatever the file holds
				continue
			}
		}
		if e.after, err = f.change(e.before); err != nil {
			err = rejected{fmt.Errorf("%s cannot be changed: %w; %s", path, err, byHand)}
			if !undo {
				return err
			}
			left = errors.Join(left, err)
			continue
		}
		if !bytes.Equal(e.before, e.after) {
			edits = append(edits, e)
		}
	}
	if len(edits) == 0 && left != nil {
		return left
	}
	return errors.Join(a.apply(edits, o.yes, undo), left)
}

// apply shows the edits, asks the user to confirm, and writes them. With undo it also removes objects and files that became empty.
func (a *app) apply(edits []edit, yes, undo bool) error {
	record, err := a.traced(edits, undo)
	if err != nil {
		return err
	}
	changed := []string{}
	for _, e := range edits {
		changed = append(changed, e.path)
		fmt.Fprintf(a.errs, "%s\n%s\n", e.path, hostfile.Diff(e.before, e.after))
	}
	if len(edits) > 0 {
		if err := a.confirm(yes, "Write this?"); err != nil {
			return err
		}
	}
	switch {
	case bytes.Equal(record.before, record.after):
	case undo:
		edits = append(edits, record)
	default:
		edits = append([]edit{record}, edits...) // first: what is made can always be taken out
	}
	for _, e := range edits {
		if err := e.write(); err != nil {
			return err
		}
	}
	if a.json {
		return a.printValue(map[string]any{"changed": changed})
	}
	if len(changed) == 0 {
		a.printf("nothing to change\n")
	}
	for _, path := range changed {
		a.printf("changed %s\n", clean(path))
	}
	return nil
}

func (e edit) write() error {
	if e.after == nil {
		return os.Remove(e.path)
	}
	folder := fs.FileMode(0o755)
	if filepath.Base(e.path) == madeFile { // the data directory
		folder = 0o700
	}
	if err := os.MkdirAll(filepath.Dir(e.path), folder); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(e.path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := replaceFile(e.path, func(w io.Writer) error { _, err := w.Write(e.after); return err }); err != nil {
		return err
	}
	return os.Chmod(e.path, mode)
}
