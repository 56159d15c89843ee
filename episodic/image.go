package episodic

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// An Image is a memory at one moment, to be encoded. It shares the memory's rows, which the memory copies before it changes
// them.
type Image struct {
	Rows          [][]tally
	Epoch, Newest time.Time
	Sources       []int32
}

// Image returns the memory as it is now, at the cost of one pass over the tools.
func (m *Memory) Image() *Image {
	clear(m.own)
	return &Image{slices.Clone(m.rows), m.epoch, m.newest, slices.Sorted(maps.Keys(m.sources))}
}

// Memory returns the memory of an image, of at most so many tools and sources.
func (i *Image) Memory(tools, sources int) (*Memory, error) {
	if len(i.Rows) > tools {
		return nil, errors.New("outcomes of more tools than there are")
	}
	m := NewMemory()
	m.epoch, m.newest = i.Epoch, i.Newest
	for _, s := range i.Sources {
		m.sources[s] = true
	}
	for tool, row := range i.Rows {
		if len(row) == 0 {
			continue
		}
		last := NoTool - 1
		for _, t := range row {
			wrong := t.Before <= last || int(t.Before) >= tools || len(t.By) == 0
			for k, by := range t.By { // they rise, which joinSources relies on
				wrong = wrong || by.Source < 0 || int(by.Source) >= sources || k > 0 && by.Source <= t.By[k-1].Source
			}
			if last = t.Before; wrong || row[0].Before != NoTool {
				return nil, errors.New("outcomes after tools, or of sources, that cannot be")
			}
		}
		m.mark(int32(tool))
		m.rows[tool] = row
	}
	return m, nil
}
