//go:build !linux || !cgo

package distributed

import "errors"

// World represents the processes of a job; without MPI a job has one process.
type World struct{}

var errNone = errors.New("this program was built without MPI, which requires Linux and cgo: start a single process without mpirun or srun")

// JoinMPI returns an error.
func JoinMPI(MPIOptions) (*World, error) { return nil, errNone }

// Rank returns the rank of this process, from 0.
func (w *World) Rank() int { return 0 }

// Size returns the number of processes.
func (w *World) Size() int { return 1 }

// Version returns the version string of the library.
func (w *World) Version() string { return "" }

// AllGather is never called.
func (w *World) AllGather(send, receive []uint32, counts []int) error { return errNone }

// AllToAll is never called.
func (w *World) AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error {
	return errNone
}

// Close leaves the job.
func (w *World) Close() error { return nil }
