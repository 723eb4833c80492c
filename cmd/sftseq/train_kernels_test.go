package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/simd"
)

// TestTrainNamesKernels checks that a run names the kernels, on which its bits depend, at the
// beginning, at the end and in the model's provenance.
func TestTrainNamesKernels(t *testing.T) {
	data, dir := customData(t, "--label", "mood"), filepath.Join(t.TempDir(), "run")
	train := func(level string, args ...string) string {
		t.Helper()
		command := exec.Command(built(t),
			append([]string{"train", "custom", "--members", "sft", "--out", dir, "--device", "cpu"}, args...)...)
		command.Env = append(os.Environ(), simd.Variable+"="+level)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("error %v, output:\n%s", err, out)
		}
		return string(out)
	}
	contains(t, train("go", "--data", data, "--hidden", "8", "--steps", "1"), ", go, ",
		"computed with go kernels (SFTSEQ_SIMD=go): another")
	contains(t, readText(t, filepath.Join(dir, "config.json")), `"kernels": "go"`)
	best := simd.Levels()[0].Name
	// The finished run computes nothing, so its record stays unchanged.
	contains(t, train(best, "--resume"), "computed with go kernels (SFTSEQ_SIMD=go): another")
	after := train(best, "--resume", "--steps", "2")
	if best == "go" { // a CPU without assembly continues with the same kernels
		contains(t, after, "computed with go kernels (SFTSEQ_SIMD=go): another")
	} else {
		contains(t, after, "warning: the run used",
			"computed with go kernels at first, and with "+best+" at the end")
	}
}

// TestResultsNameKernels checks that the transcript of docs/results.md names its instruction set as
// the program does.
func TestResultsNameKernels(t *testing.T) {
	text := readText(t, "../../docs/results.md")
	_, transcript, _ := strings.Cut(text, "    step 14000: ")
	transcript, _, _ = strings.Cut(transcript, "repeat with: ")
	for _, k := range []string{"avx2", "avx512"} {
		line := strings.Replace(describeKernels("go", "go"), "go kernels (SFTSEQ_SIMD=go)",
			k+" kernels (SFTSEQ_SIMD="+k+")", 1)
		if strings.Contains(transcript, line) {
			return
		}
	}
	t.Errorf("docs/results.md: expected the line on avx2 or avx512 kernels in the transcript, found\n%s", transcript)
}
