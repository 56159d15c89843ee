package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"waymark/catalog"
)

// Limits of a skill's front matter.
const skillName, skillDescription = 64, 1024

var notInSkillName = regexp.MustCompile(`[^a-z0-9]+`)

// Skill writes a capability as a skill: the name of its folder, and the SKILL.md in it, by which a model carries out the
// tasks itself, or has Waymark do so.
func Skill(c catalog.Capability) (name string, text []byte, err error) {
	if len(c.Tasks) == 0 {
		return "", nil, fmt.Errorf("capability %q has no tasks, so there are no steps to write down", c.ID)
	}
	if name = strings.Trim(notInSkillName.ReplaceAllString(strings.ToLower(c.Name), "-"), "-"); name == "" {
		name = strings.Trim(notInSkillName.ReplaceAllString(strings.ToLower(c.ID), "-"), "-")
	}
	if name = strings.Trim(name[:min(len(name), skillName)], "-"); name == "" {
		return "", nil, errors.New("neither the name nor the id of the capability has a letter that the name of a skill may have")
	}
	about := strings.TrimSpace(c.Description)
	if c.Intent != "" {
		about = strings.TrimSpace(about + " Use it to: " + c.Intent)
	}
	if about == "" {
		return "", nil, fmt.Errorf("capability %q has neither a description nor an intent, without which no skill is found", c.ID)
	}
	matter, err := yaml.Marshal(struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}{name, catalog.Cut(oneLine(about), skillDescription)})
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "---\n%s---\n\n# %s\n\n%s\n", matter, oneLine(c.Name), about)
	writeParameters(&b, c.InputSchema)
	b.WriteString("\n## Steps\n\n")
	for n, i := range inOrder(c.Tasks) {
		writeStep(&b, n+1, c.Tasks[i])
	}
	if len(c.Output) > 0 {
		fmt.Fprintf(&b, "\nThe result is %s.\n", said(c.Output))
	}
	fmt.Fprintf(&b, "\nWhere the MCP server `waymark` is connected, its tool `run_dag` does all steps in one call, with `capability` %s.\n", code(c.ID))
	return name, b.Bytes(), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

func writeParameters(b *bytes.Buffer, schema json.RawMessage) {
	var s struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return
	}
	b.WriteString("\n## Parameters\n\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, need := s.Properties[name], "optional"
		if slices.Contains(s.Required, name) {
			need = "required"
		}
		if p.Type != nil {
			need += fmt.Sprintf(", %v", p.Type)
		}
		fmt.Fprintf(b, "- %s (%s) %s\n", code(name), need, oneLine(p.Description))
	}
}

func writeStep(b *bytes.Buffer, n int, t catalog.Task) {
	fmt.Fprintf(b, "%d. Call %s (step %s).", n, code(t.Tool), code(t.ID))
	if len(t.DependsOn) > 0 {
		var after []string
		for _, d := range t.DependsOn {
			after = append(after, code(d))
		}
		fmt.Fprintf(b, " It comes after %s.", strings.Join(after, ", "))
	}
	if t.When != "" {
		fmt.Fprintf(b, " Only if %s.", code(t.When))
	}
	if t.OnError == catalog.OnErrorContinue {
		b.WriteString(" If it fails, go on without its result.")
	}
	b.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(t.Arguments)) {
		fmt.Fprintf(b, "   - %s: %s\n", code(name), said(t.Arguments[name]))
	}
}

// said is an argument in words: a reference, an expression or a value.
func said(v json.RawMessage) string {
	if path, ok := single(v, "$from"); ok {
		if parameter, ok := strings.CutPrefix(path, "params."); ok {
			return "the parameter " + code(parameter)
		}
		if step, field, ok := strings.Cut(path, ".result"); ok {
			if field = strings.TrimPrefix(field, "."); field != "" {
				return code(field) + " of the result of step " + code(step)
			}
			return "the result of step " + code(step)
		}
		return code(path)
	}
	if expression, ok := single(v, "$expr"); ok {
		return "the value of the expression " + code(expression)
	}
	return code(string(v))
}
