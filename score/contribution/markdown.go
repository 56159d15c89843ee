package contribution

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"waymark/internal/strictjson"
	"waymark/score/rubric"
)

// A document is an artifact read from Markdown, with what reading found.
type document struct {
	artifact   Artifact
	lines      map[string]int // by id of the item
	violations []Violation
}

// LintText checks an artifact that is written as JSON ({"metadata", "sections"}) or as Markdown (front
// matter and seven sections). It fails if the text is neither.
func LintText(text string, anchors *Anchors) (LintReport, error) {
	a, doc, err := readArtifact(text)
	if err != nil {
		return LintReport{}, err
	}
	return lint(a, anchors, doc)
}

// ParseArtifact reads an artifact that is written as JSON or as Markdown.
func ParseArtifact(text string) (Artifact, error) {
	a, _, err := readArtifact(text)
	return a, err
}

func readArtifact(text string) (Artifact, *document, error) {
	if err := rubric.CheckText("artifact", text, maxArtifactText); err != nil {
		return Artifact{}, nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		a, err := strictjson.Decode[Artifact]([]byte(text))
		if err != nil {
			return Artifact{}, nil, rubric.Within("artifact", err)
		}
		return a, &document{}, nil
	}
	doc := readMarkdown(text)
	if doc == nil {
		return Artifact{}, nil, rubric.Refuse("artifact", "it is neither JSON nor a Markdown document with sections such as “## 2. Hypothesis Slate”")
	}
	return doc.artifact, doc, nil
}

// titles are the headings of the sections.
var titles = map[string]Section{
	"research thread": researchThread, "hypothesis slate": hypothesisSlate, "predictions table": predictionsTable,
	"discriminative tests": discriminativeTests, "assumption ledger": assumptionLedger, "anomaly register": anomalyRegister,
	"adversarial critique": adversarialCritique,
}

// labels are the names of fields in a document; the others are the names of fields with spaces.
var labels = map[string]string{
	"rt": "statement", "how this could be true": "mechanism", "evidence that would confirm this": "evidence", "why it might be right": "evidence",
	"quarantine status": "status", "reason": "kill_reason", "evidence-per-week score": "score",
}

var (
	sectionHead = regexp.MustCompile(`^##\s+(?:\d+\.\s*)?(.+?)\s*$`)
	itemHead    = regexp.MustCompile(`^###\s+(~~)?\s*([A-Z]+[0-9.H]*)\s*:\s*(.*?)(~~)?\s*(\[KILLED\])?\s*$`)
	labelled    = regexp.MustCompile(`^\*\*([^*]+?):?\*\*:?\s*(.*)$`)
	scoreSuffix = regexp.MustCompile(`\s*\((?i:score):\s*\d+\s*/\s*12\)`)
	outcomeLine = regexp.MustCompile(`^[-*]\s*(?:If\s+)?(H[0-9]+)\s*:\s*(.*)$`)
	ratingLine  = regexp.MustCompile(`(?i)(likelihood[ _]ratio|LR|cost|speed|ambiguity)\s*[:=]\s*([0-9])`)
	column      = regexp.MustCompile(`\bH[0-9]+\b`)
)

// readMarkdown reads a document, nil if it has no section at all.
func readMarkdown(text string) *document {
	doc := &document{lines: map[string]int{}, artifact: Artifact{Metadata: Item{}}.clone()}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	at := doc.frontMatter(lines)
	var order []Section
	section, found := Section(""), false
	begin := at
	end := func(to int) {
		if found && section != "" {
			doc.section(section, lines[begin:to], begin+1)
		}
	}
	for i := at; i < len(lines); i++ {
		m := sectionHead.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		end(i)
		section, begin = titles[strings.ToLower(m[1])], i+1
		if section == "" {
			continue
		}
		found = true
		if slices.Contains(order, section) {
			doc.add("ES-001", i+1, "have each section once", "the section %s comes twice", m[1])
		}
		order = append(order, section)
	}
	end(len(lines))
	if !found {
		return nil
	}
	for _, s := range Sections {
		if !slices.Contains(order, s) {
			doc.add("ES-001", 0, "add the heading", "there is no section %s", s)
		}
	}
	if !slices.IsSortedFunc(order, func(a, b Section) int { return slices.Index(Sections, a) - slices.Index(Sections, b) }) {
		doc.add("ES-002", 0, "sort them", "the sections are not in their order")
	}
	return doc
}

func (doc *document) add(id string, line int, fix, format string, args ...any) {
	doc.violations = append(doc.violations, violation(id, "", line, fix, format, args...))
}

// frontMatter reads the YAML between two lines of ---, and returns the index of the line after it.
func (doc *document) frontMatter(lines []string) int {
	const fix = "begin with session_id, created_at, updated_at, version and status between two lines of ---"
	end := -1
	if len(lines) > 0 && strings.TrimSpace(lines[0]) == "---" {
		end = slices.IndexFunc(lines[1:], func(l string) bool { return strings.TrimSpace(l) == "---" })
	}
	if end < 0 {
		doc.add("EM-001", 1, fix, "there is no front matter")
		return 0
	}
	data, err := rubric.FromYAML([]byte(strings.Join(lines[1:end+1], "\n")))
	if err == nil {
		err = json.Unmarshal(data, &doc.artifact.Metadata)
	}
	if err != nil {
		doc.add("EM-001", 1, fix, "the front matter cannot be read: %v", err)
	}
	return end + 2
}

