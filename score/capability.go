package score

import (
	_ "embed"

	"waymark/catalog"
)

// Ids of the scorers in a catalog.
const (
	HypothesisID   = "scorer:hypothesis"
	CouncilID      = "scorer:council"
	ContributionID = "scorer:contribution"
	SessionID      = "scorer:session"
	CustomID       = "scorer:custom"
	TriangulateID  = "scorer:triangulate"
)

//go:embed capabilities.yaml
var capabilities []byte

// Capabilities returns the scorers as capabilities of a catalog.
func Capabilities() []catalog.Capability { return MustDecode[[]catalog.Capability](capabilities) }
