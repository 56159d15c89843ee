package live

import (
	"slices"

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
