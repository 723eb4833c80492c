//go:build linux && cgo

package distributed

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A handle is a pointer in Open MPI and an int in MPICH. Both are passed in one 64-bit register; the
// callee reads as many bits as it needs. A handle that MPI writes must be 0 before the call, because
// MPICH writes only half of it.
typedef uintptr_t handle;

static struct {
	handle world, word, errors_return;
	int (*Init_thread)(int *, char ***, int, int *);
	int (*Finalize)(void);
	int (*Get_library_version)(char *, int *);
	int (*Error_string)(int, char *, int *);
	int (*Comm_set_errhandler)(handle, handle);
	int (*Comm_dup)(handle, handle *);
	int (*Comm_rank)(handle, int *);
	int (*Comm_size)(handle, int *);
	int (*Ialltoallv)(const void *, const int *, const int *, handle, void *, const int *, const int *, handle, handle, handle *);
	int (*Iallgatherv)(const void *, int, handle, void *, const int *, const int *, handle, handle, handle *);
	int (*Ibarrier)(handle, handle *);
	int (*Test)(handle *, int *, void *);
} mpi;

static const char *mpi_load(const char *name) {
	void *lib = dlopen(name, RTLD_NOW | RTLD_GLOBAL); // plugins of Open MPI look for its symbols
	if (!lib) return dlerror();
	#define SYMBOL(field) if (!(*(void **)&mpi.field = dlsym(lib, "MPI_" #field))) return "MPI_" #field " is missing"
	SYMBOL(Init_thread); SYMBOL(Finalize); SYMBOL(Get_library_version); SYMBOL(Error_string);
	SYMBOL(Comm_set_errhandler); SYMBOL(Comm_dup); SYMBOL(Comm_rank); SYMBOL(Comm_size);
	SYMBOL(Ialltoallv); SYMBOL(Iallgatherv); SYMBOL(Ibarrier); SYMBOL(Test);
	if (dlsym(lib, "ompi_mpi_comm_world")) { // handles are addresses
		mpi.world = (handle)dlsym(lib, "ompi_mpi_comm_world");
		mpi.word = (handle)dlsym(lib, "ompi_mpi_int");
		mpi.errors_return = (handle)dlsym(lib, "ompi_mpi_errors_return");
	} else { // the numbers of MPICH's binary interface
		mpi.world = 0x44000000; mpi.word = 0x4c000405; mpi.errors_return = 0x54000001;
	}
	return mpi.world && mpi.word && mpi.errors_return ? NULL : "MPI_COMM_WORLD, MPI_INT or MPI_ERRORS_RETURN is missing";
}

// Open MPI's signal handler would replace Go's, which turns a crash into a panic.
static void mpi_prepare(void) { setenv("OMPI_MCA_opal_signal", "", 0); }

static void mpi_version(char *text, int *n) { mpi.Get_library_version(text, n); }
static void mpi_describe(int e, char *text, int *n) { mpi.Error_string(e, text, n); }
static int mpi_finalize(void) { return mpi.Finalize(); }

#define SILENT (-1) // result of a call in which a rank did not respond within the timeout

// The heartbeat detects dead ranks: a barrier that runs repeatedly, concurrently with all other calls.
static struct {
	handle communicator, request;
	int pending, stopped;
	int rounds; // rounds begun by this rank
	double begun, ended, timeout; // seconds
} heartbeat;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int done(handle *request, int *flag) {
	uint64_t status[16]; // larger than the status of any library
	return mpi.Test(request, flag, status);
}

static int begin_round(double t) {
	heartbeat.pending = 1;
	heartbeat.begun = t;
	heartbeat.rounds++;
	heartbeat.request = 0;
	return mpi.Ibarrier(heartbeat.communicator, &heartbeat.request);
}

static int mpi_heartbeat(void) {
	double t = now();
	if (!heartbeat.pending) return heartbeat.stopped || t - heartbeat.ended < 1 ? 0 : begin_round(t);
	int flag = 0, e = done(&heartbeat.request, &flag);
	if (e) return e;
	if (flag) {
		heartbeat.pending = 0;
		heartbeat.ended = t;
	} else if (t - heartbeat.begun > heartbeat.timeout) {
		return SILENT;
	}
	return 0;
}

// finish waits for a request. It yields the CPU every 32 polls, and sleeps instead after 5 ms, because
// ranks may share a CPU. After the heartbeat has stopped, all ranks are about to leave, so a request that
// takes longer than the timeout means that a rank is silent.
static int finish(handle *request) {
	double begun = now();
	for (int n = 1;; n++) {
		int flag = 0, e = done(request, &flag);
		if (e || flag) return e;
		if (n % 32) continue;
		if ((e = mpi_heartbeat())) return e;
		if (heartbeat.stopped && now() - begun > heartbeat.timeout) return SILENT;
		if (now() - begun < 5e-3) {
			sched_yield();
		} else {
			struct timespec pause = {0, 20000};
			nanosleep(&pause, NULL);
		}
	}
}

