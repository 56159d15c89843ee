package server

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/suggest"
)

// hostile are ids that mean something to one of the forms.
var hostile = []string{
	`plain:id`, `quo"te`, `back\slash`, `back\`, "new\nline", `]]>`, `<b>&amp;</b>`, `"] --> evil`, `a;b|c`, "nul\x00", "ctl\x01", `#35;`, `%%{init}%%`, "ü→🙂", `end`, "`code`",
}

func hostileGraph() suggest.Export {
	var e suggest.Export
	for i, id := range hostile {
		e.Nodes = append(e.Nodes, suggest.ExportNode{ID: id, Kind: "tool", Name: id, PageRank: 0.1})
		e.Edges = append(e.Edges, suggest.ExportEdge{From: id, To: hostile[(i+1)%len(hostile)], Weight: 1.0 / 3, Count: 7})
	}
	e.Nodes = append(e.Nodes, suggest.ExportNode{ID: "cap", Kind: "capability"})
	e.Uses = []suggest.ExportUse{{Tool: hostile[1], Capability: "cap", Weight: 1}}
	return e
}

// Every id comes back from GraphML as it went in; what XML cannot hold is replaced. The reader is
// encoding/xml.
func TestGraphMLReadsBack(t *testing.T) {
	var b bytes.Buffer
	writeGraphML(&b, hostileGraph())
	var doc struct {
		Graph struct {
			Nodes []struct {
				ID string `xml:"id,attr"`
			} `xml:"node"`
			Edges []struct {
				Source string `xml:"source,attr"`
				Target string `xml:"target,attr"`
				Data   []struct {
					Key  string `xml:"key,attr"`
					Text string `xml:",chardata"`
				} `xml:"data"`
			} `xml:"edge"`
		} `xml:"graph"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &doc))
	require.Len(t, doc.Graph.Nodes, len(hostile)+1)
	for i, id := range hostile {
		want := strings.NewReplacer("\x00", "\uFFFD", "\x01", "\uFFFD").Replace(id)
		assert.Equal(t, want, doc.Graph.Nodes[i].ID)
		assert.Equal(t, want, doc.Graph.Edges[i].Source)
	}
	assert.Equal(t, "0.3333333333333333", doc.Graph.Edges[0].Data[1].Text)
	assert.Len(t, doc.Graph.Edges, len(hostile)+1)
}

// A reader of the quoted strings of DOT finds the ids again, and nothing between the quotes ends early.
func TestDOTQuotes(t *testing.T) {
	var b bytes.Buffer
	writeDOT(&b, hostileGraph())
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 2+len(hostile)+1+len(hostile)+1) // frame, nodes, edges, uses: no id breaks a line
	for i, id := range hostile {
		line := strings.TrimSpace(lines[1+i])
		quoted, err := strconv.QuotedPrefix(line)
		require.NoError(t, err, line)
		text, err := strconv.Unquote(quoted)
		require.NoError(t, err, line)
		assert.Equal(t, strings.ReplaceAll(id, "\x00", ""), text)
		assert.True(t, strings.HasPrefix(line[len(quoted):], " [label="), line)
	}
}

func TestMermaidLabels(t *testing.T) {
	var b bytes.Buffer
	writeMermaid(&b, hostileGraph())
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 1+len(hostile)+1+len(hostile)+1)
	for _, line := range lines[1 : 1+len(hostile)] {
		assert.Regexp(t, `^  n\d+\["[^"<>&|%\x60\[\]]*"\]$`, line)
	}
	assert.Equal(t, `  n1["quo#34;te"]`, lines[2])
	assert.Equal(t, `  n0 -->|7| n1`, lines[2+len(hostile)])
	assert.Equal(t, `  n16 -.- n1`, lines[len(lines)-1])
}
