package rank

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"waymark/internal/numeric"
	"waymark/suggest/learn"
	"waymark/suggest/semantic"
)

// A kind is the way in which a fit asks a past task again. The plain history lacks situations that occur in use: tools
// that nobody used yet, other words, several tasks in one session, a history of ten tasks, requests that no tool
// serves.
//
//	recorded   as it was, through the history without its fold, a fifth of the tasks
//	cold       one of its tools is treated as one without history: only its text can find and rank it
//	reworded   in other words: some dropped, some replaced by words of the thesaurus
//	joined     after the tools of another task
//	short      through a history of only 0, 3, 10, 30 or 100 other tasks
//	far        through the history of the tasks with other rarest tools; near copies of its request may be in it
//	known      one sentence of a tool's own text in other words; the index of texts lacks this sentence
//	foreign    a request of another field: no tool is right
type kind int

const (
	recorded kind = iota
	cold
	reworded
	joined
	short
	far
	known
	foreign
	kinds
)

// mix holds the weight of each kind in the training data of each ranker: find for the tools that a request asks for,
// needs for those that its task uses, next for the next tool.
var mix = struct{ find, needs, next [kinds]float64 }{
	find:  [kinds]float64{recorded: .35, cold: .10, reworded: .15, short: .05, far: .05, known: .30},
	needs: [kinds]float64{recorded: .45, cold: .10, reworded: .20, short: .05, far: .15, foreign: .05},
	next:  [kinds]float64{recorded: .65, cold: .04, joined: .20, short: .05},
}

const (
	folds            = 5
	mostTasks        = 3_000 // maximum number of past tasks that a fit asks again
	mostPlaces       = 4_000 // expected maximum number of positions in tasks that a fit asks again
	mostBefore       = 20    // maximum number of steps of another task before those of a joined one
	shortTasks       = 60    // maximum number of tasks asked through each short history
	farTasks         = 600   // maximum number of tasks asked through the history of other kinds
	shortestSentence = 12    // minimum length of a sentence of kind known, in bytes
	mostKnown        = 400   // maximum number of tools that are asked for by a sentence of their text
	hardestWrong     = 10    // wrong rows of a question that are kept: those that the reference scores highest
	otherWrong       = 8
	mostPlans        = 1_500 // maximum number of requests that a fit plans for
)

// usualRows is the approximate number of rows of a question.
const usualRows = hardestWrong + otherWrong + 4

var shortSizes = [...]int{0, 3, 10, 30, 100}

// trainingCase holds questions with the same request and the same history.
type trainingCase struct {
	history   *History
	request   string
	questions []question
	fold      int // fold of its task; see held

	find, next examples

	task  *Task // the recorded task of the request; nil for other kinds
	pairs [2]cases
}

// examples holds training rows with the kinds and the folds of their questions.
type examples struct {
	learn.Rows
	times []float32 // by row, the number of candidates that it stands for
	kinds []kind    // by question; by row in the examples of needs
	folds []int     // likewise
	next  bool      // exactly one tool comes next; otherwise a question may have several right tools
}

func (x *examples) row(i int) []float32 {
	return x.Values[i*int(featureCount) : (i+1)*int(featureCount)]
}

// mask returns what is reports for each index of folds: a question or, in the examples of needs, a row.
func (x *examples) mask(is func(i int) bool) []bool {
	held := make([]bool, len(x.folds))
	for i := range held {
		held[i] = is(i)
	}
	return held
}

func (x *examples) append(o *examples) {
	for _, q := range o.Questions {
		x.Questions = append(x.Questions, q+int32(x.Len()))
	}
	x.Values, x.Right, x.kinds = append(x.Values, o.Values...), append(x.Right, o.Right...), append(x.kinds, o.kinds...)
	x.folds, x.times = append(x.folds, o.folds...), append(x.times, o.times...)
}