// section reads the items of a section; first is the number of its first line.
func (doc *document) section(s Section, lines []string, first int) {
	switch s {
	case researchThread:
		if it := fields(s, lines); len(it) > 0 {
			it["id"] = "RT"
			doc.artifact.Sections.ResearchThread, doc.lines["RT"] = it, first
		}
		return
	case predictionsTable:
		doc.table(lines, first)
		return
	}
	list := doc.artifact.list(s)
	start, before := -1, len(*list)
	var head []string
	end := func(to int) {
		if start < 0 {
			return
		}
		it := fields(s, lines[start+1:to])
		name := strings.TrimSuffix(strings.TrimSpace(scoreSuffix.ReplaceAllString(head[3], "")), "~~")
		it["id"], it["name"] = head[2], name
		if head[1] != "" || head[5] != "" {
			it["killed"] = true
		}
		switch lower := strings.ToLower(name); {
		case s == assumptionLedger && (strings.Contains(lower, "scale") || strings.Contains(lower, "physics")):
			it["scale_check"] = true
		case s == adversarialCritique && strings.Contains(lower, "third alternative"):
			it["real_third_alternative"] = true
		}
		doc.lines[head[2]] = first + start
		*list = append(*list, it)
	}
	for i, line := range lines {
		if m := itemHead.FindStringSubmatch(line); m != nil {
			end(i)
			start, head = i, m
		}
	}
	end(len(lines))
	if s == anomalyRegister && len(*list) == before && !strings.Contains(strings.ToLower(strings.Join(lines, " ")), "none registered") {
		doc.add("EX-002", first, "write: None registered.", "the anomaly register is empty and does not say so")
	}
}

// fields reads **Label**: value, over as many lines as it goes on.
func fields(s Section, lines []string) Item {
	it := Item{}
	var name string
	var value []string
	end := func() {
		if name != "" {
			set(s, it, name, value)
		}
	}
	for _, line := range lines {
		if m := labelled.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			end()
			label := strings.ToLower(strings.TrimSpace(m[1]))
			name, value = labels[label], []string{m[2]}
			if name == "" {
				name = strings.NewReplacer(" ", "_", "-", "_").Replace(label)
			}
			continue
		}
		value = append(value, line)
	}
	end()
	return it
}

// set puts a field into the form that its section gives it.
func set(s Section, it Item, name string, lines []string) {
	value := strings.TrimSpace(strings.Join(lines, "\n"))
	k := text
	for _, f := range layouts()[s].Fields {
		if f.Name == name {
			k = f.Kind
		}
	}
	if name == "killed" {
		k = flag
	}
	switch k {
	case texts:
		list := []any{}
		for _, e := range strings.Split(value, ",") {
			if e = strings.TrimSpace(e); e != "" && e != "—" {
				list = append(list, e)
			}
		}
		it[name] = list
	case flag:
		it[name] = slices.Contains([]string{"true", "yes"}, strings.ToLower(value))
	case perHypothesis:
		m := map[string]any{}
		for _, line := range lines {
			if o := outcomeLine.FindStringSubmatch(strings.TrimSpace(line)); o != nil {
				m[o[1]] = o[2]
			}
		}
		it[name] = m
	case rating:
		m := map[string]any{}
		for _, r := range ratingLine.FindAllStringSubmatch(value, -1) {
			part := strings.ReplaceAll(strings.ToLower(r[1]), " ", "_")
			if part == "lr" {
				part = "likelihood_ratio"
			}
			m[part] = float64(r[2][0] - '0')
		}
		it[name] = m
	default:
		if value != "" {
			it[name] = value
		}
	}
}

// table reads the predictions: a column for the id, one for the condition, and one for each hypothesis.
func (doc *document) table(lines []string, first int) {
	var head []string
	for i, line := range lines {
		cells, ok := row(line)
		switch {
		case !ok:
		case head == nil:
			head = cells
		case strings.Trim(strings.Join(cells, ""), "-: ") == "":
		default:
			said := map[string]any{}
			for c := 2; c < min(len(cells), len(head)); c++ {
				if h := column.FindString(head[c]); h != "" && cells[c] != "—" {
					said[h] = cells[c]
				}
			}
			id := strings.Trim(cells[0], "~ ")
			it := Item{"id": id, "predictions": said}
			if len(cells) > 1 {
				it["condition"] = cells[1]
			}
			if strings.HasPrefix(cells[0], "~~") {
				it["killed"] = true
			}
			doc.lines[id] = first + i
			doc.artifact.Sections.PredictionsTable = append(doc.artifact.Sections.PredictionsTable, it)
		}
	}
}

// row splits a line of a table at the bars that are not escaped.
func row(line string) ([]string, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil, false
	}
	line = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return cells, true
}
