package history

import "waymark/catalog"

// demotion is the weight of a match with the text of a demoted tool, which is a list of keywords or one of many copies
// on one server. Such a text describes the tool less well than it seems to.
const demotion = 0.5

// TextWeight returns the weight of a match with the text of a node.
func (c *Counts) TextWeight(n int32) float64 {
	if c.Roles.demoted()[n] {
		return demotion
	}
	return 1
}

// demotedIn returns the nodes of the demoted tools of a catalog.
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

// look analyses the description once: an entry is replaced when its tool changes.
func (e *Schemas) look() {
	e.looked.Do(func() { e.stuffed, e.shape = catalog.Stuffed(e.Description), catalog.Shape(e.Description) })
}
