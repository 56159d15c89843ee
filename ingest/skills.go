package ingest

import (
	"bytes"
	"cmp"
	"errors"
	"path"

	"go.yaml.in/yaml/v3"

	"waymark/catalog"
)

// SkillFile is what a folder that holds a skill has. Its front matter names and describes the skill; what stands below is
// instructions for a model and is not taken.
//
//	---
//	name: quarterly-report
//	description: Builds the report of a quarter. Use it when …
//	---
const SkillFile = "SKILL.md"

// SkillTag is the tag of capabilities that are skills: they are found, and cannot be run by Waymark.
const SkillTag = "skill"

func decodeSkills(in *input, emit func(Item) bool) error {
	return in.eachFile("skills", []string{".md"}, func(name string) (more bool, err error) {
		text, err := in.readAll(name)
		if err != nil {
			return false, err
		}
		it := Item{File: name, Line: 1, Kind: KindCapability}
		var front struct {
			Name        string `yaml:"name"`
			Description string `yaml:"description"`
		}
		matter, ok := frontMatter(text)
		err = yaml.Unmarshal(matter, &front)
		switch {
		case !ok:
			err = errors.New("it has no front matter between two lines of ---")
		case err == nil && front.Description == "":
			err = errors.New("its front matter has no description")
		}
		folder := path.Base(path.Dir(name))
		if folder == "." {
			folder = in.folder
		}
		front.Name = cmp.Or(front.Name, folder)
		if it.ID = catalog.ID(SkillTag, front.Name); err != nil {
			it.drop(err.Error())
			return emit(it), nil
		}
		it.Capability = &catalog.Capability{ID: it.ID, Name: front.Name, Description: front.Description, Tools: []string{}, Tags: []string{SkillTag}}
		return emit(it), nil
	})
}

// frontMatter is what stands between the first line of a text, ---, and the next such line.
func frontMatter(text []byte) (matter []byte, ok bool) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	if !ok {
		return nil, false
	}
	if end := bytes.Index(append([]byte("\n"), rest...), []byte("\n---")); end >= 0 {
		return rest[:end], true
	}
	return nil, false
}
