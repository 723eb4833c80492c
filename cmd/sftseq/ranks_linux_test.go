package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/simd"
	"github.com/sftseq/sftseq/internal/testenv"
)

// launchers maps the MPI launchers of Debian to the flags with which they start several processes
// on one machine. Open MPI daemons that share /tmp crash occasionally when they write the machine's
// topology to shared memory (hwloc_shmem_topology_write). The parameter rtc_hwloc_vmhole=none
// prevents the write.
var launchers = map[string][]string{
	"mpirun.openmpi": {"--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader,tcp", "--mca",
		"rtc_hwloc_vmhole", "none"},
	"mpirun.mpich": nil,
}

// mpirun returns a command that starts a program on a number of ranks.
func mpirun(t *testing.T, launcher string, ranks int, command ...string) *exec.Cmd {
	t.Helper()
	testenv.NeedPrograms(t, launcher)
	c := exec.Command(launcher, slices.Concat(launchers[launcher], []string{"-n", strconv.Itoa(ranks)}, command)...)
	c.Env = append(os.Environ(), "OMPI_MCA_mpi_yield_when_idle=1")
	return c
}

// runWithin runs a command and returns its standard output and standard error. The test fails if the
// command runs for longer than the given duration.
func runWithin(t *testing.T, c *exec.Cmd, within time.Duration) (string, error) {
	t.Helper()
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	c.WaitDelay = 5 * time.Second
	must.Succeed(t, c.Start())
	hung := false
	timer := time.AfterFunc(within, func() { hung = true; _ = c.Process.Kill() })
	err := c.Wait()
	if timer.Stop(); hung {
		t.Fatalf("%v: still running after %v\n%s", c.Args, within, text.String())
	}
	return text.String(), err
}

// failsOnce checks that a command fails and that its output contains want exactly once.
func failsOnce(t *testing.T, c *exec.Cmd, want string) {
	t.Helper()
	if text, err := runWithin(t, c, time.Minute); err == nil || strings.Count(text, want) != 1 {
		t.Errorf("%v\n%s\nexpected once: %s", err, text, want)
	}
}

// rankArgs returns the arguments of a run whose batches keep three to five ranks busy.
func rankArgs(data, out string) []string {
	args := small(data, out)
	args[slices.Index(args, "--steps")+1], args[slices.Index(args, "--eval-every")+1] = "24", "10"
	return args
}

// rankRun generates rows that are long enough for several micro-batches per step and trains on them
// in one process. The tests of ranks share the run.
var rankRun = sync.OnceValues(func() (output []byte, err error) {
	data, whole := rankPaths()
	generate := []string{"data", "generate", "listops", "--out", data, "--train", "120", "--val", "70", "--test", "20",
		"--min-length", "200", "--max-length", "600"}
	for _, args := range [][]string{generate, rankArgs(data, whole)} {
		if output, err = exec.Command(filepath.Join(builtDir, "sftseq"), args...).CombinedOutput(); err != nil {
			break
		}
	}
	return output, err
})

func rankPaths() (data, run string) {
	return filepath.Join(builtDir, "rank-data"), filepath.Join(builtDir, "rank-run")
}

// rankData returns the program, and the directories of the data and of the run of [rankRun].
func rankData(t *testing.T) (program, data, whole string) {
	t.Helper()
	program = built(t)
	if out, err := rankRun(); err != nil {
		t.Fatalf("error %v, output:\n%s", err, out)
	}
	data, whole = rankPaths()
	return program, data, whole
}