// add adds a table as a question: the right candidates and, of the wrong ones, the hardestWrong with the highest
// reference score and otherWrong of the rest, at equal distances in that order, each standing for several. A question
// without a right candidate does not teach the order of candidates. It is still added if it is held out (fold 0) or
// x.next is false: it then lowers the calibrated chances.
func (x *examples) add(t *Table, q *question, fold int) {
	right := slices.ContainsFunc(t.Tools, func(tool int32) bool { return slices.Contains(q.right, tool) })
	if len(t.Tools) == 0 || !right && fold != 0 && x.next {
		return
	}
	x.Questions = append(x.Questions, int32(x.Len()))
	x.kinds, x.folds = append(x.kinds, q.kind), append(x.folds, fold)
	add := func(i int, right, times float32) {
		x.Values, x.Right, x.times = append(x.Values, t.row(i)...), append(x.Right, right), append(x.times, times)
	}
	var wrong []Ranked // Tool is the index in the table
	for i, tool := range t.Tools {
		if slices.Contains(q.right, tool) {
			add(i, 1, 1)
		} else if !slices.Contains(q.open, tool) {
			wrong = append(wrong, Ranked{int32(i), float64(t.row(i)[Reference])})
		}
	}
	wrong = best(wrong, len(wrong))
	others := wrong[min(hardestWrong, len(wrong)):]
	for _, w := range wrong[:len(wrong)-len(others)] {
		add(int(w.Tool), 0, 1)
	}
	n := min(otherWrong, len(others))
	distance := float64(len(others)) / float64(max(1, n))
	from := float64(float64(key(t.Tools...)>>11) / (1 << 53))
	for i := range n {
		at := float64((float64(i) + from) * distance)
		add(int(others[int(at)].Tool), 0, float32(distance))
	}
}

// needs returns the rows of the questions that the ranker of needed tools learns from, with the feature Found by the
// ranker that was not fitted on them. Each row stands alone, with a kind and a fold of its own. The values of x, which
// take most of the memory of a fit, are moved.
func (x *examples) needs(finders [2]*ranker) *examples {
	numeric.Each(len(x.kinds), func(q int) {
		from, to := x.Question(q)
		finders[x.folds[q]%2].setFound(x.Values[from*x.Features:to*x.Features], x.times[from:to])
	})
	n := &examples{Rows: learn.Rows{Features: x.Features, Rising: x.Rising, Values: x.Values[:0]}}
	for q, k := range x.kinds {
		if mix.needs[k] == 0 {
			continue
		}
		from, to := x.Question(q)
		n.Values = append(n.Values, x.Values[from*x.Features:to*x.Features]...)
		n.Right, n.times = append(n.Right, x.Right[from:to]...), append(n.times, x.times[from:to]...)
		for range to - from {
			n.kinds, n.folds = append(n.kinds, k), append(n.folds, x.folds[q])
		}
	}
	n.Weight = weights(n.kinds, n.times, mix.needs)
	return n
}

// question asks which tool comes next after a context or, without one, which tools the request needs.
type question struct {
	kind    kind
	context []int32
	right   []int32
	hidden  int32
	open    []int32 // tools that are neither right nor wrong
	plain   bool    // the request is not used
}

// mixture draws the exams of a fit.
type mixture struct {
	texts  *Texts
	tasks  []*Task
	random *rand.Rand
	words  *rewording
	exams  []*trainingCase

	plans []trainingCase // requests with the tools that their tasks used
	pairs [2]*cases      // pairs of tools of tasks: which tool came first, and which are linked
}

