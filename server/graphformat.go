package server

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"waymark/catalog"
	"waymark/suggest"
)

// graphFormats are the formats of the graph besides JSON. Ids, names and all other external text are quoted by the
// rules of each format. Nodes are numbered in the order of the export, which is sorted by id, so equal graphs give
// equal bytes.
var graphFormats = map[string]struct {
	mediaType string
	write     func(*bytes.Buffer, suggest.Export)
}{
	"dot":     {"text/vnd.graphviz", writeDOT},
	"graphml": {"application/graphml+xml", writeGraphML},
	"mermaid": {"text/vnd.mermaid", writeMermaid},
}

// formatWeight returns the shortest text that parses to the same number.
func formatWeight(w float64) string { return strconv.FormatFloat(w, 'g', -1, 64) }

// writeDOT writes the Graphviz language. Inside "…" only the quote and the backslash are special; a backslash would
// start an escape like \N in a label.
func writeDOT(b *bytes.Buffer, e suggest.Export) {
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "", "\x00", "").Replace(s) + `"`
	}
	b.WriteString("digraph waymark {\n")
	for _, n := range e.Nodes {
		shape := "box"
		if n.Kind == catalog.KindCapability {
			shape = "component"
		}
		fmt.Fprintf(b, "  %s [label=%s, shape=%s, pagerank=%s, community=%d, cluster=%d, uses=%d];\n",
			quote(n.ID), quote(n.ID), shape, quote(formatWeight(n.PageRank)), n.Community, n.Cluster, n.Uses)
	}
	for _, x := range e.Edges {
		fmt.Fprintf(b, "  %s -> %s [weight=%s, count=%d];\n", quote(x.From), quote(x.To), quote(formatWeight(x.Weight)), x.Count)
	}
	for _, u := range e.Uses {
		fmt.Fprintf(b, "  %s -> %s [style=dotted, arrowhead=none, uses=%s];\n", quote(u.Capability), quote(u.Tool), quote(formatWeight(u.Weight)))
	}
	b.WriteString("}\n")
}

// writeGraphML writes http://graphml.graphdrawing.org/xmlns. Control characters that XML cannot
// hold become U+FFFD (xml.EscapeText).
func writeGraphML(b *bytes.Buffer, e suggest.Export) {
	text := func(s string) string {
		var t strings.Builder
		_ = xml.EscapeText(&t, []byte(s)) // a Builder returns no errors
		return t.String()
	}
	b.WriteString(xml.Header + `<graphml xmlns="http://graphml.graphdrawing.org/xmlns">` + "\n")
	for _, k := range []struct{ id, of, kind string }{
		{"kind", "node", "string"}, {"name", "node", "string"}, {"known", "node", "boolean"}, {"pagerank", "node", "double"},
		{"community", "node", "int"}, {"cluster", "node", "int"}, {"uses", "node", "long"},
		{"relation", "edge", "string"}, {"weight", "edge", "double"}, {"count", "edge", "long"},
	} {
		fmt.Fprintf(b, `  <key id="%s" for="%s" attr.name="%s" attr.type="%s"/>`+"\n", k.id, k.of, k.id, k.kind)
	}
	b.WriteString(`  <graph id="waymark" edgedefault="directed">` + "\n")
	data := func(key, value string) { fmt.Fprintf(b, `<data key="%s">%s</data>`, key, text(value)) }
	for _, n := range e.Nodes {
		fmt.Fprintf(b, `    <node id="%s">`, text(n.ID))
		data("kind", string(n.Kind))
		data("name", n.Name)
		data("known", strconv.FormatBool(n.Known))
		data("pagerank", formatWeight(n.PageRank))
		data("community", strconv.Itoa(int(n.Community)))
		data("cluster", strconv.Itoa(int(n.Cluster)))
		data("uses", strconv.FormatUint(n.Uses, 10))
		b.WriteString("</node>\n")
	}
	for _, x := range e.Edges {
		fmt.Fprintf(b, `    <edge source="%s" target="%s">`, text(x.From), text(x.To))
		data("relation", "followed_by")
		data("weight", formatWeight(x.Weight))
		data("count", strconv.FormatUint(x.Count, 10))
		b.WriteString("</edge>\n")
	}
	for _, u := range e.Uses {
		fmt.Fprintf(b, `    <edge source="%s" target="%s">`, text(u.Capability), text(u.Tool))
		data("relation", "uses")
		data("weight", formatWeight(u.Weight))
		b.WriteString("</edge>\n")
	}
	b.WriteString("  </graph>\n</graphml>\n")
}

// writeMermaid writes a flowchart. Mermaid ids allow few characters, so nodes are named n0, n1, …. In a label, every
// character with a meaning to Mermaid, Markdown or HTML is written as a numeric entity in the style of #quot;, so that
// a name can neither end the label nor become markup.
func writeMermaid(b *bytes.Buffer, e suggest.Export) {
	label := func(s string) string {
		var t strings.Builder
		for _, r := range s {
			switch {
			case r < ' ' || r == 0x7f:
				t.WriteByte(' ')
			case r < 0x80 && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" .:/-", r)):
				fmt.Fprintf(&t, "#%d;", r)
			default:
				t.WriteRune(r)
			}
		}
		return t.String()
	}
	b.WriteString("flowchart LR\n")
	number := make(map[string]int, len(e.Nodes))
	for i, n := range e.Nodes {
		number[n.ID] = i
		if n.Kind == catalog.KindCapability {
			fmt.Fprintf(b, "  n%d[[\"%s\"]]\n", i, label(n.ID))
		} else {
			fmt.Fprintf(b, "  n%d[\"%s\"]\n", i, label(n.ID))
		}
	}
	for _, x := range e.Edges {
		fmt.Fprintf(b, "  n%d -->|%d| n%d\n", number[x.From], x.Count, number[x.To])
	}
	for _, u := range e.Uses {
		fmt.Fprintf(b, "  n%d -.- n%d\n", number[u.Capability], number[u.Tool])
	}
}
