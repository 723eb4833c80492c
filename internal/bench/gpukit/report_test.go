package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// kitLines has results of most parts, a line of an unknown part and a truncated line.
const kitLines = `{"part":"kit","date":"2030-01-02T03:04Z","version":"sftseq 1","system":"Linux","quick":true}
{"part":"driver","says":"card, 123"}
{"part":"devices","device":"vulkan:0","name":"card","kind":"discrete","mixed":true}
{"part":"devices","unavailable":"no such thing"}
{"part":"check","kernel":"add","cases":3,"failed":0,"worst":0.25}
{"part":"check","kernel":"gelu","cases":2,"failed":1,"worst":0.5,"errors":["gelu 3: off | by 2"]}
{"part":"golden","golden":"pre","device":"card","precision":"mixed","lines":8,"logit_error":0.001,"worst":0.05,"failed":false}
{"part":"golden","golden":"post","device":"card","precision":"mixed","lines":0,"worst":0,"failed":true,"error":"cannot be read"}
{"part":"listops","what":"train","config":"listops","length":2048,"batch":64,"precision":"fp32","device":"card (fp32)","seconds":0.25,"tokens_per_s":524288,"peak_bytes":1048576}
{"part":"listops","what":"train","config":"listops","length":2048,"batch":64,"precision":"mixed","device":"card (mixed)","seconds":0.125,"tokens_per_s":1048576}
{"part":"peer","what":"train","model":"sft","task":"listops","dtype":"bf16","compiled":true,"seconds":0.25,"tokens_per_s":524288,"peak_gib":2}
{"part":"peer","what":"infer","model":"transformer","task":"listops","dtype":"fp32","compiled":false,"device":"cpu","seconds":0.5,"tokens_per_s":262144,"peak_gib":null}
{"part":"peer","command":"sft_torch_gpu.py --dtype fp32","status":1,"error":"out of memory"}
{"part":"profile","what":"train","length":2048,"batch":64,"precision":"mixed","seconds":0.125,"kernels":[{"kernel":"matmul","launches":5,"seconds":0.1,"share":0.996},{"kernel":"add","launches":2,"seconds":0.0002,"share":0.002},{"kernel":"zero","launches":1,"seconds":0.0002,"share":0.002}]}
{"part":"kernels","ceilings":{"fma_flop_per_s":5e13,"max_add_flop_per_s":2.5e13,"memory":[{"bytes":0,"copy_bytes_per_s":4e12}]},"precision":"mixed"}
{"part":"kernels","kernel":"linear","size":"4096×128→128","seconds":0.00001,"gflop_per_s":30000,"ceiling_fraction":0.6,"precision":"mixed"}
{"part":"presets","what":"train","config":"configs/text.json","length":1024,"batch":64,"precision":"fp32","seconds":1,"tokens_per_s":65536}
{"part":"peers","what":"train","model":"sft","task":"text","dtype":"bf16","compiled":false,"seconds":2,"tokens_per_s":32768}
{"part":"lengths","what":"forward","length":1048576,"batch":1,"precision":"fp32","seconds":2,"tokens_per_s":524288}
{"part":"loss","precision":"fp32","batch":16,"steps":1000,"seconds":40,"last":100,"loss":2.0}
{"part":"loss","precision":"mixed","batch":16,"steps":1000,"seconds":30,"last":100,"loss":2.01}
{"part":"parts","name":"check","result":"out of time","seconds":60,"planned":25,"limit":60}
{"part":"parts","name":"peer","result":"incomplete","seconds":60,"planned":25,"limit":60}
{"part":"parts","name":"loss","result":"ok","seconds":60,"planned":25,"limit":60,"note":"without | this"}
{"part":"abacus"}
{"part":"kernels","kern
`

func reportOf(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results.jsonl")
	write(t, path, lines)
	text, err := report(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReport checks that the report has the content of the lines and the number of unreadable lines.
func TestReport(t *testing.T) {
	spaces := regexp.MustCompile(" +")
	out := spaces.ReplaceAllString(reportOf(t, kitLines), " ")
	for _, want := range []string{
		"2030-01-02T03:04Z, sftseq 1, Linux", "card, 123", "ignore the figures",
		"card (mixed)", "could not be read: 2",
		"| check | out of time |", "| peer | incomplete |", "| loss | ok | 60 | 25 | 60 | without / this |",
		"| peer | `sft_torch_gpu.py --dtype fp32` | 1      | out of memory |",
		"| vulkan:0 | card | discrete |", "| gelu   | 2     | 50% ",
		"| all 2  | 5     | 50%              | 1 FAIL |", "gelu 3: off | by 2",
		"| mixed     | pre   | 8     | 1.0e-03 |", "post: cannot be read",
		"| train   | sftseq                         | mixed     | 1048576  | 125 ms |",
		"| train   | PyTorch, compiled              | bf16      | 524288   | 250 ms | 2.0 GiB | 1.00×       | 2.00×        |",
		"| forward | PyTorch, full attention, eager, on the CPU | fp32      | 262144   | 500 ms | –       | –          | –           |",
		"sftseq fp32 is | sftseq mixed is |", "Batches of 64 sequences of 2048 tokens. The last columns: 2×",
		"## Kernels of train, mixed", "| matmul   | 5        | 100 ms | 99.6% |",
		"| 2 others | 3        | 400 µs | 0.4%  |",
		"| mixed     | linear | 4096×128→128 | 10.0 µs | 30000 GFLOP/s | 60% ",
		"Measured with the kernels in mixed: peak rates in float32: multiply-add 50000 GFLOP/s",
		"| 65536    | 1.00 s |", "| 32768 (eager, bf16)     | 2.00× ", "| 524288 (compiled, bf16) | 2.00× ",
		"| forward | fp32      | 1048576 | 524288   |",
		"| mixed     | 16    | 1000  | 30.0    | 2.0100 over 100 steps | +0.50% |",
	} {
		if want = spaces.ReplaceAllString(want, " "); !strings.Contains(out, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
	// A single line also produces a report.
	for line := range strings.Lines(kitLines) {
		if strings.Contains(line, "abacus") || strings.Contains(line, "unavailable") ||
			!strings.HasSuffix(line, "}\n") {
			continue
		}
		if few := reportOf(t, line); few == "" {
			t.Errorf("got an empty report for %s", line)
		}
	}
}

// TestReportErrors checks the errors for a missing file and for a file without results.
func TestReportErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.jsonl")
	if _, err := report(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got error %v", err)
	}
	write(t, path, "{}\n")
	if _, err := report(path); err == nil || !strings.Contains(err.Error(), "expected results of the GPU kit, found none") {
		t.Errorf("no results: got error %v", err)
	}
}
