package plan

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/internal/codec"
)

type writer interface{ Write(w *codec.Writer) }

func written(x writer) []byte {
	w := &codec.Writer{}
	x.Write(w)
	return w.Bytes
}

// workshop has tools that need others, and tasks that branch.
func workshop() ([]Tool, [][]int32, []Task) {
	tools, tasks := office(90)
	for i := range tasks {
		if n := len(tasks[i].Steps); i%2 == 0 && n > 1 {
			tasks[i].After[n-1] = nil
		}
	}
	needs := make([][]int32, len(tools))
	needs[2], needs[7] = []int32{6}, []int32{2}
	return tools, needs, tasks
}

// A model that was written and read answers as before.
func TestModelIsReadAsWritten(t *testing.T) {
	tools, needs, tasks := workshop()
	chain, chained := office(90)
	for name, m := range map[string]*Model{
		"needs and branches": Fit(NewTexts(tools), needs, tasks),
		"chains":             Fit(NewTexts(chain), nil, chained),
		"no history":         Fit(NewTexts(tools), nil, nil),
		"no tools":           Fit(NewTexts(nil), nil, nil),
	} {
		r := codec.NewReader(written(m.texts))
		texts := ReadTexts(r)
		require.NoError(t, r.End(), name)
		r = codec.NewReader(written(m))
		again := Read(r, texts)
		require.NoError(t, r.End(), name)
		assert.Equal(t, written(m), written(again), name)
		assert.Equal(t, written(m.texts), written(texts), name)
		for i := range 20 {
			text := fmt.Sprintf("%s and translate the text", tasks[i].Text)
			a, b := m.Plan(text, nil), again.Plan(text, nil)
			assert.Equal(t, a.Tools, b.Tools, name)
			assert.Equal(t, a.Steps, b.Steps, name)
			for _, tool := range a.Tools {
				assert.Equal(t, a.Explain(tool.Tool), b.Explain(tool.Tool), name)
				assert.Equal(t, a.Low(tool.P), b.Low(tool.P), name)
			}
		}
	}
}

func TestModelOfOtherToolsIsRefused(t *testing.T) {
	tools, needs, tasks := workshop()
	b := written(Fit(NewTexts(tools), needs, tasks))
	r := codec.NewReader(b)
	m := Read(r, NewTexts(tools[:5]))
	require.Error(t, r.Err())
	assert.NotPanics(t, func() { m.Plan("write to my aunt", nil) })
	for n := 0; n < len(b); n += 1 + len(b)/50 {
		r := codec.NewReader(b[:n])
		Read(r, NewTexts(tools))
		assert.Error(t, r.End(), "%d of %d bytes", n, len(b))
	}
}

// Whatever the bytes: an error, or a model that answers.
func FuzzRead(f *testing.F) {
	tools, needs, tasks := workshop()
	texts := NewTexts(tools)
	f.Add(written(Fit(texts, needs, tasks[:12])))
	f.Add(written(Fit(texts, nil, tasks[:6])))
	f.Add(written(NewTexts(tools[:3])))
	f.Fuzz(func(t *testing.T, b []byte) {
		Read(codec.NewReader(b), texts).Plan("fly me to oslo, write to my aunt", nil)
		ReadTexts(codec.NewReader(b)).Match("fly me to oslo")
	})
}
