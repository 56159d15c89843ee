package evidence_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/score/evidence"
)

var update = flag.Bool("update", false, "write the picture of the worked example anew")

// The picture in docs/scorers.md is what the program draws for the worked example there.
func TestPictureOfTheWorkedExample(t *testing.T) {
	res, err := evidence.Triangulate(greenhouse)
	require.NoError(t, err)
	svg := evidence.EntropySVG("Entropy per round: "+greenhouse.Question, evidence.Defaults().StopShare, []evidence.Trajectory{res.Trajectory("greenhouse")})
	file := filepath.Join("..", "..", "docs", "evidence-example.svg")
	if *update {
		require.NoError(t, os.WriteFile(file, svg, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(svg))
}
