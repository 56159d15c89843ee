package episodic

import (
	"errors"
	"maps"
	"slices"
	"time"
)

// An Image is the state of a memory at one moment, for encoding.
type Image struct {
	Rows          [][]tally
	Epoch, Newest time.Time
	Sources       []int32
}

// Image returns the current state of the memory. It copies the rows.
func (m *Memory) Image() *Image {
	rows := make([][]tally, len(m.rows))
	for tool, row := range m.rows {
		rows[tool] = slices.Clone(row)
	}
	return &Image{rows, m.epoch, m.newest, slices.Sorted(maps.Keys(m.sources))}
}

// Memory restores the memory from an image. It rejects an image with more tools or sources than given.
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
			for k, by := range t.By { // ascending by source, as joinSources requires
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
