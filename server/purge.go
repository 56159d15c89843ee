package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/live"
	"waymark/server/internal/problem"
	"waymark/server/internal/request"
	"waymark/storage"
)

// purged stands in the audit log where a text was.
const purged = "[purged]"

func (s *Server) purge(ctx context.Context, q *question[live.Selection]) (*jobStarted, error) {
	sel := hashedID(&q.Body)
	if !request.From(ctx).Operator {
		return nil, problem.New(http.StatusForbidden, "a purge rewrites the files of all workspaces: only the operator may, on the command line or from a loopback address without a key")
	}
	if sel.Parts() > 1 {
		return nil, problem.New(http.StatusUnprocessableEntity, "name at most one of source, episode and before")
	}
	e, err := s.engine(ctx)
	if err != nil {
		return nil, err
	}
	if sel.Parts() > 0 {
		if err := s.forgetBeside(ctx, sel); err != nil {
			return nil, err
		}
	}
	workspace := request.From(ctx).Workspace
	job, err := e.Purge(sel, func(ctx context.Context, texts []string, progress func(string, float64)) (storage.PurgeReport, error) {
		err := s.dropCopies(ctx, texts)
		if err == nil && sel.Parts() > 0 {
			err = s.forgetWhispers(workspace, sel)
		}
		if err != nil {
			return storage.PurgeReport{}, err
		}
		return s.cfg.Store.Purge(ctx, texts, progress)
	})
	if err != nil {
		return nil, err
	}
	return &jobStarted{"/v1/jobs/" + url.PathEscape(job.ID), job}, nil
}

// hashedID returns a selection and leaves the hash of the episode's id in its place, for the audit log, which notes what
// was asked.
func hashedID(asked *live.Selection) live.Selection {
	sel := *asked
	if sel.Episode != "" {
		asked.Episode = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(sel.Episode)))
	}
	return sel
}

// dropCopies removes triangulations of no known source that hold one of
// the texts, of all workspaces, and masks the texts in the audit log.
func (s *Server) dropCopies(ctx context.Context, texts []string) error {
	names, err := s.cfg.Store.Workspaces(ctx)
	if err != nil {
		return err
	}
	holds := func(row []byte) (found bool) {
		mapStrings(row, func(_, value string) string {
			found = found || slices.ContainsFunc(texts, func(text string) bool { return len(text) >= storage.MinSearched && strings.Contains(value, text) })
			return value
		})
		return found
	}
	for _, name := range names {
		if err := s.scoring.ForgetUnsigned(ctx, name, holds); err != nil {
			return err
		}
	}
	if s.cfg.Data == "" {
		return nil
	}
	return s.maskAudit(texts)
}

func (s *Server) maskAudit(texts []string) (err error) {
	s.auditing.Lock()
	defer s.auditing.Unlock()
	path := filepath.Join(s.cfg.Data, AuditFile)
	before, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	texts = slices.Clone(texts)
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) }) // of two that begin alike, the longer
	var pairs []string
	for _, text := range texts {
		if len(text) >= storage.MinSearched {
			pairs = append(pairs, text, purged)
		}
	}
	replace := strings.NewReplacer(pairs...).Replace
	var after []byte
	for line := range bytes.Lines(before) {
		after = append(after, withoutTexts(line, replace)...)
	}
	if bytes.Equal(after, before) {
		return nil
	}
	return storage.ReplaceFile(path, after)
}

// withoutTexts masks erased texts in the recorded request only: an erased text may also be a word of the format of every line.
func withoutTexts(line []byte, replace func(string) string) []byte {
	var entry auditEntry
	if json.Unmarshal(line, &entry) != nil {
		return line
	}
	masked := mapStrings(entry.Asked, func(_, value string) string { return replace(value) })
	if bytes.Equal(masked, mapStrings(entry.Asked, func(_, value string) string { return value })) {
		return line
	}
	entry.Asked = masked
	after, err := json.Marshal(entry)
	if err != nil {
		return line
	}
	return append(after, '\n')
}
