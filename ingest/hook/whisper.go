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

// Whisper is the folder where a workspace keeps its rules and what was said: files, so that a hook needs no server.
//
//	DIR/whisper/WORKSPACE/rules          the rules, written by the server
//	DIR/whisper/WORKSPACE/SESSION        the last call of a session
//	DIR/whisper/WORKSPACE/SESSION-LINE   a line that was said in it
type Whisper string

const (
	rulesFile = "rules"
	kept      = 30 * 24 * time.Hour // what is known of a session
)

// WhisperOf is the folder of a workspace in a data directory. The first hook that may speak makes it: from then on the
// server derives rules for the workspace.
func WhisperOf(data, workspace string) Whisper {
	return Whisper(filepath.Join(data, "whisper", hex.EncodeToString([]byte(workspace)))) // any name makes a file name
}

// Whispering are the workspaces of a data directory whose hooks may speak.
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

// Put writes the rules. What is known of sessions that ended long ago is removed.
func (w Whisper) Put(rules []Rule, now time.Time) error {
	return errors.Join(writeFile(string(w), rulesFile, rules), w.dropSessions(now.Add(-kept)))
}

// Derived reports whether there are rules.
func (w Whisper) Derived() bool {
	_, err := os.Lstat(w.file(rulesFile))
	return err == nil
}

// Forget removes the rules, which the server derives again from what is left of the history, and what was written of
// sessions before a time.
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

// lastCall of a turn, as far as rules ask for it.
type lastCall struct {
	Tool   string `json:"tool"`
	Failed bool   `json:"failed"`
}

// observe records what happened in a session, and returns the line to say now, if any. Hooks of parallel calls run at the same
// time: the one that makes the file of a line says it, all others stay silent.
func (w Whisper) observe(e Event) (line string, err error) {
	session := digest(e.Host + " " + e.Session)
	last, happened := lastCall{}, e.Kind == Began
	switch {
	case e.Kind == Asked, e.Kind == Reset: // what comes next is another turn
		err = writeFile(string(w), session, last)
	case e.Kind == Ended && Made(e.ErrorKind):
		last, happened = lastCall{e.Tool, e.Outcome == episodic.Failure}, true
		err = writeFile(string(w), session, last)
	case happened:
		_ = w.read(session, &last) // nothing was called before
	}
	if err != nil || !happened {
		return "", err
	}
	var rules []Rule
	if err := w.read(rulesFile, &rules); err != nil {
		return "", err
	}
	for i := range rules { // best first
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

// applies reports whether a rule is about what happened: the last completed call, and the tool of the call that begins.
func (r *Rule) applies(last lastCall, e Event) bool {
	if r.After != last.Tool || r.Repair != (e.Kind == Ended) {
		return false
	}
	return r.Repair && last.Failed || !r.Repair && r.Tool == e.Tool
}

// budget is how many bytes are said in a session at most, about 120 tokens: a token of English has about four bytes, one of
// a name three.
const budget = 360

// say reports whether a line may be said: it was not yet in the session, and fits the budget.
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
