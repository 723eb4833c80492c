// Package mpi connects processes that a launcher of the Message Passing Interface has
// started: mpirun of Open MPI or MPICH, Slurm's srun, Kubernetes' MPIJob. The library is
// loaded when the program runs, so that one binary works with all of them, and without any.
//
// It moves words and never adds them: the order of MPI's own sums depends on the library
// and the number of ranks. One thread makes all calls. Beside them a barrier of its own
// communicator, which never blocks, goes round every second: a rank that has not joined it
// for [Options.Timeout] is gone or cut off, and every call fails from then on.
package mpi

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Variable is the environment variable that names the library to load, where it is not found.
const Variable = "SFTSEQ_MPI"

// DefaultTimeout is how long a rank may be silent.
const DefaultTimeout = time.Minute

// Options are how ranks are connected.
type Options struct {
	Timeout time.Duration // without a sign of life of a rank; 0: DefaultTimeout
}

// sizes are the variables in which launchers say how many processes they have started: Open
// MPI, MPICH and srun with PMI 2, srun with PMIx.
var sizes = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}

// Launched is the number of processes that a launcher says to have started beside this one,
// itself included; 1 where there was none.
func Launched() int {
	for _, name := range sizes {
		if name == "SLURM_STEP_NUM_TASKS" && os.Getenv("PMIX_RANK") == "" {
			continue // srun without MPI: processes that have nothing to do with each other
		}
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// LaunchedRank is the rank that the launcher has given to this process; 0 where there was
// none.
func LaunchedRank() int {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return 0
}

// libraries are names of the library, the launcher's own first.
func libraries() []string {
	open, mpich := []string{"libmpi.so.40"}, []string{"libmpi.so.12", "libmpich.so.12"}
	switch {
	case os.Getenv(Variable) != "":
		return []string{os.Getenv(Variable)}
	case os.Getenv("PMI_RANK") != "" && os.Getenv("OMPI_COMM_WORLD_SIZE") == "":
		return append(append(mpich, open...), "libmpi.so")
	}
	return append(append(open, mpich...), "libmpi.so")
}

// known are the beginnings of what a library says of itself, of those whose binary interface
// is the one that this package calls.
var known = []string{"Open MPI v4.", "Open MPI v5.", "MPICH Version:", "Intel(R) MPI Library", "MVAPICH", "CRAY MPICH"}

// sizeError reports a launcher whose processes do not find each other.
func sizeError(launched, size int, version string) error {
	return fmt.Errorf("the launcher has started %d processes, but %s connects %d: expected the library of that launcher (%s names another; with srun, --mpi=pmix or --mpi=pmi2)", launched, version, size, Variable)
}
