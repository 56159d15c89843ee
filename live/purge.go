package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/storage"
)

// PurgeResult says what was erased, and what rewriting the files and the last search of them found.
type PurgeResult struct {
	Erased int `json:"erased" doc:"Events erased by this request."`
	storage.PurgeReport
}

// ErrPurging says that a purge is asked for while one runs.
var ErrPurging = errors.New("a purge is running: GET /v1/jobs lists it")

// purgeForget is the part of a purge that erasing and rebuilding are taken to be, for progress.
const purgeForget = 0.4

// Purge starts a job that forgets what sel selects, or nothing where it selects nothing, and then has rewrite take all
// that was ever erased out of the files. rewrite is given the texts that only erased events held.
func (e *Engine) Purge(sel Selection, rewrite func(ctx context.Context, texts []string, progress func(string, float64)) (storage.PurgeReport, error)) (Job, error) {
	e.jobs.mu.Lock()
	defer e.jobs.mu.Unlock()
	if slices.ContainsFunc(e.jobs.all, func(j *job) bool { return j.Kind == JobPurge && j.State == JobRunning }) {
		return Job{}, ErrPurging
	}
	return e.launch(Job{Kind: JobPurge, Reason: requested, Phase: "forget"}, func(ctx context.Context, j *job) error {
		var done PurgeResult
		var texts []string
		if sel.Parts() > 0 {
			var err error
			if texts, err = e.textsOf(ctx, sel); err != nil {
				return err
			}
			forgot, err := e.Forget(ctx, sel)
			if err != nil {
				return err
			}
			done.Erased = forgot.Erased
		}
		share := map[string]float64{"copy": purgeForget, "verify": .8, "search entries": .85, "search files": .9}
		report, err := rewrite(ctx, texts, func(phase string, part float64) {
			at := share[phase]
			if phase == "copy" {
				at += part * (share["verify"] - at)
			}
			e.progress(j, phase, at)
		})
		done.PurgeReport = report
		e.update(j, func(j *Job) { j.Purge = &done })
		return err
	}), nil
}

// textsOf returns the strings that selected events hold and no other event does, each in every spelling in which a
// file may hold it.
func (e *Engine) textsOf(ctx context.Context, sel Selection) ([]string, error) {
	texts := map[string]bool{}
	for _, selected := range []bool{true, false} {
		selector := e.selector(sel)
		for ev, err := range e.log.Read(ctx, 0) {
			if err != nil {
				return nil, fmt.Errorf("read the log of workspace %q: %w", e.name, err)
			}
			if ev.Erased || len(ev.Payload) == 0 || selector.selects(ev) != selected {
				continue
			}
			for text := range stringsIn(ev.Payload[1:]) {
				if selected {
					texts[text] = true
				} else {
					delete(texts, text)
				}
			}
		}
	}
	delete(texts, sel.Source)
	spellings := map[string]bool{}
	for text := range texts {
		if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
			continue
		}
		spellings[text] = true
		if quoted, err := jsontext.AppendQuote(nil, text); err == nil {
			spellings[strings.Trim(string(quoted), `"`)] = true
		}
		if quoted, err := json.Marshal(text); err == nil { // escapes < > and &
			spellings[strings.Trim(string(quoted), `"`)] = true
		}
	}
	return slices.Sorted(maps.Keys(spellings)), nil
}

// stringsIn yields the string values of a JSON text, without names.
func stringsIn(text []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(text), lenient)
		for {
			token, err := d.ReadToken()
			if err != nil { // the end; an event that cannot be read holds no text to be looked for
				return
			}
			kind, length := d.StackIndex(d.StackDepth())
			isName := kind == '{' && length%2 == 1
			if token.Kind() == '"' && !isName && !yield(token.String()) {
				return
			}
		}
	}
}
