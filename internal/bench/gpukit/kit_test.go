package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/sft/config"
)

// TestConfigs checks that sizes, dropout rates and the norm position of the kit's presets of the Long
// Range Arena equal the published configurations.
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
		c, err := config.Read(filepath.Join("configs", name+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		if c.VocabSize != want.vocabulary || c.NumLabels != want.labels || c.NumLayers != want.layers ||
			c.NormPosition != want.norm || (c.Sequences() == 2) != want.pair ||
			c.DropToken != want.drop || c.AttentionDropout != want.attention || c.EmbeddingDropout != want.embedding ||
			c.FeedForward != want.inner ||
			c.HiddenSize != 128 || c.NumHeads != 4 || c.IntermediateSize != 512 ||
			c.NumSampledTokens != 256 || c.SinusoidDim != 128 {
			t.Errorf("%s: got %+v, want %+v and the sizes of every preset", name, c, want)
		}
	}
}

// runKit runs the run.sh of a directory and returns its output and exit status.
func runKit(t *testing.T, dir string, env []string, args ...string) (string, int) {
	t.Helper()
	c := command(t, dir, env, args...)
	out, err := c.CombinedOutput()
	if err != nil && c.ProcessState == nil {
		t.Fatalf("run.sh %v: %v", args, err)
	}
	return string(out), c.ProcessState.ExitCode()
}

func command(t *testing.T, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	testenv.NeedPrograms(t, "bash", "awk", "timeout")
	c := exec.Command("bash", append([]string{filepath.Join(dir, "run.sh")}, args...)...)
	c.Env = append(append(os.Environ(), "TIME=", "DEVICE=", "GRACE=1"), env...)
	c.WaitDelay = time.Second
	return c
}

