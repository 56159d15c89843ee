package whisper

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"waymark/episodic"
)

// Folder is where a workspace keeps its rules and what was said: files, so that a hook needs no server.
//
//	DIR/whisper/WORKSPACE/rules         the rules, written by the server
//	DIR/whisper/WORKSPACE/SESSION.jsonl the calls and lines of one session, only appended to
type Folder string

const (
	tableFile   = "rules"
	journalEnd  = ".jsonl"
	mostJournal = 1 << 20 // bytes; in a longer session nothing more is said
	kept        = 30 * 24 * time.Hour
)

// FolderOf is the folder of a workspace in a data directory.
func FolderOf(data, workspace string) Folder {
	return Folder(filepath.Join(data, "whisper", hex.EncodeToString([]byte(workspace)))) // any name makes a file name
}

// Workspaces are those of a data directory whose hooks may speak.
func Workspaces(data string) (names []string, err error) {
	list, err := os.ReadDir(filepath.Join(data, "whisper"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range list {
		if name, err := hex.DecodeString(f.Name()); err == nil {
			names = append(names, string(name))
		}
	}
	return names, err
}

func (f Folder) file(name string) string { return filepath.Join(string(f), name) }

// Create makes the folder: from then on the server derives rules for its workspace.
func (f Folder) Create() error { return os.MkdirAll(string(f), 0o700) }

// Put writes a table. Its file has its name only when it is whole. Journals of sessions that ended long ago are removed.
func (f Folder) Put(t *Table, now time.Time) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	hidden := f.file("." + tableFile)
	if err := os.WriteFile(hidden, text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(hidden, f.file(tableFile)); err != nil {
		return err
	}
	return f.dropJournals(now.Add(-kept))
}

// Derived reports whether there are rules.
func (f Folder) Derived() bool {
	_, err := os.Lstat(f.file(tableFile))
	return err == nil
}

// Forget removes the rules, which the server derives again from what is left of the history, and the journals that were
// last written before a time.
func (f Folder) Forget(before time.Time) error {
	err := os.Remove(f.file(tableFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.dropJournals(before))
}

func (f Folder) dropJournals(before time.Time) error {
	list, err := f.journals()
	for _, j := range list {
		if info, gone := os.Stat(j); gone == nil && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(j))
		}
	}
	return err
}

// Table reads the rules; none were derived yet is an error.
func (f Folder) Table() (*Table, error) {
	text, err := os.ReadFile(f.file(tableFile))
	if err != nil {
		return nil, err
	}
	t := &Table{}
	if err = json.Unmarshal(text, t); err == nil && t.Version != tableVersion {
		err = fmt.Errorf("version %d, not %d", t.Version, tableVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file(tableFile), err)
	}
	return t, nil
}

func (f Folder) journals() ([]string, error) { return filepath.Glob(f.file("*" + journalEnd)) }

// Entry is a line of a journal. Exactly one of Reset, Begun, Ended and Said is set.
type Entry struct {
	ID      string           `json:"id,omitempty"` // of the process that says a line
	Time    time.Time        `json:"t"`
	Reset   bool             `json:"reset,omitempty"` // the user asked: what comes next is another turn
	Begun   string           `json:"begun,omitempty"` // a tool
	Ended   string           `json:"ended,omitempty"`
	Outcome episodic.Outcome `json:"outcome,omitempty"`
	Said    string           `json:"said,omitempty"` // a line
}

// Hear appends what happened to the journal of a session, and returns the line to say now, if any. Hooks of parallel
// calls run at the same time: the one whose entry stands first in the journal says a line, all others stay silent.
func (f Folder) Hear(name, id string, happened Entry) (line string, err error) {
	sum := sha256.Sum256([]byte(name))
	path := f.file(hex.EncodeToString(sum[:12]) + journalEnd)
	if err := appendTo(path, happened); errors.Is(err, fs.ErrNotExist) {
		if err = f.Create(); err == nil {
			err = appendTo(path, happened)
		}
		return "", err // no rules yet
	} else if err != nil {
		return "", err
	}
	if happened.Reset {
		return "", nil
	}
	entries, err := journal(path)
	if err != nil {
		return "", err
	}
	t, err := f.Table()
	if err != nil {
		return "", err
	}
	last, said := replay(entries)
	i := slices.IndexFunc(t.Rules, func(r Rule) bool { return r.applies(last, happened.Begun) && said.free(r.Line()) }) // best first
	if i < 0 {
		return "", nil
	}
	line = t.Rules[i].Line()
	if err := appendTo(path, Entry{ID: id, Time: happened.Time, Said: line}); err != nil {
		return "", err
	}
	if entries, err = journal(path); err != nil {
		return "", err
	}
	mine := slices.IndexFunc(entries, func(e Entry) bool { return e.ID == id && e.Said != "" })
	if _, said = replay(entries[:max(mine, 0)]); mine < 0 || !said.free(line) {
		return "", nil
	}
	return line, nil
}

func appendTo(path string, e Entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return cmp.Or(err, file.Close())
}

// journal reads the entries of a session. A line cut off by the end of a process is passed over.
func journal(path string) (entries []Entry, err error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > mostJournal {
		return nil, cmp.Or(err, fmt.Errorf("journal %s is no file of at most %d bytes", path, mostJournal))
	}
	text, err := os.ReadFile(path)
	for line := range bytes.Lines(text) {
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			entries = append(entries, e)
		}
	}
	return entries, err
}

// applies reports whether a rule is about what happened: the last completed call, and the tool of the call that begins.
func (r *Rule) applies(last Entry, begun string) bool {
	if r.After != last.Ended {
		return false
	}
	if begun != "" {
		return r.Kind == Pitfall && r.Tool == begun
	}
	return r.Kind == Repair && last.Outcome == episodic.Failure
}

// budget is how many bytes are said in a session at most, about 120 tokens: a token of English has about four bytes, one of
// a name three.
const budget = 360

// said are the lines of a session.
type said map[string]bool

// free reports whether a line was not said yet and fits the budget.
func (s said) free(line string) bool {
	bytes := len(line)
	for line := range s {
		bytes += len(line)
	}
	return !s[line] && bytes <= budget
}

// replay returns the last completed call of the current turn, and what was said in the session.
func replay(entries []Entry) (last Entry, s said) {
	s = said{}
	for _, e := range entries {
		switch {
		case e.Said != "":
			if s.free(e.Said) {
				s[e.Said] = true
			}
		case e.Reset:
			last = Entry{}
		case e.Ended != "":
			last = e
		}
	}
	return last, s
}
