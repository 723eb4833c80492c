package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// fakeSftseq is a program that imitates the output of sftseq bench.
const fakeSftseq = `#!/bin/sh
case "$*" in
"bench model --device cpu --threads 3 --reps 1 --json --config listops --length 2048 --batch 8")
	echo '{"what":"forward","tokens_per_s":32768}'
	echo '{"what":"train","tokens_per_s":8192}' ;;
"bench runtime --device cpu --threads 3 --reps 1 --json")
	echo '{"layer":"vanilla","relative":"none","k":1024,"seconds":0.5}'
	echo '{"layer":"sft","relative":"sinusoid_hadamard","k":64,"seconds":0.125}' ;;
*) exit 1 ;;
esac
`

// fakePeer is a program that reports 1 s for the forward pass of one variant, 2 s for the training
// step of another, and 9 s for all other ListOps measurements.
const fakePeer = `import json, sys
a = sys.argv
value = lambda flag: a[a.index(flag) + 1]
assert a[1] == "bench" and value("--reps") == "1"
name = f"rel={value('--rel')} score={value('--score')}"
out = {"table transformer full-1024 fwd s/layer": 0.25, f"table sft {name} k=64 fwd s/layer": 0.75}
out[f"listops {name} threads={value('--threads')} fwd s"] = 1 if name == "rel=table score=cdist" else 9
out[f"listops {name} threads={value('--threads')} fwd+bwd s"] = 2 if name == "rel=sin score=loop" else 9
json.dump(out, open(value("--json"), "w"))
`

// TestAgainst checks that the ratios of the model are relative to the fastest variant of each figure, and
// the ratios of the runtime table to PyTorch's transformer.
func TestAgainst(t *testing.T) {
	testenv.NeedPrograms(t, "python3")
	dir := t.TempDir()
	for name, text := range map[string]string{"sftseq": fakeSftseq, "peer.py": fakePeer} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for what, want := range map[string][]string{
		"model": {"| forward | 32768 | 16384 | 2.00 | 2.00 | 2.00 |", "| train | 8192 | 8192 | 1.00 | 1.00 | 1.00 |"},
		"runtime": {"| vanilla | none | 1024 | 500.0 ms | 2.00 | 2.00 | 2.00 |  |",
			"| sft | sinusoid_hadamard | 64 | 125.0 ms | 0.50 | 0.50 | 0.50 | 750.0 ms |",
			"transformer takes 250.0 ms"},
	} {
		c := exec.Command("python3", "against.py", what, filepath.Join(dir, "peer.py"), "--sftseq",
			filepath.Join(dir, "sftseq"), "--threads", "3", "--pairs", "2")
		out, err := c.CombinedOutput()
		for _, line := range want {
			if err != nil || !strings.Contains(string(out), line+"\n") && !strings.Contains(string(out), line+".\n") {
				t.Errorf("%s: got %v, want %q in\n%s", what, err, line, out)
			}
		}
	}
}
