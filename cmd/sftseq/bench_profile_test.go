package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/vk"
)

// TestBenchProfile checks on the CPU and on Vulkan that the shares of the kernels in a profile add up to
// 1, and that exactly the kernels of matrix products and attention have rates.
func TestBenchProfile(t *testing.T) {
	testenv.NoRace(t, "benchmarks code that the tests of package train cover")
	testenv.NeedVulkan(t, vk.Open, vk.Options{})
	small := []string{"bench", "model", "--config", tinyConfig(), "--length", "20", "--batch", "1", "--reps",
		"1", "--profile", "--device"}
	for _, device := range []string{"cpu", "vulkan"} {
		t.Run(device, func(t *testing.T) { testProfile(t, device, small) })
	}
}

func testProfile(t *testing.T, device string, small []string) {
	_, out, _ := program(nil, append(small, device, "--json")...) // standard error may name slow steps
	results := decodeLines[bench.ModelResult](t, out)
	if len(results) != 2 {
		t.Fatalf("got %d results, want one for each of two passes:\n%s", len(results), out)
	}
	for i, r := range results {
		shares, launches := 0.0, map[string]int{}
		for _, k := range r.Kernels {
			shares += k.Share
			launches[k.Kernel] = k.Launches
			if k.Seconds < 0 || k.Share < 0 {
				t.Errorf("kernel %+v: want a time and a share of at least 0", k)
			}
		}
		for _, k := range r.Kernels {
			if arithmetic := slices.Contains(arithmeticKernels[device], k.Kernel); (k.GFLOPS > 0) != arithmetic ||
				(k.Ceiling > 0) != arithmetic {
				t.Errorf("kernel %+v: want GFLOPS and a fraction of the peak rate: %t", k, arithmetic)
			}
		}
		if shares < 0.999 || shares > 1.001 || launches["embed"] != 1 || (launches["adamw"] > 0) != (i == 1) ||
			r.Precision != "fp32" || r.PeakBytes <= 0 {
			t.Errorf("the shares add up to %v, want 1; want one launch of embed, launches of adamw only in "+
				"training, precision fp32 and a positive peak memory: %+v", shares, r)
		}
	}
	_, out, _ = program(nil, append(small, device, "--what", "forward")...)
	if !strings.Contains(out, "\nforward at length 20, batch 1:\nkernel ") || !strings.Contains(out, " in kernels; ") {
		t.Errorf("the output has no table of the kernels of the forward pass:\n%s", out)
	}
}

// arithmeticKernels lists the kernels for which the profile reports GFLOPS, by device.
var arithmeticKernels = map[string][]string{
	"cpu":    {"linear", "linear_backward", "feedforward", "attention", "attention_backward"},
	"vulkan": {"matmul", "attention", "attention_backward_queries", "attention_backward_keys"},
}
