//go:build cgo

package vk

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sftseq/sft"
)

// small makes the device one with the limits of a small one: kernels go by blocks
// of as few rows as they may, 7 workgroups make a line of the grid, and operands
// have the coarsest alignment.
func small(t *testing.T, d *Device) {
	limits, words, hidden := d.limits, blockWords, hiddenWords
	t.Cleanup(func() { d.limits, blockWords, hiddenWords = limits, words, hidden })
	blockWords, hiddenWords = 1, 1
	d.limits.maxGroups = [2]int{7, 1 << 20}
	d.limits.alignment = grain
}

// TestOperandTooLarge: what a device cannot bind at once goes by blocks of rows,
// with the same result; an operand that must be bound whole is an error that says
// what to do.
func TestOperandTooLarge(t *testing.T) {
	d := open(t)
	m, _, _ := trained(t)
	random := rand.New(rand.NewPCG(8, 9))
	x := make([]int32, 1500)
	for i := range x {
		x[i] = random.Int32N(9)
	}
	score := func() (sft.Output, error) {
		s, err := sft.NewScorer(m, d)
		if err != nil {
			t.Fatal(err)
		}
		return s.Classify(t.Context(), x)
	}
	want, err := score()
	if err != nil {
		t.Fatal(err)
	}
	small(t, d)
	got, err := score()
	if err != nil || !slices.Equal(got.Logits, want.Logits) || !slices.Equal(got.Embeddings[0], want.Embeddings[0]) {
		t.Errorf("%v in blocks, %v in one; error %v", got, want, err)
	}
	d.limits.maxRange = 4 * 8 * 1024 // of 1024 tokens' 8 channels
	_, err = score()
	if err == nil || !strings.Contains(err.Error(), "at most 0.0 MiB: use shorter sequences or --device cpu") {
		t.Errorf("error %v", err)
	}
	t.Log(err)
	d.limits.maxGroups[1] = 1
	if _, err = score(); err == nil || !strings.Contains(err.Error(), "more than the device") {
		t.Errorf("error %v", err)
	}
	t.Log(err)
}

// TestJudge: a device that lacks something is refused with what it lacks.
func TestJudge(t *testing.T) {
	const operations, compute = 0xff, 0x20
	enough := physical{api: 1<<22 | 2<<12, limits: limits{maxInvocations: 256, sharedBytes: 32 << 10, buffers: 19}}
	for _, c := range []struct {
		change func(*physical)
		want   string
	}{
		{func(p *physical) {}, ""},
		{func(p *physical) { p.api = 1<<22 | 1<<12; p.info.API = "1.1.0" }, "it offers Vulkan 1.1.0, 1.2 is needed"},
		{func(p *physical) { p.limits.maxInvocations = 128 }, "128 invocations"},
		{func(p *physical) { p.limits.sharedBytes = 16 << 10 }, "16 KiB"},
		{func(p *physical) { p.limits.buffers = 8 }, "8 operands"},
		{func(p *physical) { p.info.Missing = "it has no queue" }, "it has no queue"},
	} {
		p := enough
		c.change(&p)
		if p.judge(operations, compute); (p.info.Missing == "") != (c.want == "") || !strings.Contains(p.info.Missing, c.want) {
			t.Errorf("missing %q, expected %q", p.info.Missing, c.want)
		}
	}
	for _, s := range [][2]uint32{{0x3, compute}, {operations, 0x1f}} {
		p := enough
		if p.judge(s[0], s[1]); p.info.Missing != "its subgroups cannot add" {
			t.Errorf("operations %#x in stages %#x: missing %q", s[0], s[1], p.info.Missing)
		}
	}
}