// TestRanksOfMPI checks that 1, 2 and 3 ranks of each MPI implementation write the same model as
// one process, and that eval prints the same result.
func TestRanksOfMPI(t *testing.T) {
	program, data, whole := rankData(t)
	want := succeed(t, "", "eval", "--model", whole, "--data", data, "--json")
	t.Parallel()
	for launcher := range launchers {
		for _, ranks := range []int{1, 2, 3} {
			out := filepath.Join(t.TempDir(), "out")
			text, err := runWithin(t, mpirun(t, launcher, ranks, append([]string{program}, rankArgs(data, out)...)...),
				2*time.Minute)
			if err != nil {
				t.Fatalf("%s, %d ranks: %v\n%s", launcher, ranks, err, text)
			}
			compareRuns(t, whole, out)
			starts, err := provenance.ReadStarts(out)
			library := map[string]string{"mpirun.openmpi": "Open MPI ", "mpirun.mpich": "MPICH "}[launcher]
			if err != nil || len(starts) != 1 || ranks > 1 &&
				(starts[0].Ranks != ranks || !strings.HasPrefix(starts[0].MPI, library)) ||
				ranks == 1 && starts[0].Ranks != 0 {
				t.Errorf("%s, %d ranks: got starts %+v, error %v; want one start, error <nil>; for one rank Ranks 0, "+
					"for several the number of ranks and an MPI that begins with %q", launcher, ranks, starts, err,
					library)
			} else if want := fmt.Sprintf(", %d ranks (%s), 24 steps\n", ranks, starts[0].MPI); strings.Count(text,
				want) != min(1, ranks-1) {
				t.Errorf("%s, %d ranks: got %d times %q, want %d, in\n%s", launcher, ranks, strings.Count(text, want),
					want, min(1, ranks-1), text)
			}
			equal(t, strings.Count(text, "repeat with: "), 1, launcher, ranks)
			if ranks > 1 && !strings.Contains(text, fmt.Sprintf("of %d ranks busy", ranks)) {
				t.Errorf("%s: got output\n%s\nwant it to contain \"of %d ranks busy\"", launcher, text, ranks)
			}
			text, err = runWithin(t, mpirun(t, launcher, ranks, program, "eval", "--model", whole, "--data",
				data, "--json"), time.Minute)
			if err != nil || !strings.HasSuffix(text, want) || strings.Count(text, want) != 1 {
				t.Errorf("%s, eval of %d ranks: %v\n%s\nexpected\n%s", launcher, ranks, err, text, want)
			}
		}
	}
}

// TestRanksStopAt checks that --stop-at prints, on several ranks, the command that resumes the run
// on any number of ranks.
func TestRanksStopAt(t *testing.T) {
	program, data, _ := rankData(t)
	out := filepath.Join(t.TempDir(), "out")
	args := append(append([]string{program}, rankArgs(data, out)...), "--stop-at", "3")
	text, err := runWithin(t, mpirun(t, "mpirun.openmpi", 2, args...), time.Minute)
	if want := "stopped at step 3 and stored the checkpoint; continue with (on any number of ranks):\n  sftseq " +
		"train listops --out " + out + " --resume"; err != nil || strings.Count(text, want) != 1 {
		t.Errorf("%v\n%s\nexpected once: %s", err, text, want)
	}
	failsOnce(t, mpirun(t, "mpirun.openmpi", 2, append(args, "--resume")...),
		"--stop-at 3: expected a step after 3")
}

// processesOf returns the ids of the processes whose executable is program.
func processesOf(t *testing.T, program string) (out []int) {
	t.Helper()
	for _, link := range must.Get(filepath.Glob("/proc/[0-9]*/exe"))(t) {
		if path, err := os.Readlink(link); err == nil && path == program {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			out = append(out, pid)
		}
	}
	return out
}

// TestKillsOfRanks kills one rank at random moments and resumes the run with another number of
// ranks. The final run equals an uninterrupted run.
func TestKillsOfRanks(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sftseq") // a file that no other test runs
	shared, data, whole := rankData(t)
	t.Parallel()
	must.Succeed(t, os.Link(shared, program))
	resumed := filepath.Join(t.TempDir(), "resumed")
	k := newKiller(t, 5)
	for try := 0; ; try++ {
		args := append([]string{program}, rankArgs(data, resumed)...)
		if _, err := os.Stat(filepath.Join(resumed, "last", "checkpoint.safetensors")); err == nil {
			args = append(args, "--resume")
		}
		launcher := []string{"mpirun.openmpi", "mpirun.mpich"}[try%2]
		ranks := 2 + try%3
		c := mpirun(t, launcher, ranks, args...)
		if k.wantsMore(t) {
			after := time.Duration(k.random.Float64() * float64(4*time.Second))
			victim := k.random.Float64()
			go func() {
				time.Sleep(after)
				if found := processesOf(t, program); len(found) > 0 {
					_ = syscall.Kill(found[int(victim*float64(len(found)))], syscall.SIGKILL)
				}
			}()
		}
		text, err := runWithin(t, c, 90*time.Second)
		if err == nil && !k.wantsMore(t) {
			break
		}
		if err == nil {
			k.ended++
			must.Succeed(t, os.RemoveAll(resumed))
			continue
		}
		k.killed++
		if remaining := processesOf(t, program); len(remaining) > 0 {
			t.Fatalf("%s left %d processes behind\n%s", launcher, len(remaining), text)
		}
	}
	compareRuns(t, whole, resumed)
}

