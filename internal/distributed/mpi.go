// MPI connects processes started by a launcher: mpirun of Open MPI or MPICH, Slurm's srun,
// Kubernetes' MPIJob. The MPI library is loaded at run time, so that the same binary works with every
// supported library and without MPI.
//
// MPI is used only to move words and never to add them, because the order of MPI's sums depends on
// the library and the number of ranks. One thread makes all calls. Every second a non-blocking
// barrier runs on a separate communicator: if a rank does not join it within [MPIOptions.Timeout],
// the current call and every later call fail.

package distributed

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// MPIVariable is the environment variable that names the MPI library to load.
const MPIVariable = "SFTSEQ_MPI"

// DefaultTimeout is the time after which a silent rank counts as lost.
const DefaultTimeout = time.Minute

// MPIOptions are options of [JoinMPI].
type MPIOptions struct {
	Timeout time.Duration // time after which a silent rank counts as lost; 0 means DefaultTimeout
}

// mpiSizes are the environment variables in which launchers pass the number of processes, in this
// order: Open MPI; MPICH, and srun with PMI 2; srun with PMIx.
var mpiSizes = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}

// Launched returns the number of processes that a launcher has started, including this process, or
// 1 without a launcher.
func Launched() int {
	for _, name := range mpiSizes {
		if name == "SLURM_STEP_NUM_TASKS" && os.Getenv("PMIX_RANK") == "" {
			continue // srun without MPI: independent processes
		}
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// LaunchedRank returns the rank that the launcher has assigned to this process, or 0 without a
// launcher.
func LaunchedRank() int {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return 0
}

// mpiLibraries returns the names of the libraries to try. If MPIVariable is set, it returns only the
// library that the variable names. Otherwise it returns all known libraries, the launcher's first.
func mpiLibraries() []string {
	open, mpich := []string{"libmpi.so.40"}, []string{"libmpi.so.12", "libmpich.so.12"}
	switch {
	case os.Getenv(MPIVariable) != "":
		return []string{os.Getenv(MPIVariable)}
	case os.Getenv("PMI_RANK") != "" && os.Getenv("OMPI_COMM_WORLD_SIZE") == "":
		return append(append(mpich, open...), "libmpi.so")
	}
	return append(append(open, mpich...), "libmpi.so")
}

// knownMPI lists version string prefixes of the libraries whose binary interface this package supports.
var knownMPI = []string{"Open MPI v4.", "Open MPI v5.", "MPICH Version:",
	"Intel(R) MPI Library", "MVAPICH", "CRAY MPICH"}

// sizeError returns the error for a launcher and a library that disagree about the number of
// processes.
func sizeError(launched, size int, version string) error {
	return fmt.Errorf("the launcher started %d processes, but %s connects %d: expected the launcher's MPI library (choose it with %s, or with srun use --mpi=pmix or --mpi=pmi2)", launched, version, size, MPIVariable)
}
