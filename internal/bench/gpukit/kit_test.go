// Package gpukit_test checks the kit that measures a graphics processor where
// there is neither Go nor a compiler: run.sh, and the models it measures.
package gpukit_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sftseq/sft"
)

// TestConfigs: the presets of the Long Range Arena that the kit brings along are
// the published ones.
func TestConfigs(t *testing.T) {
	for name, want := range map[string]struct {
		vocabulary, labels, layers        int
		norm                              string
		drop, attention, embedding, inner float64
		pair                              bool
	}{
		"text":       {257, 2, 4, "post", 0.3, 0.1, 0, 0.2, false},
		"retrieval":  {257, 2, 5, "post", 0, 0, 0.1, 0.2, true},
		"image":      {256, 10, 8, "pre", 0.3, 0.1, 0.1, 0.2, false},
		"pathfinder": {256, 2, 6, "pre", 0, 0, 0.1, 0.2, false},
	} {
		c, err := sft.ReadConfig(filepath.Join("configs", name+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		if c.VocabSize != want.vocabulary || c.NumLabels != want.labels || c.NumLayers != want.layers || c.NormPosition != want.norm || c.Pair() != want.pair ||
			c.DropToken != want.drop || c.AttentionDropout != want.attention || c.EmbeddingDropout != want.embedding || c.FeedForward != want.inner ||
			c.HiddenSize != 128 || c.NumHeads != 4 || c.IntermediateSize != 512 || c.NumSampledTokens != 256 || c.SinusoidDim != 128 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// kit runs run.sh of a directory.
func kit(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	for _, program := range []string{"bash", "awk", "timeout"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	c := exec.Command("bash", append([]string{filepath.Join(dir, "run.sh")}, args...)...)
	c.Env = append(os.Environ(), env...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("run.sh %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestPlan: what is planned fits into nine minutes, with room to stop.
func TestPlan(t *testing.T) {
	for _, args := range [][]string{{"--plan"}, {"--plan", "--quick"}} {
		sum := 0
		for line := range strings.Lines(kit(t, ".", nil, args...)) {
			var name string
			var planned, limit int
			if _, err := fmt.Sscan(line, &name, &planned, &limit); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if limit < planned {
				t.Errorf("%q: planned for longer than it may take", line)
			}
			sum += planned
		}
		if sum > 525 {
			t.Errorf("%v: %d seconds planned", args, sum)
		}
	}
}

// fakeProgram stands in for sftseq: one command hangs, one fails, one dies in the
// middle of a line.
const fakeProgram = `#!/bin/sh
case "$1 $2" in
"devices --quick") echo '{"device":"vulkan:0","name":"fake","kind":"discrete","memory_bytes":1000000,"mixed":true}' ;;
"devices --json") echo '{"device":"vulkan:0","name":"fake"}' ;;
"check --device") echo '{"kernel":"add"}'; exec sleep 60 ;;
"check --golden") echo 'Error: "no" \ luck' >&2; exit 3 ;;
"train listops")
	while [ "$1" != --out ]; do shift; done
	mkdir -p "$2" && printf '%s\n' '{"kind":"train","step":990,"loss":2.5}' '{"kind":"train","step":1000,"loss":1.5}' >"$2/metrics.jsonl" ;;
"bench report") echo "a report of $(wc -l <"$3") lines" ;;
"bench kernels") printf '{"ceilings"'; exit 1 ;;
"bench model") echo '{"what":"train","tokens_per_s":4000.5}' ;;
version*) printf 'sftseq 1.2\nand more\n' ;;
esac
`

// TestRun: one part that hangs and one that fails are recorded, and lose nothing of
// the others.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for what hangs")
	}
	dir := t.TempDir()
	script, err := os.ReadFile("run.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run.sh": string(script), "sftseq": fakeProgram, "sft_torch_gpu.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "golden", "pre"), 0o777); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(dir, "results")
	out := kit(t, dir, []string{"OUT=" + results, "TIME=20", "PYTHON=echo", "QUICK=", "DEVICE=vulkan"})
	if !strings.Contains(out, "a report of ") || !strings.Contains(out, "check ") || !strings.Contains(out, "(status 124)") {
		t.Errorf("%s", out)
	}
	text, err := os.ReadFile(filepath.Join(results, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Part, Name, Kernel, Command, Error, Precision, Version string
		Status                                                 int
		Loss, TokensPerSec                                     float64 `json:",omitempty"`
	}
	count := map[string]int{}
	parts := map[string]int{}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if s.Text() == `{"part":"kernels","ceilings"` {
			count["torn"]++
			continue
		}
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Errorf("%s: %v", s.Text(), err)
		}
		count[l.Part]++
		switch {
		case l.Part == "parts":
			parts[l.Name] = l.Status
		case l.Part == "golden" && (l.Status != 3 || l.Error != `Error: "no" \ luck` || !strings.HasPrefix(l.Command, "sftseq check --golden")):
			t.Errorf("%s", s.Text())
		case l.Part == "loss" && l.Loss != 2:
			t.Errorf("%s", s.Text())
		case l.Part == "kit" && l.Version != "sftseq 1.2":
			t.Errorf("%s", s.Text())
		}
	}
	for part, want := range map[string]int{"kit": 1, "devices": 1, "check": 1, "golden": 2, "loss": 2, "listops": 2, "profile": 2, "presets": 8, "lengths": 4, "torn": 2, "kernels": 2} {
		if count[part] != want {
			t.Errorf("%s: %d lines, expected %d", part, count[part], want)
		}
	}
	for part, want := range map[string]int{"info": 0, "check": 124, "golden": 1, "loss": 0, "listops": 0, "profile": 0, "kernels": 1, "presets": 0, "lengths": 0} {
		if got, ok := parts[part]; !ok || got != want {
			t.Errorf("%s: status %d, expected %d", part, got, want)
		}
	}
	for _, name := range []string{"report.txt", "log.txt", "loss-fp32.jsonl", "loss-mixed.jsonl"} {
		if _, err := os.Stat(filepath.Join(results, name)); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", out, text)
	}
}
