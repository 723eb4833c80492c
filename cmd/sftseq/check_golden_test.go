package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/golden"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/vk"
)

// copyGolden copies a golden folder, applies change to the named files and returns the copy.
func copyGolden(t *testing.T, name string, change map[string]func(text string) string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	must.Succeed(t, os.CopyFS(dir, os.DirFS(goldenPath(name))))
	for file, f := range change {
		writeText(t, filepath.Join(dir, file), f(readText(t, goldenPath(name, file))))
	}
	return dir
}

func TestCheckGolden(t *testing.T) {
	results := decodeLines[golden.Comparison](t, succeed(t, "", "check", "--golden", goldenDir, "--device", "cpu",
		"--json", "--only", "r"))
	seen := map[string]bool{}
	for _, r := range results {
		training := strings.HasPrefix(r.Golden, "train")
		seen[r.Golden] = true
		if r.Failed || r.Error != "" || r.Worst <= 0 || r.Worst > 0.5 || r.Lines < 1 || r.Precision != "fp32" ||
			!strings.HasPrefix(r.Device, "cpu") ||
			(r.Loss != nil) != training || (r.Logit != nil) == training || (r.Gradient != nil) == training ||
			(r.Tensor != nil) == training || (r.Which != "") == training {
			t.Errorf("unexpected result: %+v", r)
		}
	}
	for _, name := range []string{"pre", "retrieval", "train", "train_conv", "train_retrieval"} {
		if !seen[name] || seen["post"] {
			t.Errorf("compared the models %v, want %s and not post, whose name has no r", seen, name)
		}
	}
	// The golden folder of a fill-mask model has a gradient, but no logits.
	masked := decodeLines[golden.Comparison](t, succeed(t, "", "check", "--golden", goldenPath("fill_mask"),
		"--device", "cpu", "--json"))
	if len(masked) != 1 || masked[0].Failed || masked[0].Gradient == nil || masked[0].Logit != nil {
		t.Errorf("unexpected comparison: %+v", masked)
	}
	rows := strings.Split(succeed(t, "", "check", "--golden", goldenPath("ties"), "--device", "cpu"), "\n")
	if !strings.HasPrefix(rows[0], "model ") || !strings.HasPrefix(rows[1], "ties ") ||
		!strings.HasSuffix(rows[1], " pass") || !strings.HasPrefix(rows[3], "cpu (") {
		t.Errorf("got lines %q, want a header that begins with model, a line ties that ends with pass, and a fourth "+
			"line that begins with cpu", rows)
	}
}

func TestCheckGoldenVulkan(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	testenv.NeedVulkan(t, vk.Open, vk.Options{}) // the validation layer also checks the calls of the program
	// A few training folders suffice, because TestGoldenTraining trains on Vulkan with more of them.
	out := succeed(t, "", "check", "--golden", goldenDir, "--device", "vulkan", "--only", "train_c")
	folders, err := filepath.Glob(filepath.Join(goldenDir, "train_c*"))
	if err != nil || len(folders) < 2 || !strings.Contains(out, "\nvulkan:0 (") ||
		strings.Count(out, " pass\n") != len(folders) {
		t.Errorf("unexpected output:\n%s", out)
	}
}

// TestCheckGoldenMixed checks that golden models pass in mixed precision. The device uses the tokens that
// the CPU samples in float32.
func TestCheckGoldenMixed(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	testenv.NeedMixed(t, vk.Open, vk.Options{Mixed: true})
	out := succeed(t, "", "check", "--golden", goldenDir, "--device", "vulkan", "--precision", "mixed", "--only", "t")
	contains(t, out, ", mixed")
	notContains(t, out, "FAIL")
}

// TestCheckGoldenFails checks that the output marks a model that exceeds its tolerance or cannot be
// compared as failed, with the reason.
func TestCheckGoldenFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]func(string) string
		want   string // part of the table or of the text below it
		failed bool   // whether a deviation exceeds the tolerance
	}{
		{"ties", map[string]func(string) string{"expected.jsonl": func(s string) string {
			return strings.Replace(s,
				`"logits": [`, `"logits": [1`, 1)
		}}, "FAIL", true},
		{"ties", map[string]func(string) string{"grads.safetensors": func(string) string {
			return readText(t,
				goldenPath("ties", "model.safetensors"))
		}}, "FAIL", true},
		{"train", map[string]func(string) string{"expected.json": func(s string) string {
			return strings.Replace(s,
				`"loss": 1.98`, `"loss": 1.99`, 1)
		}}, "FAIL", true},
		{"ties", map[string]func(string) string{"expected.jsonl": func(s string) string {
			return s[:strings.Index(s,
				"\n")+1]
		}}, "expected.jsonl:2: unexpected EOF", false},
		{"ties", map[string]func(string) string{"expected.jsonl": func(s string) string {
			return strings.Replace(s, "[",
				"[0,", 1)
		}}, "expected.jsonl:1: found 3 logits, expected 2", false},
		{"ties", map[string]func(string) string{"expected.jsonl": func(s string) string { return "?" + s }},
			"expected.jsonl:1: invalid", false},
		{"ties", map[string]func(string) string{"grads.safetensors": func(string) string {
			return readText(t,
				goldenPath("retrieval", "grads.safetensors"))
		}}, "grads.safetensors: ", false},
		{"train", map[string]func(string) string{"expected.json": func(s string) string { return s[1:] }},
			"expected.json: ", false},
		{"ties", map[string]func(string) string{"inputs.jsonl": func(s string) string {
			return strings.Replace(s,
				"label", "name", 1)
		}}, "label is missing", false},
	} {
		dir := copyGolden(t, c.name, c.change)
		out, errs := exits(t, exitError, "", "check", "--golden", filepath.Dir(dir), "--device", "cpu")
		contains(t, out, "FAIL", c.want)
		contains(t, errs, "1 of 1 models failed")
		_, out, _ = program(nil, "check", "--golden", dir, "--device", "cpu", "--json")
		if r := decodeLines[golden.Comparison](t, out); len(r) != 1 || !r[0].Failed || (r[0].Error == "") != c.failed ||
			(r[0].Worst > 1) != c.failed {
			t.Errorf("%s, %q: got %s\nwant one comparison with failed true, (worst > 1) = %t and (error is empty) = "+
				"%t", c.name, c.want, out, c.failed, c.failed)
		}
	}
	bare := copyGolden(t, "ties", nil)
	for _, name := range []string{"expected.jsonl", "grads.safetensors"} {
		must.Succeed(t, os.Remove(filepath.Join(bare, name)))
	}
	if status, out, _ := program(nil, "check", "--golden", bare, "--device", "cpu"); status != exitError ||
		!strings.Contains(out, "to compare with") {
		t.Errorf("got status %d, output\n%s\nwant status %d and the text %q", status, out, exitError, "to compare with")
	}
	refuse(t, exitError, "expected a model directory with inputs.jsonl", "", "check", "--golden", t.TempDir())
	refuse(t, exitError, `and "none" in its name, found none`, "", "check", "--golden", goldenDir, "--only", "none")
	refuse(t, exitError, "no such file", "", "check", "--golden", filepath.Join(bare, "absent"))
	refuse(t, exitUsage, "expected fp32, in which kernels are checked", "", "check", "--precision", "mixed")
}
