package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"waymark/episodic"
)

// Whisper is the folder with the rules and the printed lines of a workspace: files, so that a hook needs no server.
//
//	DIR/whisper/WORKSPACE/rules          the rules, written by the server
//	DIR/whisper/WORKSPACE/SESSION        the last call of a session
//	DIR/whisper/WORKSPACE/SESSION-LINE   a line that was printed in it
type Whisper string

const (
	rulesFile = "rules"
	kept      = 30 * 24 * time.Hour // retention of the files of a session
)

// WhisperOf returns the folder of a workspace in a data directory. The first hook that runs with --whisper creates it;
// from then on the server derives rules for the workspace.
func WhisperOf(data, workspace string) Whisper {
	return Whisper(filepath.Join(data, "whisper", hex.EncodeToString([]byte(workspace)))) // any name gives a valid file name
}

// Whispering returns the workspaces of a data directory that have a Whisper folder.
func Whispering(data string) (names []string, err error) {
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

func (w Whisper) file(name string) string { return filepath.Join(string(w), name) }

// Put writes the rules and removes the files of sessions that have not changed for 30 days.
func (w Whisper) Put(rules []Rule, now time.Time) error {
	return errors.Join(writeFile(string(w), rulesFile, rules), w.dropSessions(now.Add(-kept)))
}

// Derived reports whether the rules exist.
func (w Whisper) Derived() bool {
	_, err := os.Lstat(w.file(rulesFile))
	return err == nil
}

// Forget removes the rules, which the server derives again from the rest of the history, and the files of sessions last
// changed before a time.
func (w Whisper) Forget(before time.Time) error {
	return errors.Join(os.RemoveAll(w.file(rulesFile)), w.dropSessions(before))
}

func (w Whisper) dropSessions(before time.Time) error {
	list, err := os.ReadDir(string(w))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range list {
		if info, gone := f.Info(); gone == nil && f.Name() != rulesFile && info.ModTime().Before(before) {
			err = errors.Join(err, os.Remove(w.file(f.Name())))
		}
	}
	return err
}

// lastCall is the last call of a turn, with the fields that rules need.
type lastCall struct {
	Tool   string `json:"tool"`
	Failed bool   `json:"failed"`
}

// observe records the event of a session and returns the line to print now, if any. Hooks of parallel calls run at the
// same time: only the hook that creates the file of a line prints it.
func (w Whisper) observe(e Event) (line string, err error) {
	session := digest(e.Host + " " + e.Session)
	last, happened := lastCall{}, e.Kind == Began
	switch {
	case e.Kind == Asked, e.Kind == Reset: // the next call belongs to another turn
		err = writeFile(string(w), session, last)
	case e.Kind == Ended && Made(e.ErrorKind):
		last, happened = lastCall{e.Tool, e.Outcome == episodic.Failure}, true
		err = writeFile(string(w), session, last)
	case happened:
		_ = w.read(session, &last) // no file: there was no call before
	}
	if err != nil || !happened {
		return "", err
	}
	var rules []Rule
	if err := w.read(rulesFile, &rules); err != nil {
		return "", err
	}
	for i := range rules { // sorted by bound, highest first
		if r := &rules[i]; r.applies(last, e) {
			if line := r.Line(); w.say(session, line) {
				return line, nil
			}
		}
	}
	return "", nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

func (w Whisper) read(name string, v any) error {
	text, err := os.ReadFile(w.file(name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// applies reports whether a rule matches the last completed call and, for a pitfall, the tool of the call that begins.
func (r *Rule) applies(last lastCall, e Event) bool {
	if r.After != last.Tool || r.Repair != (e.Kind == Ended) {
		return false
	}
	return r.Repair && last.Failed || !r.Repair && r.Tool == e.Tool
}

// budget is the maximum number of bytes printed in a session, about 120 tokens: a token of English has about four
// bytes, one of a name three.
const budget = 360

// say claims a line for printing. It returns false if the line was already printed in the session or exceeds the
// budget.
func (w Whisper) say(session, line string) bool {
	folder, begin := filepath.Split(w.file(session + "-"))
	said, err := os.ReadDir(folder)
	bytes := len(line)
	for _, e := range said {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), begin) {
			bytes += int(info.Size())
		}
	}
	if err != nil || bytes > budget {
		return false
	}
	f, err := os.OpenFile(w.file(session+"-"+digest(line)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close()) == nil
}
