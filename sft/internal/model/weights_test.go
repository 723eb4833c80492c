package model

import (
	"math"
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/safetensors"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestGather checks the words of complete tensors, and the errors for a tensor that is missing, has
// another type or shape, or is not finite.
func TestGather(t *testing.T) {
	p := NewParameters(configtest.TinyConfig())
	var tensors []safetensors.Tensor
	for i, q := range p.List {
		data := slices.Repeat([]float32{float32(i + 1)}, q.Size())
		tensors = append(tensors, safetensors.Tensor{Name: "a." + q.Name, Shape: q.Shape, Data: data})
	}
	words := must.Get(Gather(p, tensors, "a."))(t)
	for i, q := range p.List {
		if got := p.Slice(words, q); !slices.Equal(got, tensors[i].Data) {
			t.Errorf("%s: got %v, want %v", q.Name, got, tensors[i].Data)
		}
	}
	for want, change := range map[string]func(x *safetensors.Tensor){
		"is missing, expected with shape": func(x *safetensors.Tensor) { x.Name = "b" },
		"has type I32 and shape":          func(x *safetensors.Tensor) { x.Type = safetensors.I32 },
		"has type F32 and shape [1 2 3]":  func(x *safetensors.Tensor) { x.Shape = []int{1, 2, 3} },
		"expected finite numbers":         func(x *safetensors.Tensor) { x.Data = []float32{float32(math.NaN())} },
	} {
		changed := slices.Clone(tensors)
		change(&changed[len(changed)-1])
		must.Fail(t, want)(Gather(p, changed, "a."))
	}
}
