package live

import (
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/redact"
)

// redacted returns an episode with the secrets in its intent, its label and its error messages masked. Its id, by
// which duplicates are found, stays as it is.
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

// withoutSecrets masks secrets in a text and cuts it, because the mask may be longer than the secret.
func withoutSecrets(text string, longest int) string { return catalog.Cut(redact.Text(text), longest) }

// Shown returns a text of a run or a triangulation for display: without secrets, unless they are kept, and not longer.
func (w *Workspaces) Shown(text string) string {
	if w.opts.KeepSecrets {
		return text
	}
	if masked := redact.Text(text); masked != text {
		return catalog.Cut(masked, len(text))
	}
	return text
}