// TestRanksDiffer checks that the error names a rank whose data, settings, kernels or program
// differ from those of rank 0, and that training then writes no file. It also checks that predict
// refuses several ranks.
func TestRanksDiffer(t *testing.T) {
	program, data, _ := rankData(t)
	others := smallData(t)
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	first := append([]string{"-n", "2", program}, rankArgs(data, out)...)
	used := must.Get(simd.Best())(t)
	kernels := simd.Levels() // SFTSEQ_SIMD may have chosen any of them for this test
	other := kernels[len(kernels)-1]
	if other == used {
		other = kernels[0]
	}
	for name, c := range map[string]struct {
		second []string
		want   string
	}{
		"data": {append([]string{"-n", "1", program}, rankArgs(others, out)...),
			"rank 2 differs from rank 0 in rows for training and validation"},
		"settings": {append(append([]string{"-n", "1", program}, rankArgs(data, out)...), "--lr", "0.5"),
			"rank 2 differs from rank 0 in settings"},
		"instructions": {append([]string{"-n", "1", "env", simd.Variable + "=" + other.Name, program},
			rankArgs(data, out)...), "rank 2 differs from rank 0 in kernels: it has " + other.Name},
		"missing data": {append([]string{"-n", "1", program}, rankArgs(filepath.Join(data, "missing"), out)...),
			"sftseq: rank 2: stat " + filepath.Join(data, "missing")},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.NeedPrograms(t, "mpirun.openmpi")
			args := slices.Concat(launchers["mpirun.openmpi"], first, []string{":"}, c.second)
			failsOnce(t, exec.Command("mpirun.openmpi", args...), c.want)
			noFile(t, out)
			must.Succeed(t, os.RemoveAll(out)) // must not exist in the next case
		})
	}
	changed := filepath.Join(t.TempDir(), "changed")
	file := must.Get(os.ReadFile(program))(t)
	must.Succeed(t, os.WriteFile(changed, append(file, 0), 0o755)) // the file still runs
	rows, _ := sequences(t, 8)
	others, _ = sequences(t, 9)
	eval := func(data string) []string { return []string{"eval", "--model", goldenPath("pre"), "--data", data} }
	for name, c := range map[string]struct {
		second []string
		want   string
	}{
		"program": {append([]string{changed}, eval(rows)...), "rank 1 differs from rank 0 in the program"},
		"instructions": {append([]string{"env", simd.Variable + "=" + other.Name, program}, eval(rows)...),
			"rank 1 differs from rank 0 in kernels: it has " + other.Name},
		"data": {append([]string{program}, eval(others)...), "rank 1 differs from rank 0 in the data"},
	} {
		t.Run("eval "+name, func(t *testing.T) {
			testenv.NeedPrograms(t, "mpirun.openmpi")
			args := slices.Concat(launchers["mpirun.openmpi"], []string{"-n", "1", program}, eval(rows),
				[]string{":", "-n", "1"}, c.second)
			failsOnce(t, exec.Command("mpirun.openmpi", args...), c.want)
		})
	}
	failsOnce(t, mpirun(t, "mpirun.openmpi", 2, program, "predict", "--model", "none"),
		"only train, pretrain and eval run on several ranks")
}