// TestPlan checks that the planned parts fit into nine minutes, including the time to stop them.
func TestPlan(t *testing.T) {
	for _, args := range [][]string{{"--plan"}, {"--plan", "--quick"}} {
		out, status := runKit(t, ".", nil, args...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if status != 0 || strings.Join(strings.Fields(lines[0]), " ") != "part planned at most" {
			t.Fatalf("run.sh %v: got status %d and output %s; want status 0 and the header part planned at most",
				args, status, out)
		}
		sum, last := 0, 0
		for _, line := range lines[1:] {
			var name string
			var planned, limit int
			if _, err := fmt.Sscanf(line, "%s %d s %d s", &name, &planned, &limit); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if limit < planned {
				t.Errorf("%q: the planned time exceeds the limit", line)
			}
			sum += last
			last = planned
		}
		if sum != last || sum > 525 {
			t.Errorf("%v: the parts add up to %d s, the last line states %d s, want at most 525", args, sum, last)
		}
	}
}

// fakeProgram replaces sftseq. One command fails and leaves a process behind, one dies in the
// middle of a line, and one hangs and ignores SIGTERM if a file named hang exists. The program records
// the processes that it leaves behind, and each of them that is alive when a later command starts.
const fakeProgram = `#!/bin/sh
kit=${0%/*}
for pid in $(cat "$kit/hanging" 2>/dev/null); do
	case $(cat "/proc/$pid/stat" 2>/dev/null) in
	"" | *") Z "*) ;;
	*) echo "$1 $2 beside $pid" >>"$kit/together" ;;
	esac
done
case "$1 $2" in
"devices --quick")
	echo '{"device":"vulkan:0","name":"fake","kind":"discrete","memory_bytes":1000000,"mixed":true}'
	echo '{"device":"vulkan:1","name":"broken","kind":"discrete","missing":"everything"}' ;;
"devices --json") echo '{"device":"vulkan:0","name":"fake"}' ;;
"check --device") echo '{"kernel":"add"}' ;;
"check --golden")
	(trap '' TERM; exec sleep 60) &
	echo $! >>"$kit/hanging"
	echo 'Error: "no" \ luck' >&2; exit 3 ;;
"train listops")
	while [ "$1" != --out ]; do shift; done
	mkdir -p "$2" && printf '%s\n' '{"kind":"train","step":990,"loss":2.5}' '{"kind":"train","step":1000,"loss":1.5}' >"$2/metrics.jsonl" ;;
"bench kernels") printf '{"ceilings"'; exit 1 ;;
"bench model")
	echo '{"what":"train","tokens_per_s":4000.5}'
	case "$*" in
	*1048576*) echo 'train at length 1048576 is skipped: too much' >&2 ;;
	*--profile)
		[ -e "$kit/hang" ] || exit 0
		trap '' TERM
		sleep 60 &
		echo $$ $! >>"$kit/hanging"
		wait ;;
	esac ;;
version*) printf 'sftseq 1.2\nand more\n' ;;
esac
`

// fakePython replaces a Python that has PyTorch. Its compilation leaves a process behind.
const fakePython = `#!/bin/sh
case "$*" in
-c*) echo PyTorch 9 ;;
*"--steps 1")
	(trap '' TERM; exec sleep 60) &
	echo $! >>"${0%/*}/hanging-compiler" ;;
*) echo '{"what":"train","model":"sft","tokens_per_s":1}' ;;
esac
`

// fakeKit returns the directory of a kit with the fake programs.
func fakeKit(t *testing.T) string {
	t.Helper()
	testenv.Long(t, "waits for hanging processes")
	dir := t.TempDir()
	script, err := os.ReadFile("run.sh")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "run.sh"), string(script))
	write(t, filepath.Join(dir, "sftseq"), fakeProgram)
	write(t, filepath.Join(dir, "report"), "#!/bin/sh\necho \"a report of $(wc -l <\"$1\") lines\"\n")
	write(t, filepath.Join(dir, "sft_torch_gpu.py"), "")
	write(t, filepath.Join(dir, "python"), fakePython)
	for _, model := range []string{"pre", "long"} {
		if err := os.MkdirAll(filepath.Join(dir, "golden", model), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkNoProcess checks that the fake programs left the given number of processes, that all have ended,
// and that the processes of one sftseq command had ended when the next command of sftseq started.
func checkNoProcess(t *testing.T, dir string, want int) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "hanging*"))
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, path := range paths {
		pids = append(pids, strings.Fields(read(t, path))...)
	}
	if len(pids) != want {
		t.Errorf("the fake programs left %d processes, want %d", len(pids), want)
	}
	for _, pid := range pids {
		// An ended process remains as a zombie if no process waits for it.
		if stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat")); err == nil &&
			!strings.Contains(string(stat), ") Z ") {
			t.Errorf("process still runs: %s", stat)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "together")); err == nil {
		t.Errorf("commands started beside a process of an earlier command: %s", text)
	}
}

// line is a line of results.jsonl.
type line struct {
	Part, Name, Kernel, Command, Error, Precision, Version, Says, Result, Note string
	Status                                                                     int
	Loss                                                                       float64
}

// resultsOf returns the lines of results.jsonl by part, the outcome lines by part, and the number of
// truncated lines.
func resultsOf(t *testing.T, results string) (lines, parts map[string][]line, truncated int) {
	t.Helper()
	lines, parts = map[string][]line{}, map[string][]line{}
	for text := range strings.Lines(read(t, filepath.Join(results, "results.jsonl"))) {
		var l line
		switch err := json.Unmarshal([]byte(text), &l); {
		case text == `{"part":"kernels","ceilings"`+"\n":
			truncated++
		case err != nil:
			t.Errorf("%s: %v", text, err)
		case l.Part == "parts":
			parts[l.Name] = append(parts[l.Name], l)
		default:
			lines[l.Part] = append(lines[l.Part], l)
		}
	}
	return lines, parts, truncated
}

