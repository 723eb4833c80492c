package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// result is the last report that the fuzzer printed for a target.
type result struct {
	executions, interesting int
	took                    time.Duration
}

// runner runs targets sequentially.
type runner struct {
	dir     string // root directory of the module
	self    string // this program
	time    string // time per target, in the format of -fuzztime
	memory  int    // memory limit per process in bytes
	scratch string // directory for the targets' files, in main memory if possible
}

// run fuzzes a target.
//
// Interesting inputs are not minimised, because the minimisation of inputs of kilobytes would take
// all of a target's time. A process that exceeds its memory limit ends, and the target ends with it;
// the input is stored under testdata/fuzz.
func (r *runner) run(ctx context.Context, t target) (result, error) {
	// Settings for the test but not for the compiler: the parent directory of testing.T.TempDir,
	// and the memory limit.
	limited := fmt.Sprintf(`env TMPDIR=%[1]s GOTMPDIR=%[1]s GOMEMLIMIT=%[2]d sh -c 'ulimit -v %[3]d 2>/dev/null; exec "$0" "$@"'`, r.scratch, r.memory/2, r.memory>>10)
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", r.time,
		"-fuzzminimizetime", "0x",
		"-toolexec", fmt.Sprintf("'%s' %s", r.self, toolArgument), "-exec", limited, t.pkg)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	c.Dir = r.dir
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	found, parseErr := parse(out)
	if err == nil || deadlineFailure.Match(out) {
		err = parseErr
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", t, err, out)
	}
	return found, err
}

// deadlineFailure matches a spurious failure of go test that occurs if an input is running when the
// time ends (go.dev/issue/75804). For a failing input, Go prints another line after the
// target's name and writes the input to a file.
var deadlineFailure = regexp.MustCompile(`(?m)^--- FAIL: \S+ \(\S+\)\n    context deadline exceeded\nFAIL$`)

// report matches a progress line of the fuzzer.
var report = regexp.MustCompile(`fuzz: elapsed: (\S+), execs: (\d+) .*, new interesting: (\d+) `)

// parse returns the last report in the fuzzer's output.
func parse(out []byte) (r result, err error) {
	lines := report.FindAllSubmatch(out, -1)
	if len(lines) == 0 {
		return r, errors.New("nothing was executed: the time was too short even for the known inputs")
	}
	last := lines[len(lines)-1]
	var errs [3]error
	r.took, errs[0] = time.ParseDuration(string(last[1]))
	r.executions, errs[1] = strconv.Atoi(string(last[2]))
	r.interesting, errs[2] = strconv.Atoi(string(last[3]))
	return r, errors.Join(errs[:]...)
}
