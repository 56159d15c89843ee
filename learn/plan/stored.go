package plan

import (
	"waymark/internal/codec"
	"waymark/learn/calibrate"
	"waymark/learn/labels"
	"waymark/learn/logit"
	"waymark/semantic"
	"waymark/semantic/thesaurus"
)

// Write writes the texts for [ReadTexts]: the tools and the indexes that are slow to compute.
func (t *Texts) Write(w *codec.Writer) {
	for _, field := range []func(Tool) string{
		func(t Tool) string { return t.Name }, func(t Tool) string { return t.Text },
		func(t Tool) string { return t.Properties }, func(t Tool) string { return t.Server },
	} {
		list := make([]string, len(t.tools))
		for i, tool := range t.tools {
			list[i] = field(tool)
		}
		w.Texts(list)
	}
	t.docs.Write(w)
	t.servers.Write(w)
}

// ReadTexts reads what [Texts.Write] wrote. It answers as the texts written, bit by bit. What is damaged
// fails r.
func ReadTexts(r *codec.Reader) *Texts {
	names, texts, properties, servers := r.Texts(), r.Texts(), r.Texts(), r.Texts()
	n := len(names)
	if len(texts) != n || len(properties) != n || len(servers) != n {
		r.Fail("%d names, %d texts, %d properties and %d servers", n, len(texts), len(properties), len(servers))
		return NewTexts(nil)
	}
	t := &Texts{tools: make([]Tool, n)}
	for i := range t.tools {
		t.tools[i] = Tool{names[i], texts[i], properties[i], servers[i]}
	}
	t.docs, t.servers = semantic.ReadIndex(r), semantic.ReadIndex(r)
	if r.Err() == nil {
		t.index()
		t.meaning = t.docs.Matcher(thesaurus.Default(), nil)
	}
	if t.docs.Len() != n || t.servers.Len() != len(t.mates) {
		r.Fail("indexes of %d tools and %d servers, where there are %d and %d", t.docs.Len(), t.servers.Len(), n, len(t.mates))
	}
	if r.Err() != nil {
		return NewTexts(nil)
	}
	return t
}

// Write writes the model for [Read], without the texts of the tools.
func (m *Model) Write(w *codec.Writer) {
	w.Bool(m.needs != nil)
	if m.needs != nil {
		writeLists(w, m.needs)
	}
	w.Bool(m.chains)
	w.Ints(m.dense.tool)
	w.Uint(uint64(len(m.groups)))
	for i := range m.groups {
		g := &m.groups[i]
		writeLabels(w, g.tools)
		writeLabels(w, g.misled)
		from, to, values := make([]int32, len(g.links)), make([]int32, len(g.links)), make([]float64, len(g.links))
		for k, l := range g.links {
			from[k], to[k], values[k] = l.from, l.to, l.value
		}
		w.Ints(from)
		w.Ints(to)
		w.Floats(values)
		writeLabels(w, m.pastSets.groupSets[i])
	}
	m.view.write(w)
	m.content.write(w)
	if m.needs != nil {
		m.sinkRow.Write(w)
	}
	w.Float(m.n)
	w.Float(m.recentN)
	w.Floats(m.uses)
	w.Floats(m.recent)
	w.Floats(m.served)
	w.Float(m.failed)
	w.Floats(m.misled)
	m.related.write(w)
	w.Uint(uint64(len(m.pastSets.pasts)))
	for i := range m.pastSets.pasts {
		w.Ints(m.pastSets.pasts[i].tools)
		w.Float(m.pastSets.pasts[i].count)
	}
	for k, kind := range m.kinds {
		m.sure[k].Write(w)
		kind.first.Write(w)
		kind.second.Write(w)
		kind.chooser.Write(w)
		if m.needs != nil {
			kind.target.Write(w)
		}
	}
	m.gate.Write(w)
	m.linker.Write(w)
}

// Read reads what [Model.Write] wrote of a model over texts. It answers as the model written, bit by
// bit. What is damaged, or belongs to other texts, fails r; what is then returned knows no history.
func Read(r *codec.Reader, texts *Texts) *Model {
	m := &Model{texts: texts}
	n := len(texts.tools)
	if r.Bool() {
		m.needs = readLists(r, n)
		if len(m.needs) != n {
			r.Fail("needs of %d tools, where there are %d", len(m.needs), n)
		}
	}
	m.chains = r.Bool()
	m.dense.tool = readTools(r, n)
	m.dense.label = make([]int32, n)
	for t := range m.dense.label {
		m.dense.label[t] = -1
	}
	for l, t := range m.dense.tool {
		if m.dense.label[t] >= 0 {
			r.Fail("tool %d has two labels", t)
		}
		m.dense.label[t] = int32(l)
	}
	m.servers()
	if !m.readGroups(r) {
		return Fit(texts, nil, nil)
	}
	m.view = readView(r, len(m.groups), m.dense.labels)
	m.content = readView(r, len(m.groups), len(m.dense.tool))
	if m.needs != nil {
		m.sinkRow = labels.ReadRidge(r, m.vocab.Len(), len(m.dense.tool))
	}
	m.n, m.recentN = r.Float(), r.Float()
	m.uses, m.recent, m.served = r.Floats(), r.Floats(), r.Floats()
	m.failed, m.misled = r.Float(), r.Floats()
	if len(m.uses) != n || len(m.misled) != n || len(m.recent) != n || len(m.served) != len(texts.mates) {
		r.Fail("counts of %d and %d tools and %d servers, where there are %d and %d", len(m.uses), len(m.recent), len(m.served), n, len(texts.mates))
	}
	m.related = readRelations(r, n)
	m.readPasts(r)
	base := len(baseNames)
	for k := range m.kinds {
		m.sure[k] = calibrate.Read(r)
		m.kinds[k] = weights{first: logit.Read(r, base), second: logit.Read(r, base+len(nextNames)), chooser: logit.Read(r, len(setNames))}
		if m.needs != nil {
			m.kinds[k].target = logit.Read(r, base)
		}
	}
	m.gate, m.linker = logit.Read(r, familiarities), logit.Read(r, len(linkNames))
	if r.Err() != nil {
		return Fit(texts, nil, nil)
	}
	m.close()
	m.indexSets()
	m.countRates()
	return m
}