// draw draws all exams. It returns false soon after o.Stop returns true.
func (m *mixture) draw(without [folds]*History, all *History, o Options) bool {
	order := m.random.Perm(len(m.tasks))
	places := 0
	for _, t := range m.tasks {
		places += max(0, len(t.Steps)-1)
	}
	share := min(1, mostPlaces/float64(max(1, places)))
	for i, k := range order {
		t := m.tasks[k]
		h := without[t.fold]
		var questions []question
		for at := 1; at < len(t.Steps); at++ {
			if m.random.Float64() < share {
				questions = append(questions, m.drawNext(t, at)...)
			}
		}
		if t.Intent != "" && i < mostTasks {
			questions = append(questions, needs(recorded, t))
			if m.random.IntN(3) == 0 {
				q := needs(cold, t)
				q.hidden = t.Steps[m.random.IntN(len(t.Steps))]
				questions = append(questions, q)
			}
			if m.random.IntN(3) == 0 {
				m.add(h, m.words.text(t.Intent, m.random), t.fold, needs(reworded, t))
			}
		}
		m.add(h, t.Intent, t.fold, questions...)
		if i < mostTasks && t.Intent != "" {
			m.exams[len(m.exams)-1].task = t
		}
	}
	m.drawKnown(without)
	for i, text := range foreignRequests() {
		m.add(without[i%folds], text, i%folds, question{kind: foreign, hidden: -1})
	}
	return m.drawShort(order, o) && m.drawFar(all, o)
}

func (m *mixture) add(h *History, request string, fold int, questions ...question) {
	if len(questions) > 0 {
		m.exams = append(m.exams, &trainingCase{history: h, request: request, fold: fold, questions: questions})
	}
}

// needs returns a question for the tools that the request of a task needs.
func needs(k kind, t *Task) question { return question{kind: k, right: t.needs(), hidden: -1} }

// drawNext returns questions for the tool at position at of a task, with and without its request. At random positions
// it adds questions in which the right tool has no history, or in which the context follows the tools of another task.
func (m *mixture) drawNext(t *Task, at int) []question {
	q := question{kind: recorded, context: t.Steps[:at], right: t.Steps[at : at+1], hidden: -1}
	plain := q
	plain.plain = true
	all := []question{plain, q}
	if m.random.IntN(4) == 0 {
		without := q
		without.kind, without.hidden, without.plain = cold, t.Steps[at], t.Intent == ""
		all = append(all, without)
	}
	if other := m.tasks[m.random.IntN(len(m.tasks))]; m.random.IntN(3) == 0 && other.Group != t.Group {
		before := other.Steps
		q.kind, q.context = joined, slices.Concat(before[max(0, len(before)-mostBefore):], q.context)
		plain.kind, plain.context = joined, q.context
		all = append(all, plain, q)
	}
	return all
}

// drawShort adds questions about tasks that are asked through short histories of other tasks.
func (m *mixture) drawShort(order []int, o Options) bool {
	for _, n := range shortSizes {
		if n >= len(order) {
			break
		}
		var past []*Task
		groups := map[uint64]bool{}
		for _, i := range order[:n] {
			past = append(past, m.tasks[i])
			groups[m.tasks[i].Group] = true
		}
		h := Count(m.texts, past, o.Stop)
		if h == nil {
			return false
		}
		for _, i := range order[n:min(len(order), n+shortTasks)] {
			t := m.tasks[i]
			if groups[t.Group] {
				continue
			}
			var questions []question
			if t.Intent != "" {
				questions = append(questions, needs(short, t))
			}
			if len(t.Steps) > 1 {
				at := 1 + m.random.IntN(len(t.Steps)-1)
				questions = append(questions, question{kind: short, context: t.Steps[:at], right: t.Steps[at : at+1], hidden: -1, plain: t.Intent == ""})
			}
			m.add(h, t.Intent, t.fold, questions...)
		}
	}
	return true
}