// TestRanksJoinFails checks that an error while the ranks join, here a hidden /proc on rank 1, is
// printed once, and that all ranks exit cleanly.
func TestRanksJoinFails(t *testing.T) {
	testenv.NeedRoot(t, "to hide /proc")
	testenv.NeedPrograms(t, "mpirun.openmpi", "unshare")
	program := built(t)
	data, _ := sequences(t, 2)
	eval := []string{program, "eval", "--model", goldenPath("pre"), "--data", data}
	hidden := []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs none /proc && exec "$@"`, "sh"}
	if out, err := exec.Command(hidden[0], append(hidden[1:], "true")...).CombinedOutput(); err != nil {
		testenv.Missing(t, "root that may hide /proc", fmt.Errorf("%w: %s", err, out))
	}
	args := slices.Concat(launchers["mpirun.openmpi"], []string{"-n", "1"}, eval,
		[]string{":", "-n", "1"}, hidden, eval)
	text, err := runWithin(t, exec.Command("mpirun.openmpi", args...), time.Minute)
	if err == nil || strings.Count(text, "/proc/self/status") != 1 ||
		!strings.Contains(text, "sftseq: rank 1: open /proc/self/status") {
		t.Errorf("got error %v, output:\n%s\nwant an error, and /proc/self/status once, after %q", err, text,
			"sftseq: rank 1: open ")
	}
	notContains(t, text, "MPI_Finalize", "finalize")
}

// TestRanksFullDisk checks that all ranks stop with rank 0's error if the disk is full, and that
// the last checkpoint is complete.
func TestRanksFullDisk(t *testing.T) {
	testenv.NeedRoot(t, "to mount a small file system")
	program, data, whole := rankData(t)
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk).CombinedOutput(); err != nil {
		testenv.Missing(t, "root that may mount file systems", fmt.Errorf("%w: %s", err, out))
	}
	t.Cleanup(func() { _ = exec.Command("umount", disk).Run() })
	out, ballast := filepath.Join(disk, "out"), filepath.Join(disk, "ballast")
	c := mpirun(t, "mpirun.openmpi", 3, append([]string{program}, rankArgs(data, out)...)...)
	go func() {
		for range 600 {
			if _, err := os.Stat(filepath.Join(out, "last", "checkpoint.safetensors")); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		_ = os.WriteFile(ballast, make([]byte, 1<<20), 0o666) // fills the disk
	}()
	text, err := runWithin(t, c, time.Minute)
	if err == nil || strings.Count(text, "no space left on device") != 1 {
		t.Fatalf("got error %v, output:\n%s\nwant an error, and \"no space left on device\" once", err, text)
	}
	must.Succeed(t, os.Remove(ballast))
	if text, err := runWithin(t, mpirun(t, "mpirun.openmpi", 2,
		append(append([]string{program}, rankArgs(data, out)...),
			"--resume")...), time.Minute); err != nil {
		t.Fatalf("error %v, output:\n%s", err, text)
	}
	compareRuns(t, whole, out)
}

// network is a set of network namespaces on one bridge. MPI treats each namespace as a machine.
type network struct{ hosts int }

func newNetwork(t *testing.T, hosts int) *network {
	t.Helper()
	testenv.NeedRoot(t, "for network namespaces")
	testenv.NeedPrograms(t, "ip")
	n := &network{hosts}
	t.Cleanup(n.remove)
	n.remove() // a killed test may have left namespaces
	n.ip(t, "netns add sftseq-switch")
	n.ip(t, "-n sftseq-switch link add bridge type bridge")
	n.ip(t, "-n sftseq-switch link set bridge up")
	for i := 1; i <= hosts; i++ {
		n.ip(t, fmt.Sprintf("netns add sftseq-host%d", i))
		n.ip(t, fmt.Sprintf("link add sfteth%d netns sftseq-host%d type veth peer name port%d netns sftseq-switch", i,
			i, i))
		n.ip(t, fmt.Sprintf("-n sftseq-switch link set port%d master bridge up", i))
		n.ip(t, fmt.Sprintf("-n sftseq-host%d addr add 10.77.0.%d/24 dev sfteth%d", i, i, i))
		n.ip(t, fmt.Sprintf("-n sftseq-host%d link set sfteth%d up", i, i))
		n.ip(t, fmt.Sprintf("-n sftseq-host%d link set lo up", i))
		// TCP sends no keepalive probes while mpirun's request to end is in flight, and mpirun
		// waits for the daemon until TCP stops retransmitting. The setting shortens this wait from
		// 15 minutes to seconds.
		setRetries := exec.Command("ip", "netns", "exec", fmt.Sprintf("sftseq-host%d", i), "sh", "-c",
			"echo 4 > /proc/sys/net/ipv4/tcp_retries2")
		if out, err := setRetries.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", setRetries, err, out)
		}
	}
	return n
}

func (n *network) ip(t *testing.T, command string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
		testenv.Missing(t, "root that may create network namespaces", fmt.Errorf("ip %s: %w: %s", command, err, out))
	}
}

// remove kills the processes on the hosts, then deletes the namespaces. A daemon whose link was cut
// would otherwise wait forever.
func (n *network) remove() {
	for i := 1; i <= n.hosts; i++ {
		host := fmt.Sprintf("sftseq-host%d", i)
		pids, _ := exec.Command("ip", "netns", "pids", host).Output()
		for pid := range strings.FieldsSeq(string(pids)) {
			if id, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(id, syscall.SIGKILL)
			}
		}
		_ = exec.Command("ip", "netns", "del", host).Run()
	}
	_ = exec.Command("ip", "netns", "del", "sftseq-switch").Run()
}

// agent is a shell script that starts a daemon of mpirun on another host, in place of ssh. Its
// first argument is an IP address. Each host gets its own host name because a daemon names its
// directory in /tmp after the host and empties that directory at startup.
const agent = `#!/bin/sh
host=sftseq-host${1##*.}
shift
exec ip netns exec $host unshare --uts sh -c "echo $host > /proc/sys/kernel/hostname; $*"
`

// mpirun returns a command that starts one rank on each of a number of hosts, which are connected
// by TCP only.
func (n *network) mpirun(t *testing.T, hosts int, command ...string) *exec.Cmd {
	t.Helper()
	script := filepath.Join(t.TempDir(), "agent")
	must.Succeed(t, os.WriteFile(script, []byte(agent), 0o755))
	var names []string
	for i := 1; i <= hosts; i++ {
		names = append(names, fmt.Sprintf("10.77.0.%d", i))
	}
	args := append([]string{"netns", "exec", "sftseq-host1", "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
		"--bind-to", "none", "--host", strings.Join(names, ","),
		"-n", strconv.Itoa(hosts), "--mca", "plm_rsh_agent", script, "--mca", "btl", "self,tcp", "--mca",
		"btl_tcp_if_include", "10.77.0.0/24",
		"--mca", "rtc_hwloc_vmhole", "none", "--mca", "oob_tcp_if_include", "10.77.0.0/24", "--mca",
		"oob_tcp_keepalive_time", "2", "--mca", "oob_tcp_keepalive_intvl", "1", "--mca",
		"oob_tcp_keepalive_probes", "3"}, command...)
	return exec.Command("ip", args...)
}

// TestRanksOfHosts checks that one, two and three hosts on a network write the same model as one
// process. If a link is cut, all ranks exit within 30 seconds and leave a checkpoint.
func TestRanksOfHosts(t *testing.T) {
	testenv.NeedPrograms(t, "mpirun.openmpi")
	program, data, whole := rankData(t)
	t.Parallel()
	net := newNetwork(t, 3)
	for hosts := 1; hosts <= 3; hosts++ {
		out := filepath.Join(t.TempDir(), "out")
		text, err := runWithin(t, net.mpirun(t, hosts, append([]string{program}, rankArgs(data, out)...)...),
			2*time.Minute)
		if err != nil {
			t.Fatalf("%d hosts: %v\n%s", hosts, err, text)
		}
		compareRuns(t, whole, out)
	}

	out := filepath.Join(t.TempDir(), "out")
	args := append(rankArgs(data, out), "--rank-timeout", "3s")
	args[slices.Index(args, "--steps")+1] = "4000"
	start, stored := time.Now(), filepath.Join(out, "last", "checkpoint.safetensors")
	cutAt := make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil { // until a checkpoint exists
			if _, err := os.Stat(stored); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		_ = exec.Command("ip", "-n", "sftseq-switch", "link", "set", "port2", "down").Run()
		cutAt <- time.Now()
	}()
	text, err := runWithin(t, net.mpirun(t, 3, append([]string{program}, args...)...), 2*time.Minute)
	if err == nil || !strings.Contains(text, "not responded for 3s") {
		t.Fatalf("got error %v after %v, output\n%s\nwant an error and \"not responded for 3s\"", err,
			time.Since(start), text)
	}
	select {
	case cut := <-cutAt:
		elapsed := time.Since(cut)
		t.Logf("the job ended %v after the cut", elapsed)
		if elapsed > 30*time.Second {
			t.Errorf("the job ended %v after the cut, want at most 30s\n%s", elapsed, text)
		}
	default:
		t.Errorf("the job ended before the cut, want after it\n%s", text)
	}
	if _, err := os.Stat(stored); err != nil {
		t.Error(err)
	}
}
