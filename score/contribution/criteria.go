package contribution

import (
	_ "embed"
	"slices"
	"sync"

	"waymark/score/rubric"
)

// A Role is who contributes.
type Role string

const (
	HypothesisGenerator Role = "hypothesis_generator"
	testDesigner        Role = "test_designer"
	adversarialCritic   Role = "adversarial_critic"
)

// Roles are all of them.
var Roles = []Role{HypothesisGenerator, testDesigner, adversarialCritic}

func (r Role) check(place string) error {
	if !slices.Contains(Roles, r) {
		return rubric.Refuse(place, "unknown role %s: want %s, %s or %s", quoted(string(r)), Roles[0], Roles[1], Roles[2])
	}
	return nil
}

//go:embed contribution.yaml
var source []byte

// base has all criteria; the rubric of a role is base with the universal criteria and those of the role.
var base = rubric.MustLoad(source).Definition()

var universal = []string{"structural", "citation", "rationale"}

// criterionNames are the names of all criteria, whatever the role.
var criterionNames = func() []string {
	names := make([]string, len(base.Dimensions))
	for i, d := range base.Dimensions {
		names[i] = d.Name
	}
	return names
}()

// criteriaOf returns the criteria of a role in the order of base.
func criteriaOf(r Role) []rubric.Dimension {
	criteria, _ := byRole()
	return criteria[r]
}

// byRole are the criteria and the rubric of each role.
var byRole = sync.OnceValues(func() (map[Role][]rubric.Dimension, map[Role]*rubric.Rubric) {
	lists, byRole := map[Role][]rubric.Dimension{}, map[Role]*rubric.Rubric{}
	for _, role := range Roles {
		for _, d := range base.Dimensions {
			if slices.Contains(universal, d.Name) || slices.Contains(tables().Roles[role].Criteria, d.Name) {
				lists[role] = append(lists[role], d)
			}
		}
		def := base
		def.ID, def.Title, def.Dimensions = "contribution."+string(role), "Contribution of a "+string(role), lists[role]
		byRole[role] = rubric.MustNew(def)
	}
	return lists, byRole
})

func rubrics() map[Role]*rubric.Rubric {
	_, rubrics := byRole()
	return rubrics
}