// TestRun checks that failing parts are recorded, do not affect the results of other parts, and
// leave no process behind. It must be possible to repeat a single part.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := fakeKit(t)
	results := filepath.Join(dir, "results")
	env := []string{"OUT=" + results, "PYTHON=" + filepath.Join(dir, "python")}
	out, status := runKit(t, dir, env)
	if status != 1 || !strings.Contains(out, "a report of ") || !strings.Contains(out, "planned: incomplete\n") ||
		!strings.Contains(out, "Some commands of sftseq failed") {
		t.Errorf("got status %d and output %s; want status 1, %q, %q and %q", status, out, "a report of ",
			"planned: incomplete\n", "Some commands of sftseq failed")
	}
	checkNoProcess(t, dir, 4)
	lines, parts, truncated := resultsOf(t, results)
	for part, want := range map[string]int{"kit": 1, "python": 1, "devices": 1, "check": 1, "golden": 2, "loss": 2,
		"listops": 2, "profile": 2, "presets": 8, "lengths": 4, "kernels": 2, "peer": 6, "peers": 4} {
		if got := len(lines[part]); got != want {
			t.Errorf("%s: got %d lines, want %d", part, got, want)
		}
	}
	for part, want := range map[string]string{"info": "ok", "check": "ok", "golden": "incomplete", "loss": "ok",
		"listops": "ok", "profile": "ok", "kernels": "incomplete", "presets": "ok", "lengths": "ok", "peer": "ok",
		"peers": "ok", "(PyTorch compiles)": "ok"} {
		if got := parts[part]; len(got) != 1 || got[0].Result != want {
			t.Errorf("%s: got %+v, want %q", part, got, want)
		}
	}
	if t.Failed() || truncated != 2 {
		t.Fatalf("got output %s\nlines %+v\nparts %+v\n%d truncated lines, want 2", out, lines, parts, truncated)
	}
	const failure, check = `Error: "no" \ luck`, "sftseq check --golden"
	if l := lines["golden"][0]; l.Status != 3 || l.Error != failure || !strings.HasPrefix(l.Command, check) {
		t.Errorf("golden: got status %d, error %q, command %q; want 3, %q and a command that begins with %q", l.Status,
			l.Error, l.Command, failure, check)
	}
	if lines["loss"][0].Loss != 2 || lines["kit"][0].Version != "sftseq 1.2" {
		t.Errorf("got loss %v and version %q, want 2 and sftseq 1.2", lines["loss"][0].Loss, lines["kit"][0].Version)
	}
	if note := parts["lengths"][0].Note; !strings.Contains(note, "length 1048576 is skipped: too much") {
		t.Errorf("got the note %q, want it to name the skipped length 1048576", note)
	}
	for _, name := range []string{"report.txt", "log.txt", "loss-fp32/metrics.jsonl", "loss-mixed/metrics.jsonl"} {
		if _, err := os.Stat(filepath.Join(results, name)); err != nil {
			t.Error(err)
		}
	}

	// With this program, the kernels part succeeds.
	write(t, filepath.Join(dir, "sftseq"), strings.Replace(fakeProgram, `printf '{"ceilings"'; exit 1`,
		`echo '{"kernel":"gelu"}'`, 1))
	if out, status := runKit(t, dir, env, "--quick", "--part", "kernels"); status != 0 ||
		!strings.Contains(out, "a report of ") {
		t.Errorf("got status %d and output %s, want status 0 and a report", status, out)
	}
	again, parts, truncated := resultsOf(t, results)
	if truncated != 0 || len(again["kernels"]) != 2 || again["kernels"][0].Kernel != "gelu" {
		t.Errorf("got %d truncated lines and kernels %+v, want none and 2 of gelu", truncated, again["kernels"])
	}
	if p := parts["kernels"]; len(p) != 1 || p[0].Result != "ok" ||
		!strings.HasPrefix(p[0].Note, "run alone on vulkan, 20") ||
		!strings.HasSuffix(p[0].Note, "at a reduced size; gelu only") {
		t.Errorf("got %+v, want one outcome, of a run alone at a reduced size", p)
	}
	delete(lines, "kernels")
	delete(again, "kernels")
	if !reflect.DeepEqual(lines, again) || len(parts) != 12 {
		t.Errorf("got lines %+v\nafter repeating a part\n%+v\nparts %+v", lines, again, parts)
	}
	runKit(t, dir, env, "--part", "info")
	if lines, _, _ := resultsOf(t, results); len(lines["kit"]) != 1 || len(lines["devices"]) != 1 ||
		len(lines["python"]) != 1 {
		t.Errorf("got %+v, want one line each for kit, devices and python", lines)
	}

	// An invalid argument or device leaves the results unchanged.
	before := read(t, filepath.Join(results, "results.jsonl"))
	checkRefused(t, dir, results, "no part \"kernel\"", 2, env, "--part", "kernel")
	checkRefused(t, dir, results, "no device vulkan:1", 1, append(env, "DEVICE=vulkan:1"))
	if after := read(t, filepath.Join(results, "results.jsonl")); after != before {
		t.Errorf("the results changed: got %s, want %s", after, before)
	}
}

