package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// eightShards is a job of eight shards: the command, the output directory, and the rows that the
// command writes as a single shard.
type eightShards struct {
	command []string // command line of predict, without --shard
	dir     string
	want    []string // expected rows
}

func newEightShards(t *testing.T) *eightShards {
	t.Helper()
	testenv.Long(t, "starts many processes")
	program, model := built(t), moodModel(t)
	in, _ := shardInput(t)
	command := []string{program, "predict", "--model", model, "--input", in, "--text", "text", "--output"}
	unsharded := filepath.Join(t.TempDir(), "one")
	timed(t, program, append(command[1:len(command):len(command)], unsharded, "--shard", "0/1")...)
	s := &eightShards{dir: filepath.Join(t.TempDir(), "parts")}
	s.command = append(command, s.dir)
	s.want, _ = partRows(t, unsharded)
	return s
}

// parts returns the existing parts with their modification times.
func (s *eightShards) parts(t *testing.T) map[string]time.Time {
	t.Helper()
	found := must.Get(filepath.Glob(filepath.Join(s.dir, "part-*.arrow")))(t)
	out := map[string]time.Time{}
	for _, path := range found {
		out[path] = must.Get(os.Stat(path))(t).ModTime()
	}
	return out
}

// waitForParts waits until at least the given number of parts exist.
func (s *eightShards) waitForParts(t *testing.T, parts int) {
	t.Helper()
	await(t, time.Minute, func() bool { return len(s.parts(t)) >= parts }, "parts are missing")
}

// check compares the rows of all parts with those of a single shard. It also checks that the parts in
// before, the parts that existed before the kill, were not written again.
func (s *eightShards) check(t *testing.T, before map[string]time.Time) {
	t.Helper()
	after := s.parts(t)
	for path, modified := range before {
		if !after[path].Equal(modified) {
			t.Errorf("%s was written again or removed", path)
		}
	}
	succeed(t, "", "predict", "--verify", "--shard", "auto/8", "--output", s.dir)
	if rows, _ := partRows(t, s.dir); !slices.Equal(rows, s.want) {
		t.Errorf("%d rows differ from the %d rows of a single shard", len(rows), len(s.want))
	}
	t.Logf("%d of 8 parts existed before the kill", len(before))
}

// TestShardsOfParallel runs eight shards with GNU parallel, kills it midway and runs it again.
func TestShardsOfParallel(t *testing.T) {
	testenv.NeedPrograms(t, "parallel")
	s := newEightShards(t)
	parallel := func() *exec.Cmd {
		c := exec.Command("parallel", slices.Concat([]string{"--jobs", "2"}, s.command,
			[]string{"--shard", "{}/8", ":::"}, strings.Fields("0 1 2 3 4 5 6 7"))...)
		c.Env = append(os.Environ(), "HOME="+t.TempDir()) // parallel writes its state to HOME
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return c
	}
	c := parallel()
	must.Succeed(t, c.Start())
	s.waitForParts(t, 3)
	for _, pid := range append(processesOf(t, s.command[0]), c.Process.Pid) { // jobs run in their own process groups
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := c.Wait(); err == nil {
		t.Fatal("parallel exited with status 0, want it killed by SIGKILL")
	}
	time.Sleep(200 * time.Millisecond) // a job that parallel had just started may still finish
	before := s.parts(t)
	if text, err := runWithin(t, parallel(), time.Minute); err != nil {
		t.Fatalf("error %v, output:\n%s", err, text)
	}
	s.check(t, before)
}

// slurm is a Slurm cluster of one machine, whose daemons run until the test ends.
type slurm struct{ conf string }

// slurmConf is a format string for the host, the directory and two ports.
const slurmConf = `ClusterName=sftseq
SlurmctldHost=%[1]s(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmUser=root
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
ReturnToService=2
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP
`

func newSlurm(t *testing.T) *slurm {
	t.Helper()
	testenv.Long(t, "starts daemons")
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		testenv.NeedPrograms(t, name)
	}
	testenv.NeedRoot(t, "to run slurmd")
	host := must.Get(os.Hostname())(t)
	host, _, _ = strings.Cut(host, ".")
	dir := must.Get(os.MkdirTemp("", "slurm"))(t) // socket paths must be short
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Succeed(t, os.Chmod(dir, 0o755)) // munged refuses other permissions
	s := &slurm{filepath.Join(dir, "slurm.conf")}
	writeText(t, s.conf, fmt.Sprintf(slurmConf, host, dir, vacantPort(t), vacantPort(t)))
	key := filepath.Join(dir, "munge.key")
	must.Succeed(t, os.WriteFile(key, []byte(strings.Repeat("not a secret ", 10)), 0o600))
	s.daemon(t, "munged", "--foreground", "--force", "--key-file", key, "--socket", filepath.Join(dir, "munge.socket"),
		"--seed-file", filepath.Join(dir, "seed"), "--pid-file", filepath.Join(dir, "munge.pid"))
	await(t, 10*time.Second, func() bool { return exists(filepath.Join(dir, "munge.socket")) },
		"munged does not listen")
	s.daemon(t, "slurmctld", "-D", "-i", "-f", s.conf)
	s.daemon(t, "slurmd", "-D", "-f", s.conf)
	await(t, 30*time.Second, func() bool {
		text, err := s.command("sinfo", "--noheader", "--format", "%T").CombinedOutput()
		return err == nil && strings.TrimSpace(string(text)) == "idle"
	}, "the cluster is not idle")
	return s
}