// readGroups reads the groups of requests and their labels. It returns false where they are damaged, having failed r.
func (m *Model) readGroups(r *codec.Reader) bool {
	m.groups = make([]group, r.Len(6))
	m.pastSets.groupSets, m.y = make([][]labels.Label, len(m.groups)), make([][]labels.Label, len(m.groups))
	for i := range m.groups {
		g := &m.groups[i]
		g.tools, g.misled = readLabels(r), readLabels(r)
		for _, l := range g.tools {
			if l.Label < 0 || int(l.Label) >= len(m.texts.tools) || m.dense.label[l.Label] < 0 {
				r.Fail("a request used tool %d, which no request used", l.Label)
				return false
			}
			m.y[i] = append(m.y[i], labels.Label{Label: m.dense.label[l.Label], Value: l.Value})
		}
		from, to, values := readTools(r, len(m.texts.tools)), readTools(r, len(m.texts.tools)), r.Floats()
		if len(from) != len(to) || len(values) != len(to) {
			r.Fail("links of %d, %d and %d", len(from), len(to), len(values))
			return false
		}
		for k := range from {
			g.links = append(g.links, link{from[k], to[k], values[k]})
		}
		m.pastSets.groupSets[i] = readLabels(r)
	}
	return true
}

// readPasts reads the distinct sets of tools and checks that they are sorted, which their keys rely on, and that the
// groups refer to sets that exist.
func (m *Model) readPasts(r *codec.Reader) {
	m.pastSets.pasts = make([]past, r.Len(9))
	for i := range m.pastSets.pasts {
		m.pastSets.pasts[i] = past{tools: readTools(r, len(m.texts.tools)), count: r.Float()}
		for k := 1; k < len(m.pastSets.pasts[i].tools); k++ {
			if m.pastSets.pasts[i].tools[k-1] >= m.pastSets.pasts[i].tools[k] {
				r.Fail("a set that is not in order")
			}
		}
	}
	for _, sets := range m.pastSets.groupSets {
		for _, s := range sets {
			if s.Label < 0 || int(s.Label) >= len(m.pastSets.pasts) {
				r.Fail("%d is not one of %d sets", s.Label, len(m.pastSets.pasts))
			}
		}
	}
}

// write stores three values for each pair, in the order of b.
func (r *relations) write(w *codec.Writer) {
	w.Ints(r.start)
	w.Ints(r.b)
	values := make([]float64, 0, 3*len(r.is))
	for _, x := range r.is {
		values = append(values, x.both, x.linked, x.before)
	}
	w.Floats(values)
}

// readRelations checks that the rows are consecutive and inside b: later code uses them without checks.
func readRelations(r *codec.Reader, tools int) relations {
	x := relations{start: r.Ints(), b: readTools(r, tools)}
	values := r.Floats()
	if len(x.start) != tools+1 || x.start[0] != 0 || int(x.start[tools]) != len(x.b) || len(values) != 3*len(x.b) {
		r.Fail("rows of %d tools with %d relations and %d values", len(x.start)-1, len(x.b), len(values))
		return relations{start: make([]int32, tools+1)}
	}
	for t := range tools {
		if x.start[t] > x.start[t+1] {
			r.Fail("the relations of tool %d end before they begin", t)
			return relations{start: make([]int32, tools+1)}
		}
	}
	x.is = make([]relation, len(x.b))
	for i := range x.is {
		x.is[i] = relation{values[3*i], values[3*i+1], values[3*i+2]}
	}
	return x
}

// readTools reads numbers of tools; those that are none fail r and are dropped.
func readTools(r *codec.Reader, n int) []int32 {
	list := r.Ints()
	for _, t := range list {
		if t < 0 || int(t) >= n {
			r.Fail("%d is not one of %d tools", t, n)
			return nil
		}
	}
	return list
}

func writeLists(w *codec.Writer, lists [][]int32) {
	w.Uint(uint64(len(lists)))
	for _, l := range lists {
		w.Ints(l)
	}
}

func readLists(r *codec.Reader, n int) [][]int32 {
	lists := make([][]int32, r.Len(1))
	for i := range lists {
		lists[i] = readTools(r, n)
	}
	return lists
}

// writeLabels stores numbers and values as two lists.
func writeLabels(w *codec.Writer, list []labels.Label) {
	numbers, values := make([]int32, len(list)), make([]float64, len(list))
	for i, l := range list {
		numbers[i], values[i] = l.Label, l.Value
	}
	w.Ints(numbers)
	w.Floats(values)
}

// readLabels reads what writeLabels wrote.
func readLabels(r *codec.Reader) []labels.Label {
	numbers, values := r.Ints(), r.Floats()
	if len(numbers) != len(values) {
		r.Fail("%d labels with %d values", len(numbers), len(values))
		return nil
	}
	list := make([]labels.Label, len(numbers))
	for i, l := range numbers {
		list[i] = labels.Label{Label: l, Value: values[i]}
	}
	return list
}
