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

// result is what the fuzzer says of a target at its end.
type result struct {
	executions, interesting int
	took                    time.Duration
}

// runner runs targets one after the other.
type runner struct {
	dir     string // of the module
	self    string // this program
	time    string // for each, as -fuzztime takes it
	memory  int    // bytes, for each process
	scratch string // for the targets' files, in memory where there is such a place
}

// run fuzzes a target.
//
// What is interesting is not made smaller: inputs of kilobytes took all of a target's time.
// A process that asks for more memory than it may have ends, and with it the target: the
// input is kept under testdata/fuzz.
func (r *runner) run(ctx context.Context, t target) (result, error) {
	// Of the test alone, not of the compiler: what testing.T.TempDir is in, and the limit.
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
	found, wrong := parse(out)
	if err == nil || timeIsOver.Match(out) {
		err = wrong
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", t, err, out)
	}
	return found, err
}

// timeIsOver is what Go before 1.27 says now and then, where an input is being tried as the
// time ends (go.dev/issue/75804). No input failed: one that does is written to a file
// before, and no other line follows the target's name.
var timeIsOver = regexp.MustCompile(`(?m)^--- FAIL: \S+ \(\S+\)\n    context deadline exceeded\nFAIL$`)

// report is a line of the fuzzer's.
var report = regexp.MustCompile(`fuzz: elapsed: (\S+), execs: (\d+) .*, new interesting: (\d+) `)

// parse takes what a fuzzer's last line says.
func parse(out []byte) (r result, err error) {
	lines := report.FindAllSubmatch(out, -1)
	if len(lines) == 0 {
		return r, errors.New("nothing was executed: the time was not enough even for the inputs that are known")
	}
	last := lines[len(lines)-1]
	var wrong [3]error
	r.took, wrong[0] = time.ParseDuration(string(last[1]))
	r.executions, wrong[1] = strconv.Atoi(string(last[2]))
	r.interesting, wrong[2] = strconv.Atoi(string(last[3]))
	return r, errors.Join(wrong[:]...)
}
