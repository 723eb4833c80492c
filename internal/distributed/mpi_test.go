//go:build linux && cgo

package distributed

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/testenv"
)

// workerVariable selects the function that a launched process runs instead of the tests.
const workerVariable = "SFTSEQ_MPI_TEST"

var workers = map[string]func(*World) error{
	"exchange": exchange,
	"silent":   silent,
	"leave":    func(w *World) error { return nil },
	"late":     late,
}

func TestMain(m *testing.M) {
	work := workers[os.Getenv(workerVariable)]
	if work == nil {
		os.Exit(m.Run())
	}
	if err := worker(work); err != nil {
		fmt.Println("error:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

func worker(work func(*World) error) error {
	timeout, _ := time.ParseDuration(os.Getenv("TIMEOUT"))
	w, err := JoinMPI(MPIOptions{Timeout: timeout})
	if err != nil {
		return err
	}
	if err := work(w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if w.Rank() != LaunchedRank() {
		return fmt.Errorf("rank %d, want rank %d as assigned by the launcher", w.Rank(), LaunchedRank())
	}
	fmt.Printf("rank %d of %d: well, %s\n", w.Rank(), w.Size(), w.Version())
	return nil
}

// launchers are Debian's launchers, with flags to start several processes on this machine.
var launchers = map[string][]string{
	"mpirun.openmpi": {"--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader,tcp", "--mca",
		"rtc_hwloc_vmhole", "none"},
	"mpirun.mpich": nil,
}

// launch runs workers and returns their output.
func launch(t *testing.T, launcher string, ranks int, worker string, environment ...string) (string, error) {
	t.Helper()
	out, err := launchFor(t, 2*time.Minute, launcher, ranks, worker, environment...)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%s, %d ranks, worker %s: still running after 2 minutes\n%s", launcher, ranks, worker, out)
	}
	return out, err
}

// launchFor runs workers, kills the launcher after the given time, and returns the output.
func launchFor(t *testing.T, limit time.Duration, launcher string, ranks int, worker string,
	environment ...string) (string, error) {
	t.Helper()
	testenv.Long(t, "starts processes")
	testenv.NeedPrograms(t, launcher)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, launcher,
		slices.Concat(launchers[launcher], []string{"-n", strconv.Itoa(ranks), os.Args[0]})...)
	c.Env = append(os.Environ(), workerVariable+"="+worker)
	c.Env = append(c.Env, environment...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	return string(out), cmp.Or(ctx.Err(), err)
}

func each(t *testing.T, f func(t *testing.T, launcher string)) {
	for name := range launchers {
		t.Run(name, func(t *testing.T) { f(t, name) })
	}
}

// TestExchange checks that each rank receives the words that were sent to it, for 1 and 3 ranks and
// for random numbers of words including 0.
func TestExchange(t *testing.T) {
	each(t, func(t *testing.T, launcher string) {
		for _, ranks := range []int{1, 3} {
			out, err := launch(t, launcher, ranks, "exchange")
			if n := strings.Count(out, fmt.Sprintf("of %d: well", ranks)); err != nil || n != ranks {
				t.Errorf("%d ranks: got error %v, success of %d ranks, want %[1]d\n%[4]s", ranks, err, n, out)
			}
		}
	})
}

// exchange makes calls with random numbers of words for each pair of ranks. All ranks draw the same
// numbers. Pauses between calls let rounds of the heartbeat run.
func exchange(w *World) error {
	random := rand.New(rand.NewPCG(1, uint64(w.Size())))
	word := func(from, to, i int) uint32 { return uint32(from<<28 | to<<24 | i) }
	for call := range 24 {
		sizes := make([][]int, w.Size()) // number of words from each rank to each rank
		for r := range sizes {
			for range w.Size() {
				n := random.IntN(3) * random.IntN(5)
				if random.IntN(10) == 0 {
					n = random.IntN(3e5)
				}
				sizes[r] = append(sizes[r], n)
			}
		}
		var send, wantAll, want []uint32
		var received []int
		gathered := make([]int, w.Size())
		for to, n := range sizes[w.Rank()] {
			for i := range n {
				send = append(send, word(w.Rank(), to, i))
			}
		}
		for from := range sizes {
			received = append(received, sizes[from][w.Rank()])
			for to, n := range sizes[from] {
				gathered[from] += n
				for i := range n {
					wantAll = append(wantAll, word(from, to, i))
				}
			}
			for i := range sizes[from][w.Rank()] {
				want = append(want, word(from, w.Rank(), i))
			}
		}
		got, all := make([]uint32, len(want)), make([]uint32, len(wantAll))
		if err := errors.Join(w.AllToAll(send, sizes[w.Rank()], got, received),
			w.AllGather(send, all, gathered)); err != nil {
			return err
		}
		if !slices.Equal(got, want) || !slices.Equal(all, wantAll) {
			return fmt.Errorf("call %d: the received words differ from the sent words", call)
		}
		if call%8 == w.Rank() {
			time.Sleep(time.Duration(300*(1+w.Rank())) * time.Millisecond)
		}
	}
	if err := w.AllGather([]uint32{1}, make([]uint32, 3), []int{1}); err == nil {
		return errors.New("got no error for counts of 1 word and a buffer of 3 words")
	}
	return nil
}

// TestSilent checks that the other ranks end with an error if a rank hangs during calls, between calls,
// or while the ranks leave the job. Open MPI's launcher reports the end of the other ranks and then kills
// the stopped rank. Once in several hundred launches, the launcher hangs at this point, which is not a
// fault of the ranks.
func TestSilent(t *testing.T) {
	const reported = "exited with non-zero status"
	each(t, func(t *testing.T, launcher string) {
		for _, when := range []string{"call", "between", "closing", "finalizing"} {
			out, err := launchFor(t, 20*time.Second, launcher, 3, "silent", "TIMEOUT=2s", "WHEN="+when)
			if errors.Is(err, context.DeadlineExceeded) && !strings.Contains(out, reported) {
				t.Errorf("%s: the ranks did not end in time\n%s", when, out)
			}
			if err == nil || strings.Contains(out, "well") ||
				!strings.Contains(out, "error: a rank has not responded for 2s") {
				t.Errorf("%s: got error %v, want ranks that fail after the timeout of 2s\n%s", when, err, out)
			}
		}
	})
}

func silent(w *World) error {
	when := os.Getenv("WHEN")
	if w.Rank() == 1 {
		if when == "finalizing" {
			if err := w.endHeartbeat(); err != nil {
				return err
			}
		}
		// The stopped rank must not outlive its launcher.
		if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG,
			uintptr(syscall.SIGKILL), 0); errno != 0 {
			return errno
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			return err
		}
	}
	switch when {
	case "closing", "finalizing":
		return nil // the worker closes the world
	case "between":
		for began := time.Now(); w.state() == nil && time.Since(began) < 10*time.Second; {
			time.Sleep(50 * time.Millisecond)
		}
		return w.state()
	}
	const n = 1000
	receive, freed := make([]uint32, 3*n), make(chan bool)
	runtime.SetFinalizer(&receive[0], func(*uint32) { close(freed) })
	failed := w.AllGather(make([]uint32, n), receive, []int{n, n, n})
	for range 3 {
		runtime.GC()
	}
	select {
	case <-freed:
		return errors.New("memory that MPI may still write was freed")
	case <-time.After(100 * time.Millisecond):
		return failed
	}
}

// TestLate checks that ranks wait for a living rank that leaves the job late.
func TestLate(t *testing.T) {
	each(t, func(t *testing.T, launcher string) {
		out, err := launch(t, launcher, 3, "late", "TIMEOUT=1s")
		if n := strings.Count(out, "of 3: well"); err != nil || n != 3 {
			t.Errorf("got error %v, success of %d ranks, want 3\n%s", err, n, out)
		}
	})
}

func late(w *World) error {
	if w.Rank() == 0 {
		time.Sleep(3 * time.Second)
	}
	return nil
}

// TestRefuses checks that a library that is missing, is not MPI, or does not connect the processes
// is an error with the reason.
func TestRefuses(t *testing.T) {
	each(t, func(t *testing.T, launcher string) {
		for _, c := range []struct{ environment, want string }{
			{MPIVariable + "=libnothing.so", "no MPI was found"},
			{MPIVariable + "=libc.so.6", "MPI_Init_thread is missing"},
		} {
			out, err := launch(t, launcher, 1, "leave", c.environment)
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%s: got error %v, want an error and the text %q\n%s", c.environment, err, c.want, out)
			}
		}
	})
	if out, err := launch(t, "mpirun.openmpi", 2, "leave", MPIVariable+"=libmpich.so.12"); err == nil ||
		!strings.Contains(out, "started 2 processes, but MPICH Version: ") {
		t.Errorf("MPICH under Open MPI's launcher: got error %v, want different numbers of processes\n%s", err, out)
	}
}

func TestLaunched(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS",
		"OMPI_COMM_WORLD_RANK", "PMI_RANK", MPIVariable} {
		t.Setenv(name, "")
	}
	if Launched() != 1 || LaunchedRank() != 0 {
		t.Error("without a launcher: want 1 process and rank 0")
	}
	t.Setenv("SLURM_STEP_NUM_TASKS", "4")
	if Launched() != 1 {
		t.Error("Slurm tasks without MPI: want 1 process")
	}
	t.Setenv("PMIX_RANK", "3")
	if Launched() != 4 || LaunchedRank() != 3 {
		t.Error("srun --mpi=pmix: want 4 processes and rank 3")
	}
	if got := mpiLibraries()[0]; got != "libmpi.so.40" {
		t.Errorf("first library without PMI_RANK: got %s, want libmpi.so.40", got)
	}
	t.Setenv("PMI_RANK", "2")
	if got := mpiLibraries()[0]; got != "libmpi.so.12" {
		t.Errorf("first library with PMI_RANK: got %s, want libmpi.so.12", got)
	}
	if !slices.ContainsFunc(knownMPI,
		func(k string) bool { return bytes.HasPrefix([]byte("Open MPI v5.0.3"), []byte(k)) }) {
		t.Error("knownMPI does not match Open MPI 5")
	}
}
