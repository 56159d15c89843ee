package next

// back is how far back a step is looked for that another came after.
const back = 32

// Sources are the steps that the steps of a context came after, as far as its tools tell. Its zero value
// is ready for [History.Guess].
type Sources struct {
	Parents [][]int32 // of each step the one it came after, if any

	from []int32
}

// Guess works out what the steps of a context came after. A context says which tools were used, in order,
// and not what each step came after: in a history of chains the step before, else the latest of the
// steps whose tools most often led there.
//
// Weights are fitted to such guesses, too, though tasks of a history know better: what was asked
// of them would else be trusted more than what is guessed deserves.
func (h *History) Guess(tools []int32, s *Sources) {
	s.Parents, s.from = s.Parents[:0], append(s.from[:0], make([]int32, len(tools))...)
	chains := h.chains()
	for i, t := range tools {
		from, most := i-1, int32(0)
		for j := i - 1; !chains && j >= max(0, i-back); j-- {
			if n := h.after.first[tools[j]].N(t) + h.after.more[tools[j]].N(t); n > most {
				from, most = j, n
			}
		}
		if s.from[i] = int32(from); from < 0 {
			s.Parents = append(s.Parents, nil)
		} else {
			s.Parents = append(s.Parents, s.from[i:i+1:i+1])
		}
	}
}

// chains reports whether fewer than a quarter of the tasks branch.
func (h *History) chains() bool { return 4*h.branching < len(h.tasks) }

// branches reports whether a task has several beginnings, or a step that came after several.
func branches(parents [][]int32) bool {
	roots := 0
	for _, from := range parents {
		if len(from) > 1 {
			return true
		}
		if len(from) == 0 {
			roots++
		}
	}
	return roots > 1
}
