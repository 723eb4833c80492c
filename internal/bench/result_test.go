package bench

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// TestDevice checks that unknown values are shown as dashes, and the note of a device in each state.
func TestDevice(t *testing.T) {
	var card DeviceResult
	if err := json.Unmarshal([]byte(`{"device":"vulkan:1","name":"card","kind":"discrete","driver":"its 1.2","api":"1.3.1","memory_bytes":1073741824,
		"subgroup_size":32,"subgroup_min":8,"subgroup_max":64,"copy_bytes_per_s":3e12,"fma_flop_per_s":5e13,"mixed_product_flop_per_s":4e14,
		"cooperative_matrices":[{"m":16,"n":8,"k":4,"a":"float16","b":"float16","c":"float32","result":"float32"},
		{"m":1,"n":1,"k":1,"a":"int8","b":"uint8","c":"float32","result":"float16"}]}`), &card); err != nil {
		t.Fatal(err)
	}
	want := []string{"vulkan:1", "card", "discrete", "its 1.2", "1.3.1", "1.0 GiB", "32 (8 to 64)", "3000 GB/s",
		"50000 GFLOP/s", "400000 GFLOP/s"}
	if row := card.Row(); !slices.Equal(row, want) {
		t.Errorf("got %q, want %q", row, want)
	}
	note := func(want string) {
		t.Helper()
		if got := card.Note(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	note("vulkan:1 has cooperative matrices: 16×8×4 float16 → float32, 1×1×1 int8·uint8 → float32 → float16")
	card.Cooperative = nil
	note("vulkan:1 has no cooperative matrices")
	card.Failure = "it is hot"
	note("vulkan:1 was not measured: it is hot")
	card.Missing = "it is old"
	note("vulkan:1 cannot be used: it is old")
	empty := DeviceResult{Info: device.Info{Device: "cpu"}}
	if row := empty.Row(); !slices.Equal(row[1:], strings.Split("–––––––––", "")) || empty.Note() != "" {
		t.Errorf("got row %q and note %q, want nine – after column 1 and no note", row, empty.Note())
	}
}

// TestCheck checks that failures are counted, and that the first few are named.
func TestCheck(t *testing.T) {
	k := &conformance.Summary{Kernel: "add"}
	k.Add(conformance.Result{Kernel: "add", Case: "add 1", Worst: 0.25})
	k.Add(conformance.Result{Kernel: "add", Case: "add 2", Worst: 0.5})
	if k.Verdict() != "pass" || k.Worst != 0.5 || k.Notes() != nil {
		t.Errorf("%+v: got verdict %s and notes %q, want pass without notes", k, k.Verdict(), k.Notes())
	}
	k.Add(conformance.Result{Kernel: "add", Case: "add 3", Errors: []error{errors.New("one"), errors.New("two")}})
	k.Add(conformance.Result{Kernel: "add", Case: "add 4",
		Errors: []error{errors.New("three"), errors.New("four"), errors.New("five")}})
	want := []string{"add 3: one", "add 3: two", "add 4: three", "add: 2 more errors (--json shows them)"}
	if k.Verdict() != "2 FAIL" || k.Cases != 4 || !slices.Equal(k.Notes(), want) {
		t.Errorf("%+v: got verdict %s and notes %q, want 2 FAIL and %q", k, k.Verdict(), k.Notes(), want)
	}
}
