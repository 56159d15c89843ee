package contribution

import (
	"fmt"
	"slices"
	"strings"
)

// A finding is what the rules see of one criterion: a score that they can stand behind, the highest score
// that they cannot exclude, what they saw, and, where the two scores differ, what a person has to look at.
type finding struct {
	score, upper int
	saw          string
	ask          string
}

func sure(score int, format string, args ...any) finding {
	return finding{score, score, fmt.Sprintf(format, args...), ""}
}

func (f finding) orUpTo(upper int, ask string) finding {
	if upper > f.score {
		f.upper, f.ask = upper, ask
	}
	return f
}

// best is the finding of the largest score, then of the largest upper one, then the first in words.
func best(list []finding) finding {
	return slices.MaxFunc(list, func(a, b finding) int {
		if a.score != b.score {
			return a.score - b.score
		}
		if a.upper != b.upper {
			return a.upper - b.upper
		}
		return strings.Compare(b.saw, a.saw)
	})
}

// A scene is what a delta is judged in: the valid deltas of its message, the transcript, the artifact.
type scene struct {
	deltas   []*Delta
	anchors  *corpus
	artifact *Artifact
	whole    map[string]finding // of the message, where that is what a criterion looks at
}

// once finds what belongs to the message, whichever delta asks.
func (s *scene) once(name string, look func() finding) finding {
	f, known := s.whole[name]
	if !known {
		f = look()
		s.whole[name] = f
	}
	return f
}

// criterionRules find the score of a delta. Those of messageRules belong to the message, whichever delta asks.
var (
	criterionRules = map[string]func(*scene, *Delta) finding{
		"structural":           func(_ *scene, d *Delta) finding { return structure(d) },
		"citation":             func(s *scene, d *Delta) finding { return citation(d, s.anchors) },
		"rationale":            func(_ *scene, d *Delta) finding { return rationale(d) },
		"level_separation":     func(_ *scene, d *Delta) finding { return levels(d) },
		"paradox":              func(_ *scene, d *Delta) finding { return paradox(d) },
		"discriminative":       (*scene).discriminative,
		"potency":              (*scene).potency,
		"object_transposition": func(_ *scene, d *Delta) finding { return transposition(d) },
		"calibration":          func(_ *scene, d *Delta) finding { return calibration(d) },
		"kill_justification":   func(_ *scene, d *Delta) finding { return killing(d) },
	}
	messageRules = map[string]func(*scene) finding{
		"third_alternative":      (*scene).thirdAlternative,
		"scale_check":            func(s *scene) finding { return s.bestOf(scaleCheck) },
		"quarantine":             func(s *scene) finding { return s.bestOf(quarantine) },
		"real_third_alternative": func(s *scene) finding { return s.bestOf(realThird) },
	}
)

// automatic scores one criterion of a valid delta by rule.
func (s *scene) automatic(name string, d *Delta) finding {
	if rule := messageRules[name]; rule != nil {
		return s.once(name, func() finding { return rule(s) })
	}
	return criterionRules[name](s, d)
}

// bestOf is the best finding among the deltas of the message. Whether something is there at all is asked
// of the contribution: a critic who quarantines an anomaly in one delta and does the scale check in the
// next has done both.
func (s *scene) bestOf(look func(*Delta) finding) finding {
	list := make([]finding, len(s.deltas))
	for i, d := range s.deltas {
		list[i] = look(d)
	}
	return best(list)
}

// words are everything a delta says.
func (d *Delta) words() string {
	return strings.Join(append(d.Payload.words(), d.Rationale), "\n")
}
