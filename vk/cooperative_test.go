//go:build cgo

package vk

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// shape returns the shape m×n×k with the component types of the operands A and B and of the
// accumulators C and Result.
func shape(m, n, k int, operands, accumulators string) CooperativeShape {
	return CooperativeShape{M: m, N: n, K: k, A: operands, B: operands, C: accumulators, Result: accumulators}
}

// TestChooseMixed checks the shapes that chooseMixed selects from the lists of several drivers, and
// its errors.
func TestChooseMixed(t *testing.T) {
	all := cooperativeFeatures{matrices: true, memoryModel: true, float16: true, bfloat16: true}
	without := func(change func(f *cooperativeFeatures)) cooperativeFeatures {
		f := all
		change(&f)
		return f
	}
	nvidia := []CooperativeShape{
		shape(16, 16, 16, "float16", "float16"), shape(16, 8, 16, "float16", "float16"),
		shape(16, 8, 8, "float16", "float16"),
		shape(16, 8, 8, "float16", "float32"), shape(16, 8, 16, "float16", "float32"),
		shape(16, 16, 16, "float16", "float32"),
		shape(16, 16, 32, "int8", "int32"), shape(16, 8, 32, "uint8", "uint32"),
	}
	newer := append(nvidia, shape(16, 8, 8, "bfloat16", "float32"), shape(16, 8, 16, "bfloat16", "float32"),
		shape(16, 16, 16, "bfloat16", "float32"))
	rdna3 := []CooperativeShape{
		shape(16, 16, 16, "int8", "int32"), shape(16, 16, 16, "float16", "float16"),
		shape(16, 16, 16, "float16", "float32"),
		shape(16, 16, 16, "bfloat16", "bfloat16"), shape(16, 16, 16, "bfloat16", "float32"),
	}
	mixedTypes := shape(16, 16, 16, "float16", "float32")
	mixedTypes.B = "bfloat16"
	const none = "of its 1 kinds"
	for _, c := range []struct {
		name   string
		shapes []CooperativeShape
		f      cooperativeFeatures
		want   string // description of the chosen shapes, or a part of the error
	}{
		{"NVIDIA", nvidia, all, "mixed float16 16×16×16"},
		{"NVIDIA, newer", newer, all, "mixed float16 16×16×16, backward bfloat16 16×16×16"},
		{"NVIDIA, newer, bfloat16 not enabled", newer, without(func(f *cooperativeFeatures) { f.bfloat16 = false }),
			"mixed float16 16×16×16"},
		{"NVIDIA, flat matrices alone", nvidia[3:5], all, "mixed float16 16×8×16"},
		{"RDNA3", rdna3, all, "mixed float16 16×16×16, backward bfloat16 16×16×16"},
		{"RDNA3, older driver", rdna3[:3], all, "mixed float16 16×16×16"},
		{"Intel Arc", []CooperativeShape{shape(8, 8, 32, "int8", "int32"), shape(8, 8, 16, "float16", "float32")},
			all, "mixed float16 8×8×16"},
		{"Intel Xe2", []CooperativeShape{shape(8, 16, 16, "float16", "float32"),
			shape(8, 16, 16, "bfloat16", "float32")}, all, "mixed float16 8×16×16, backward bfloat16 8×16×16"},
		{"bfloat16 alone", rdna3[4:], all, "mixed bfloat16 16×16×16"},
		{"lavapipe", []CooperativeShape{shape(8, 8, 8, "float16", "float16"), shape(8, 8, 8, "float16", "float32"),
			shape(8, 8, 8, "int8", "int32")}, all, "mixed float16 8×8×8"},
		{"float16 accumulators", rdna3[1:2], all, none},
		{"operands of two types", []CooperativeShape{mixedTypes}, all, none},
		{"larger than tiles", []CooperativeShape{shape(32, 32, 16, "float16", "float32")}, all, none},
		{"k beyond a step", []CooperativeShape{shape(16, 16, 64, "float16", "float32")}, all, none},
		{"single rows", []CooperativeShape{shape(1, 16, 16, "float16", "float32")}, all, none},
		{"nothing listed", nil, all, "of its 0 kinds"},
		{"no extension", nvidia, without(func(f *cooperativeFeatures) { f.matrices = false }),
			"VK_KHR_cooperative_matrix"},
		{"no memory model", nvidia, without(func(f *cooperativeFeatures) { f.memoryModel = false }),
			"vulkanMemoryModel"},
		{"no float16", newer, without(func(f *cooperativeFeatures) { f.float16 = false }), "shaderFloat16"},
	} {
		got, err := chooseMixed(c.shapes, c.f)
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: error %q, want %q", c.name, err, c.want)
		case err == nil && got.String() != c.want:
			t.Errorf("%s: chose %v, want %s", c.name, got, c.want)
		}
	}
	t.Setenv(noCooperative, "1")
	must.Fail(t, noCooperative+"=1", "turned off")(chooseMixed(newer, all))
}

// TestMixedIsOffered checks that Info.Mixed reports whether Open accepts Mixed.
func TestMixedIsOffered(t *testing.T) {
	for _, disabled := range []string{"", "1"} {
		t.Setenv(noCooperative, disabled)
		list, err := Devices()
		if err != nil {
			skipWithoutVulkan(t, err)
		}
		for _, i := range list {
			if i.Missing != "" {
				continue
			}
			d, err := openGPU(Options{Index: i.Index, Mixed: true})
			if (err == nil) != i.Mixed {
				t.Errorf("%s: Open returned error %v, but Info.Mixed is %v", i.Name, err, i.Mixed)
			}
			if err == nil {
				if !strings.Contains(d.Kernels(), ", mixed") {
					t.Errorf("Kernels returned %q, want a name that contains \"mixed\"", d.Kernels())
				}
				must.Check(t, d.Close())
			} else if disabled == "1" && !strings.Contains(err.Error(), noCooperative) {
				t.Errorf("%s: error %v, want one that names %s", i.Name, err, noCooperative)
			} else {
				t.Log(err)
			}
		}
	}
}