// checkRefused checks that run.sh prints an error, and neither creates nor removes the directory results.
func checkRefused(t *testing.T, dir, results, want string, wantStatus int, env []string, args ...string) {
	t.Helper()
	_, before := os.Stat(results)
	out, status := runKit(t, dir, env, args...)
	if status != wantStatus || !strings.HasPrefix(out, "run.sh: ") || !strings.Contains(out, want) {
		t.Errorf("%v %v: got status %d and output %s; want status %d and an error of run.sh that contains %q", args,
			env, status, out, wantStatus, want)
	}
	if _, after := os.Stat(results); (before == nil) != (after == nil) {
		t.Errorf("%v %v: results exist %v, want %v as before the run", args, env, after == nil, before == nil)
	}
}

// TestArguments checks that run.sh refuses invalid arguments, environment variables and devices before it
// writes results.
func TestArguments(t *testing.T) {
	t.Parallel()
	dir := fakeKit(t)
	results := filepath.Join(dir, "results")
	for _, c := range []struct {
		status    int
		want, env string
		args      []string
	}{
		{2, "expected one of info check ", "", []string{"--part", "nonsense"}},
		{2, "no part \"info check\"", "", []string{"--part", "info check"}},
		{2, "no part \"\"", "", []string{"--part"}},
		{2, "no part \"--quick\"", "", []string{"--part", "--quick"}},
		{2, "unexpected argument --slow: see run.sh --help", "", []string{"--slow"}},
		{2, "TIME=abc", "TIME=abc", []string{"--plan"}},
		{2, "TIME=0540", "TIME=0540", nil},
		{2, "TIME=9", "TIME=9", nil},
		{1, "no device nonsense", "DEVICE=nonsense", nil},
		{1, "no device vulkan:3", "DEVICE=vulkan:3", []string{"--part", "check"}},
		{1, "no device vulkan:1", "DEVICE=vulkan:1", nil}, // the device exists, but cannot be used
	} {
		checkRefused(t, dir, results, c.want, c.status, []string{"OUT=" + results, c.env}, c.args...)
	}
}

