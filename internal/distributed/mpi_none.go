//go:build !linux || !cgo

package distributed

import "errors"

// World represents the processes of a job. Without MPI there is no World, because JoinMPI fails.
type World struct{}

var errNone = errors.New("this program was built without MPI, which requires Linux and cgo: start a single process without mpirun or srun")

// JoinMPI returns an error, because the program was built without MPI.
func JoinMPI(MPIOptions) (*World, error) { return nil, errNone }

// Rank returns 0.
func (w *World) Rank() int { return 0 }

// Size returns 1.
func (w *World) Size() int { return 1 }

// Version returns "".
func (w *World) Version() string { return "" }

// AllGather returns an error.
func (w *World) AllGather(send, receive []uint32, counts []int) error { return errNone }

// AllToAll returns an error.
func (w *World) AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error {
	return errNone
}

// Close does nothing.
func (w *World) Close() error { return nil }