static int mpi_init(double timeout, int *rank, int *size) {
	int e, thread;
	if ((e = mpi.Init_thread(NULL, NULL, 1, &thread))) return e; // MPI_THREAD_FUNNELED
	if ((e = mpi.Comm_set_errhandler(mpi.world, mpi.errors_return))) return e;
	if ((e = mpi.Comm_dup(mpi.world, &heartbeat.communicator))) return e;
	if ((e = mpi.Comm_set_errhandler(heartbeat.communicator, mpi.errors_return))) return e;
	heartbeat.timeout = timeout;
	heartbeat.ended = now();
	if ((e = mpi.Comm_rank(mpi.world, rank))) return e;
	return mpi.Comm_size(mpi.world, size);
}

static int mpi_all_to_all(const void *send, const int *counts, const int *at, void *receive, const int *receive_counts, const int *receive_at) {
	handle request = 0;
	int e = mpi.Ialltoallv(send, counts, at, mpi.word, receive, receive_counts, receive_at, mpi.word, mpi.world, &request);
	return e ? e : finish(&request);
}

static int mpi_all_gather(const void *send, int count, void *receive, const int *counts, const int *at) {
	handle request = 0;
	int e = mpi.Iallgatherv(send, count, mpi.word, receive, counts, at, mpi.word, mpi.world, &request);
	return e ? e : finish(&request);
}

// mpi_stop_heartbeat keeps mpi_heartbeat from beginning new rounds, and returns the number of begun rounds.
static int mpi_stop_heartbeat(void) {
	heartbeat.stopped = 1;
	return heartbeat.rounds;
}

// mpi_end_heartbeat ends the heartbeat of all ranks in the same round, the latest round that any rank has
// begun.
static int mpi_end_heartbeat(int rounds) {
	for (;;) {
		if (heartbeat.pending) {
			int e = finish(&heartbeat.request);
			if (e) return e;
			heartbeat.pending = 0;
		}
		if (heartbeat.rounds >= rounds) return 0;
		int e = begin_round(now());
		if (e) return e;
	}
}
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// World is the communicator of all processes of a job.
type World struct {
	rank, size int
	version    string
	timeout    time.Duration
	calls      chan func()
	mu         sync.Mutex
	broken     error // error of every later call
}

// JoinMPI connects this process with the other processes of its job. A process can have only one
// World.
func JoinMPI(o MPIOptions) (*World, error) {
	w := &World{timeout: o.Timeout, calls: make(chan func())}
	w.timeout = cmp.Or(w.timeout, DefaultTimeout)
	opened := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := w.open()
		opened <- err
		if err == nil {
			w.serve()
		}
	}()
	return w, <-opened
}

func (w *World) open() error {
	if err := loadMPI(); err != nil {
		return err
	}
	var text [8192]C.char
	var n C.int
	C.mpi_version(&text[0], &n)
	w.version, _, _ = strings.Cut(strings.TrimSpace(C.GoStringN(&text[0], n)), ",")
	w.version = strings.Join(strings.Fields(strings.SplitN(w.version, "\n", 2)[0]), " ")
	if !slices.ContainsFunc(knownMPI,
		func(k string) bool { return strings.HasPrefix(w.version, strings.TrimSuffix(k, ":")) }) {
		return fmt.Errorf("unknown MPI library: expected a version that begins with %s; found %q",
			strings.Join(knownMPI, ", "), w.version)
	}
	C.mpi_prepare()
	var rank, size C.int
	if e := C.mpi_init(C.double(w.timeout.Seconds()), &rank, &size); e != 0 {
		return fmt.Errorf("%s: %w", w.version, w.failure("MPI_Init_thread", e))
	}
	w.rank, w.size = int(rank), int(size)
	if n := Launched(); n != w.size {
		return sizeError(n, w.size, w.version)
	}
	return nil
}

// loadMPI loads the first of the candidate libraries that can be loaded.
func loadMPI() error {
	var errs []error
	for _, name := range mpiLibraries() {
		c := C.CString(name)
		e := C.mpi_load(c)
		C.free(unsafe.Pointer(c))
		if e == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %s", name, C.GoString(e)))
	}
	return fmt.Errorf("no MPI was found: install the launcher's library, or name it in %s: %w",
		MPIVariable, errors.Join(errs...))
}

// serve makes the queued calls and runs the heartbeat between them.
func (w *World) serve() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case f, open := <-w.calls:
			if !open {
				return
			}
			f()
		case <-tick.C:
			if w.state() == nil {
				w.check("heartbeat", C.mpi_heartbeat())
			}
		}
	}
}