// drawFar divides the tasks by their rarest tool into as many parts as folds, takes the part nearest to a fifth of all
// tasks, and asks its tasks through the history of the other parts.
func (m *mixture) drawFar(all *History, o Options) bool {
	var parts [folds][]*Task
	for _, t := range m.tasks {
		if len(t.set) == 0 {
			continue
		}
		rarest := slices.MinFunc(t.set, func(a, b int32) int { return cmp.Or(cmp.Compare(all.within[a], all.within[b]), cmp.Compare(a, b)) })
		parts[rarest%folds] = append(parts[rarest%folds], t)
	}
	size := func(k int) int { d := len(parts[k])*folds - len(m.tasks); return max(d, -d) }
	chosen := slices.MinFunc([]int{0, 1, 2, 3, 4}, func(a, b int) int { return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a, b)) })
	var others []*Task
	for k, part := range parts {
		if k != chosen {
			others = append(others, part...)
		}
	}
	h := Count(m.texts, others, o.Stop)
	if h == nil {
		return false
	}
	for i, k := range m.random.Perm(len(parts[chosen])) {
		if t := parts[chosen][k]; t.Intent != "" && i < farTasks {
			m.add(h, t.Intent, t.fold, needs(far, t))
		}
	}
	return true
}

// drawKnown adds questions for tools by the first sentence of their text, which is removed from the texts that the
// request is matched with. It uses the same histories as the other exams: the popularity of an unused tool depends on
// the size of the history, so from histories of their own the trees could recognise these questions. Each sentence is
// asked twice, once with the tool hidden.
func (m *mixture) drawKnown(without [folds]*History) {
	tools := slices.Clone(m.texts.tools)
	sentences := make([]string, len(tools))
	for i := range tools {
		sentences[i], tools[i].Text = firstSentence(tools[i].Text)
	}
	texts := m.texts.with(tools, nil)
	for n, i := range m.random.Perm(len(tools)) {
		if n == mostKnown {
			break
		}
		if len(sentences[i]) < shortestSentence {
			continue
		}
		h := *without[i%folds]
		h.texts = texts
		for _, hidden := range []int32{-1, int32(i)} {
			q := question{kind: known, right: []int32{int32(i)}, hidden: hidden, open: m.texts.closure[i]}
			m.add(&h, m.words.text(sentences[i], m.random), i%folds, q)
		}
	}
}

// held reports whether the exam is held out: numbers of trees are chosen on such exams.
func (e *trainingCase) held() bool { return e.fold == 0 }

// half returns the part of the tasks that an exam belongs to: 0 for even folds, 1 for odd ones.
func (e *trainingCase) half() int { return e.fold % 2 }