// vacantPort returns a free TCP port.
func vacantPort(t *testing.T) int {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// daemon runs a program until the test ends, and logs its output if the test failed.
func (s *slurm) daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, name, args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	c.Env = append(os.Environ(), "SLURM_CONF="+s.conf)
	text := &strings.Builder{}
	c.Stdout, c.Stderr = text, text
	must.Succeed(t, c.Start())
	t.Cleanup(func() {
		cancel()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, text)
		}
	})
}

func (s *slurm) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "SLURM_CONF="+s.conf)
	return c
}

// drain waits until the queue is empty.
func (s *slurm) drain(t *testing.T) {
	t.Helper()
	await(t, time.Minute, func() bool {
		queue, err := s.command("squeue", "--noheader").Output()
		return err == nil && len(queue) == 0
	}, "jobs remain in the queue")
}

// TestShardsOfSlurm runs eight shards as a Slurm array, cancels it midway and submits it again. The
// tasks determine their shards from Slurm's environment variables.
func TestShardsOfSlurm(t *testing.T) {
	cluster := newSlurm(t)
	s := newEightShards(t)
	logs := t.TempDir()
	submit := func(flags ...string) *exec.Cmd {
		args := append(flags, "--parsable", "--array=0-7", "--output", filepath.Join(logs, "%a.log"), "--wrap",
			"exec '"+strings.Join(s.command, "' '")+"/'")
		return cluster.command("sbatch", args...)
	}
	job := must.Get(submit().Output())(t)
	s.waitForParts(t, 3)
	if out, err := cluster.command("scancel", "--signal=KILL",
		strings.TrimSpace(string(job))).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = cluster.command("scancel", strings.TrimSpace(string(job))).Run() // cancels the waiting tasks
	cluster.drain(t)
	before := s.parts(t)
	if text, err := submit().CombinedOutput(); err != nil {
		t.Fatalf("error %v, output:\n%s", err, text)
	}
	cluster.drain(t)
	s.check(t, before)
}

// TestRanksOfSlurm checks that ranks started by srun with PMIx write the same model as one process.
func TestRanksOfSlurm(t *testing.T) {
	testenv.NeedPrograms(t, "mpirun.openmpi") // the program loads its MPI library
	cluster := newSlurm(t)
	program, data, whole := rankData(t)
	out := filepath.Join(t.TempDir(), "out")
	c := cluster.command("srun", append([]string{"--mpi=pmix", "--ntasks=2", program}, rankArgs(data, out)...)...)
	c.Env = append(c.Env, "OMPI_MCA_btl=self,vader,tcp")
	text, err := runWithin(t, c, 2*time.Minute)
	if err != nil || !strings.Contains(text, "of 2 ranks busy") {
		t.Fatalf("got error %v, want none, and \"of 2 ranks busy\" in the output:\n%s", err, text)
	}
	compareRuns(t, whole, out)
}
