package history

import "waymark/catalog"

// demotion is the share that a match with the text of a demoted tool counts for: its text is a list of keywords, or one
// of many copies by one server. Such a text says less about what the tool does than it seems to.
const demotion = 0.5

// TextWeight is the share that a match with the text of a node counts for.
func (c *Counts) TextWeight(n int32) float64 {
	if c.Roles.demoted()[n] {
		return demotion
	}
	return 1
}

// demotedIn reads all descriptions of a catalog.
func (r *Roles) demotedIn(view *Catalog) map[int32]bool {
	nodes := map[int32]bool{}
	for i, e := range view.Schemas {
		if e.look(); e.stuffed {
			nodes[r.Tools[i]] = true
		}
	}
	for i := range catalog.Copies(len(view.Schemas), func(i int) (server, shape string) { return view.Tools[i].Server, view.Schemas[i].shape }) {
		nodes[r.Tools[i]] = true
	}
	return nodes
}

// look reads the description once; an entry lives as long as its tool is not changed.
func (e *Schemas) look() {
	e.looked.Do(func() { e.stuffed, e.shape = catalog.Stuffed(e.Description), catalog.Shape(e.Description) })
}