// TestPyTorch checks that run.sh reports whether it can measure PyTorch, and if it cannot, the reason.
func TestPyTorch(t *testing.T) {
	t.Parallel()
	dir := fakeKit(t)
	results := filepath.Join(dir, "results")
	python := filepath.Join(dir, "python")
	run := func(program string) (says string, lines, parts map[string][]line) {
		t.Helper()
		write(t, python, "#!/bin/sh\n"+program)
		for _, part := range []string{"info", "peers"} {
			if out, status := runKit(t, dir, []string{"OUT=" + results, "PYTHON=" + python}, "--quick",
				"--part", part); status != 0 {
				t.Errorf("part %s: got status %d and output %s, want status 0", part, status, out)
			}
		}
		lines, parts, _ = resultsOf(t, results)
		return lines["python"][0].Says, lines, parts
	}

	says, lines, parts := run(`echo "ModuleNotFoundError: No module named 'torch'" >&2; exit 1`)
	if want := "no PyTorch in " + python +
		" (ModuleNotFoundError: No module named 'torch'): set PYTHON=path/to/python3"; says != want {
		t.Errorf("got %q, want %q", says, want)
	}
	if p := parts["peers"][0]; p.Result != "skipped" || !strings.HasSuffix(p.Note, says) || len(lines["peers"]) != 0 {
		t.Errorf("got result %q, note %q and lines %+v; want skipped, a note that ends with %q, and no lines", p.Result,
			p.Note, lines["peers"], says)
	}

	// If PyTorch fails, the part is incomplete, but the kit does not fail.
	says, lines, parts = run(`[ "$1" = -c ] && echo PyTorch 9 && exit; echo "OutOfMemoryError: too large" >&2; exit 1`)
	if says != "PyTorch 9 of "+python {
		t.Errorf("got %q, want PyTorch's version and %s", says, python)
	}
	if p := parts["peers"][0]; p.Result != "incomplete" || len(lines["peers"]) != 1 ||
		lines["peers"][0].Error != "OutOfMemoryError: too large" {
		t.Errorf("got result %q and lines %+v; want incomplete, and a line with OutOfMemoryError: too large", p.Result,
			lines["peers"])
	}

	if err := os.Remove(filepath.Join(dir, "sft_torch_gpu.py")); err != nil {
		t.Fatal(err)
	}
	says, lines, parts = run("")
	if p := parts["peers"][0]; p.Result != "skipped" || !strings.HasSuffix(p.Note, says) ||
		!strings.Contains(says, "make bench-gpu-kit PEER=path/to/sft_torch_gpu.py") || len(lines["peers"]) != 0 {
		t.Errorf("got %q, part %+v, lines %+v; want the part skipped for the missing program", says, p, lines["peers"])
	}
}

// TestHang checks that a part which exceeds its time is recorded with its results so far, and that
// all its processes have ended when run.sh ends.
func TestHang(t *testing.T) {
	t.Parallel()
	dir := fakeKit(t)
	write(t, filepath.Join(dir, "hang"), "")
	results := filepath.Join(dir, "results")
	out, status := runKit(t, dir, []string{"OUT=" + results, "TIME=10"}, "--part", "profile")
	if status != 1 || !strings.Contains(out, "planned: out of time, run alone") ||
		!strings.Contains(out, "a report of ") {
		t.Errorf("got status %d and output %s; want status 1, %q and %q", status, out,
			"planned: out of time, run alone", "a report of ")
	}
	checkNoProcess(t, dir, 2)
	lines, parts, _ := resultsOf(t, results)
	if p := parts["profile"]; len(p) != 1 || p[0].Result != "out of time" {
		t.Errorf("got outcomes %+v, want one, out of time", p)
	}
	if l := lines["profile"]; len(l) != 3 || l[0].Command != "" || l[1].Status != 124 ||
		!strings.HasPrefix(l[1].Error, "out of time after ") ||
		!strings.HasPrefix(l[1].Command, "sftseq bench model --device vulkan --precision fp32") ||
		l[2].Error != "no time was left" {
		t.Errorf("got %+v, want a result, a command out of time and a command without time", l)
	}
}

// TestInterrupted checks that interrupting run.sh ends all its processes.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := fakeKit(t)
	write(t, filepath.Join(dir, "hang"), "")
	results := filepath.Join(dir, "results")
	c := command(t, dir, []string{"OUT=" + results}, "--part", "profile")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(dir, "hanging")); err == nil && bytes.HasSuffix(text, []byte("\n")) {
			break
		}
		if time.Now().After(deadline) {
			t.Error("run.sh started no hanging process within 20 s")
			break
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	begin := time.Now()
	if err := c.Wait(); err == nil || time.Since(begin) > 10*time.Second {
		t.Errorf("got error %v after %v, want an error within 10 s", err, time.Since(begin))
	}
	checkNoProcess(t, dir, 2)
}
