package model

import (
	"github.com/sftseq/sftseq/internal/tensor"
)

// keepHidden keeps rows for the results of a pass in HiddenMode: the input of the first layer, or
// the output of a layer.
func (p *recordedPass) keepHidden(m *emitter, rows *tensor.Tensor) {
	if m.mode == HiddenMode {
		m.Keep(rows)
		p.hidden = append(p.hidden, rows)
	}
}

// hiddenStates returns, for each sequence of a computed batch, its rows before the first layer and after
// each layer.
func (p *recordedPass) hiddenStates(b *packed, arena tensor.Memory) ([][][]float32, error) {
	out := make([][][]float32, len(b.example))
	for _, t := range p.hidden {
		rows := make([]float32, int(b.counts.Tokens)*t.Width())
		if err := tensor.Download(arena, t, rows); err != nil {
			return nil, err
		}
		for i := range out {
			from, to := int(b.offset[i])*t.Width(), int(b.offset[i+1])*t.Width()
			out[i] = append(out[i], rows[from:to:to])
		}
	}
	return out, nil
}
