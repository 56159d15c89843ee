package live

import (
	"slices"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/internal/redact"
)

// redacted is an episode without the secrets in what was asked and in the words of failures. Its id, and so what it
// is a duplicate of, stays as it is.
func redacted(ep *episodic.Episode) *episodic.Episode {
	clean := *ep
	clean.Intent = withoutSecrets(ep.Intent, episodic.MaxIntent)
	clean.Steps = slices.Clone(ep.Steps)
	for i := range clean.Steps {
		clean.Steps[i].Error = withoutSecrets(clean.Steps[i].Error, episodic.MaxError)
	}
	return &clean
}

// withoutSecrets masks secrets in a text, which may become longer than it is allowed to be.
func withoutSecrets(text string, longest int) string { return catalog.Cut(redact.Text(text), longest) }
