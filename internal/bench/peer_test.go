package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestReadFigures reads what the PyTorch program wrote once.
func TestReadFigures(t *testing.T) {
	f, err := ReadFigures(strings.NewReader(`{
 "torch": "1.13.0a0",
 "threads": 1,
 "capability": "avx2",
 "listops rel=sin score=loop threads=1 fwd s": 2.855,
 "listops rel=sin score=loop threads=1 fwd+bwd s": 9.4
}`))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := f.second("listops rel=sin score=loop threads=1 fwd+bwd s"); f.Torch != "1.13.0a0" || s != 9.4 || err != nil {
		t.Errorf("%+v, %v, %v", f, s, err)
	}
	for text, want := range map[string]string{
		"":                                    "expected a JSON object",
		"[1]":                                 "expected a JSON object",
		`{"threads": 1}`:                      `key "torch" is missing`,
		`{"torch": "1.13"}`:                   `"a" is missing`,
		`{"torch": "1.13", "a": 0}`:           "expected a time",
		`{"torch": "1.13", "a": "2 seconds"}`: `"a" is missing`,
	} {
		f, err := ReadFigures(strings.NewReader(text))
		if err == nil {
			_, err = f.second("a")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// peerOf is a program in place of PyTorch's.
func peerOf(t *testing.T, text string) *Peer {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, peerFile), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := FindPeer(dir, 3)
	if err != nil {
		testenv.Missing(t, "python3", err)
	}
	return p
}

func TestPeer(t *testing.T) {
	p := peerOf(t, `import json, sys
a = sys.argv
name = f"rel={a[a.index('--rel') + 1]} score={a[a.index('--score') + 1]}"
out = {"torch": "9", f"table transformer full-1024 fwd s/layer": 7}
for k in (32, 64, 128, 256, 512):
    out[f"table sft {name} k={k} fwd s/layer"] = k
for what, s in (("fwd", 1.5), ("fwd+bwd", 4)):
    out[f"listops {name} threads={a[a.index('--threads') + 1]} {what} s"] = s
json.dump(out, open(a[a.index('--json') + 1], "w"))`)
	for _, v := range Variants() {
		forward, backward, f, err := p.ListOps(t.Context(), v)
		if forward != 1.5 || backward != 4 || err != nil || f.Torch != "9" {
			t.Errorf("%v: %v, %v, %v", v, forward, backward, err)
		}
		transformer, sft, _, err := p.Table(t.Context(), v)
		if transformer != 7 || len(sft) != 5 || sft[128] != 128 || err != nil {
			t.Errorf("%v: %v, %v, %v", v, transformer, sft, err)
		}
	}
}

func TestPeerErrors(t *testing.T) {
	for text, want := range map[string]string{
		`raise SystemExit("no torch: apt-get install python3-torch")`: "no PyTorch found: install Python 3 and PyTorch",
		`import no_such_module`: "No module named 'no_such_module'",
		`pass`:                  "wrote no figures",
		`import sys; open(sys.argv[sys.argv.index("--json") + 1], "w").write("{}")`: `key "torch" is missing`,
	} {
		if _, _, _, err := peerOf(t, text).ListOps(t.Context(), Variants()[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