func firstSentence(text string) (sentence, rest string) {
	for i, r := range text {
		if i > 0 && (r == '\n' || r == '.' && (i+1 == len(text) || strings.ContainsRune(" \n\t", rune(text[i+1])))) {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// rows asks all exams and returns their rows for the rankers, in the order of the exams.
func (m *mixture) rows(o Options) (find, next *examples) {
	find, next = &examples{}, &examples{next: true}
	var n [2]int // questions without a context, and with one
	for _, e := range m.exams {
		for _, q := range e.questions {
			n[min(1, len(q.context))]++
		}
	}
	find.Values = make([]float32, 0, n[0]*usualRows*int(featureCount))
	next.Values = make([]float32, 0, n[1]*usualRows*int(featureCount))
	for part := range slices.Chunk(m.exams, 256) { // only the rows of one chunk exist twice
		numeric.Each(len(part), func(i int) {
			if !o.Stop() {
				part[i].ask()
			}
		})
		for _, e := range part {
			find.append(&e.find)
			next.append(&e.next)
			m.keep(e)
			*e = trainingCase{}
		}
	}
	for _, x := range []*examples{find, next} {
		x.Features, x.Rising = int(featureCount), rising
	}
	find.Weight, next.Weight = weights(find.kinds, nil, mix.find), weights(next.kinds, nil, mix.next)
	return find, next
}

// keep keeps the pairs of an exam and the requests that plans are learned from.
func (m *mixture) keep(e *trainingCase) {
	for i := range e.pairs {
		m.pairs[i].append(&e.pairs[i])
	}
	for _, q := range e.questions {
		if q.context == nil && q.hidden < 0 && (q.kind == recorded || q.kind == reworded || q.kind == short || q.kind == far) && len(m.plans) < mostPlans {
			m.plans = append(m.plans, trainingCase{history: e.history, request: e.request, fold: e.fold, questions: []question{q}})
		}
	}
}

// weights returns weights that give each kind at most its share; none is larger than its entry of times, or 1 if times
// is nil.
func weights(of []kind, times []float32, share [kinds]float64) []float32 {
	w := make([]float32, len(of))
	var n [kinds]float64
	all := 0.0
	for i, k := range of {
		if w[i] = 1; times != nil {
			w[i] = times[i]
		}
		n[k], all = n[k]+float64(w[i]), all+float64(w[i])
	}
	whole := max(n[recorded]/share[recorded], all/4)
	for i, k := range of {
		w[i] *= float32(min(1, share[k]*whole/n[k]))
	}
	return w
}

// ask computes the rows of an exam.
func (e *trainingCase) ask() {
	var r *request
	if e.request != "" {
		r = e.history.request(e.request, nil)
		defer r.close()
		e.addPairs(r)
	}
	for _, q := range e.questions {
		from := r
		if q.plain || r == nil {
			if from = nil; q.context == nil || !q.plain && r == nil {
				continue
			}
		}
		t := e.history.table(tableInput{q.context, from, q.hidden, nil})
		if q.context != nil {
			e.next.add(t, &q, e.fold)
			continue
		}
		e.find.add(t, &q, e.fold)
	}
}

// rewording rewords requests.
type rewording struct {
	texts       *Texts
	tasks       map[string]int     // by stem, the number of requests with it
	association map[string]float64 // by stem, its strongest association with a tool, times how often both occur together
}

func newRewording(texts *Texts, tasks []*Task, all *History) *rewording {
	r := &rewording{texts: texts, tasks: map[string]int{}, association: map[string]float64{}}
	for _, t := range tasks {
		for _, s := range distinct(semantic.Stems(t.Intent)) {
			r.tasks[s]++
			if f, ok := texts.vocabulary.Feature(s); ok && r.association[s] == 0 {
				row := all.words.rows[uint64(f)]
				for i := row.from; i < row.to; i++ {
					r.association[s] = max(r.association[s], all.association[i]*float64(all.words.n[i]))
				}
			}
		}
	}
	return r
}

// text returns a request as another person may word it. It keeps the three to six rarest words, or the words that texts
// of tools have, or the 40 to 70 % that tell least about the tool, or each word with probability ½. Then it replaces
// each word that has synonyms by one of them with probability ½.
func (r *rewording) text(request string, random *rand.Rand) string {
	words := semantic.Parts(request)
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	switch random.IntN(4) {
	case 3:
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(r.association[stem(words[a])], r.association[stem(words[b])]), cmp.Compare(a, b))
		})
		order = order[:max(1, len(order)*(4+random.IntN(4))/10)]
		slices.Sort(order)
	case 0:
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(r.tasks[stem(words[a])], r.tasks[stem(words[b])]), cmp.Compare(a, b))
		})
		order = order[:min(len(order), 3+random.IntN(4))]
		slices.Sort(order)
	case 1:
		unknown := r.texts.matcher.IDF("")
		order = slices.DeleteFunc(order, func(i int) bool { return r.texts.matcher.IDF(stem(words[i])) == unknown })
	default:
		order = slices.DeleteFunc(order, func(int) bool { return random.IntN(2) == 0 })
	}
	var kept []string
	for _, i := range order {
		word := words[i]
		if others := r.texts.others[stem(word)]; len(others) > 0 && random.IntN(2) == 0 {
			word = others[random.IntN(len(others))]
		}
		kept = append(kept, word)
	}
	if len(kept) == 0 {
		return request
	}
	return strings.Join(kept, " ")
}

func stem(word string) string {
	if stems := semantic.Stems(word); len(stems) > 0 {
		return stems[0]
	}
	return word
}
