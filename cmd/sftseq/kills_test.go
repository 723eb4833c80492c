package main

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// kills is the value of -kills (make kills). Each kill test kills a sixth as many processes, at least one.
var kills = flag.Int("kills", 20, "each of the tests TestKills… kills a sixth of `N` processes, at least one")

// killer kills the program at random moments.
type killer struct {
	random *rand.Rand
	wanted int // number of kills
	killed int
	ended  int // processes that exited before their kill
}

// newKiller returns a killer for one test. It kills a sixth of -kills processes, at least one.
func newKiller(t *testing.T, seed uint64) *killer {
	k := &killer{random: rand.New(rand.NewPCG(seed, 0)), wanted: max(1, *kills/6)}
	t.Cleanup(func() { t.Logf("killed %d processes; %d processes exited before their kill", k.killed, k.ended) })
	return k
}

// wantsMore reports whether more kills follow. It fails the test if too few processes could be killed.
func (k *killer) wantsMore(t *testing.T) bool {
	t.Helper()
	if k.killed >= k.wanted {
		return false
	}
	if k.ended > 10*k.wanted {
		t.Fatalf("%d processes exited before their kill, %d were killed", k.ended, k.killed)
	}
	return true
}

// run starts the program and kills it after a random time between 0 and within. It reports
// whether the program succeeded before the kill. If the program exits with an error, the test fails.
func (k *killer) run(t *testing.T, within time.Duration, program string, args ...string) (ended bool) {
	t.Helper()
	c := exec.Command(program, args...)
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	must.Succeed(t, c.Start())
	timer := time.AfterFunc(time.Duration(k.random.Float64()*float64(within)), func() { _ = c.Process.Kill() })
	err := c.Wait()
	timer.Stop()
	if err == nil {
		k.ended++
		return true
	}
	k.expectKilled(t, c, text.String())
	return false
}

// expectKilled checks that a process ended by SIGKILL, and counts it.
func (k *killer) expectKilled(t *testing.T, c *exec.Cmd, text string) {
	t.Helper()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() ||
		status.Signal() != syscall.SIGKILL {
		t.Fatalf("%v: got %v, want it killed by SIGKILL\n%s", c.Args, c.ProcessState, text)
	}
	k.killed++
}

// timed runs the program to completion and returns its duration.
func timed(t *testing.T, program string, args ...string) time.Duration {
	t.Helper()
	start := time.Now()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return time.Since(start)
}
