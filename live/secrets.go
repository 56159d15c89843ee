package live

import (
	"slices"
	"strings"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/redact"
)

// redacted is an episode without the secrets in its intent, its label and its error messages. Its id, and so what it
// is a duplicate of, stays as it is.
func redacted(ep *episodic.Episode) *episodic.Episode {
	clean := *ep
	clean.Intent = withoutSecrets(ep.Intent, episodic.MaxIntent)
	clean.Label = withoutSecrets(ep.Label, catalog.MaxID)
	clean.Steps = slices.Clone(ep.Steps)
	for i := range clean.Steps {
		clean.Steps[i].Error = withoutSecrets(clean.Steps[i].Error, episodic.MaxError)
	}
	return &clean
}

// withoutSecrets masks secrets in a text, which may become longer than it is allowed to be.
func withoutSecrets(text string, longest int) string { return catalog.Cut(redact.Text(text), longest) }

// Shown is a text of a run or a triangulation as it is shown: without secrets, unless they are kept, and not longer than it was.
func (w *Workspaces) Shown(text string) string {
	if w.opts.KeepSecrets {
		return text
	}
	if masked := redact.Text(text); masked != text {
		return catalog.Cut(masked, len(text))
	}
	return text
}

// sameCut puts the texts of now into the place of those of before that differ from them in a secret at the cut alone:
// once its beginning was stored.
func sameCut(before, now *episodic.Episode) {
	same := func(was *string, is string) {
		n := 0
		for n < min(len(*was), len(is)) && (*was)[n] == is[n] {
			n++
		}
		begun, cut := strings.CutSuffix((*was)[n:], "…")
		mark, _, _ := strings.Cut(is[n:], "…")
		if cut && mark != "" && strings.HasPrefix(redact.Mark, mark[:min(len(mark), len(redact.Mark))]) && !strings.ContainsAny(begun, " \n") {
			*was = is
		}
	}
	same(&before.Intent, now.Intent)
	for i := range min(len(before.Steps), len(now.Steps)) {
		same(&before.Steps[i].Error, now.Steps[i].Error)
	}
}