// state returns the error that broke the connection, or nil.
func (w *World) state() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// failure returns an error for the result of a call.
func (w *World) failure(call string, e C.int) error {
	if e == C.SILENT {
		return fmt.Errorf("a rank has not responded for %v: it has died, hangs, or cannot be reached",
			w.timeout)
	}
	var text [8192]C.char
	var n C.int
	C.mpi_describe(e, &text[0], &n)
	return fmt.Errorf("%s: %s", call, C.GoStringN(&text[0], n))
}

// check returns the error of a call and marks the World as broken by it.
func (w *World) check(call string, e C.int) error {
	if e == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = w.failure(call, e)
	return w.broken
}

// unfinished pins the buffers of failed calls for the lifetime of the process, as MPI may continue
// to read and write them.
var unfinished runtime.Pinner

// call runs f on MPI's thread and returns its error. buffers are the pointers that f passes to MPI.
func (w *World) call(name string, f func() C.int, buffers ...any) error {
	result := make(chan error, 1)
	w.calls <- func() {
		if err := w.state(); err != nil {
			result <- err
			return
		}
		err := w.check(name, f())
		if err != nil {
			for _, b := range buffers {
				unfinished.Pin(b)
			}
		}
		result <- err
	}
	return <-result
}

// Rank returns the rank of this process, from 0.
func (w *World) Rank() int { return w.rank }

// Size returns the number of processes.
func (w *World) Size() int { return w.size }

// Version returns the version string of the library.
func (w *World) Version() string { return w.version }

// AllGather implements [Communicator].
func (w *World) AllGather(send, receive []uint32, counts []int) error {
	n, at, err := offsets(counts, len(receive))
	if err != nil {
		return err
	}
	return w.call("MPI_Iallgatherv", func() C.int {
		return C.mpi_all_gather(pointer(send), C.int(len(send)), pointer(receive), &n[0], &at[0])
	}, pointer(send), pointer(receive), &n[0], &at[0])
}

// AllToAll implements [Communicator].
func (w *World) AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error {
	n, at, err := offsets(sendCounts, len(send))
	if err != nil {
		return err
	}
	m, to, err := offsets(receiveCounts, len(receive))
	if err != nil {
		return err
	}
	return w.call("MPI_Ialltoallv", func() C.int {
		return C.mpi_all_to_all(pointer(send), &n[0], &at[0], pointer(receive), &m[0], &to[0])
	}, pointer(send), &n[0], &at[0], pointer(receive), &m[0], &to[0])
}

// Close leaves the job together with all other processes. A process with a broken connection leaves
// alone; its launcher ends the other processes.
func (w *World) Close() error {
	defer close(w.calls)
	if w.state() != nil {
		return nil
	}
	if err := w.endHeartbeat(); err != nil {
		return err
	}
	finalized := make(chan error, 1)
	go func() { finalized <- w.call("MPI_Finalize", func() C.int { return C.mpi_finalize() }) }()
	select {
	case err := <-finalized:
		return err
	case <-time.After(w.timeout): // MPI_Finalize waits for all processes
		return w.failure("MPI_Finalize", C.SILENT)
	}
}

// endHeartbeat ends the heartbeat of all ranks in the same round, the latest round that any rank has begun.
// The heartbeat continues until all ranks have arrived, so that a late rank does not count as silent.
func (w *World) endHeartbeat() error {
	if _, err := w.numbers(0); err != nil {
		return err
	}
	var rounds C.int
	if err := w.call("", func() C.int { rounds = C.mpi_stop_heartbeat(); return 0 }); err != nil {
		return err
	}
	all, err := w.numbers(uint32(rounds))
	if err != nil {
		return err
	}
	return w.call("MPI_Ibarrier", func() C.int { return C.mpi_end_heartbeat(C.int(slices.Max(all))) })
}

// numbers gathers one number from each rank.
func (w *World) numbers(mine uint32) ([]uint32, error) {
	all := make([]uint32, w.size)
	return all, w.AllGather([]uint32{mine}, all, slices.Repeat([]int{1}, w.size))
}

// offsets returns the counts as C integers, and the offset of each part in words. The counts must
// add up to the number of words.
func offsets(counts []int, words int) (n, at []C.int, err error) {
	n, at = make([]C.int, len(counts)), make([]C.int, len(counts))
	sum := 0
	for r, c := range counts {
		n[r], at[r] = C.int(c), C.int(sum)
		sum += c
	}
	if sum != words || sum > math.MaxInt32 {
		return nil, nil, fmt.Errorf("MPI: the counts add up to %d words: expected the %d words of the buffer, "+
			"and at most %d", sum, words, math.MaxInt32)
	}
	return n, at, nil
}

func pointer(x []uint32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }
