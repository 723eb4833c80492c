//go:build !linux || !cgo

package distributed

import "errors"

// World is all processes of a job, of which this program can be only one.
type World struct{}

var errNone = errors.New("this program was built without MPI (which needs Linux and cgo): expected to be started once, and not by mpirun or srun")

// JoinMPI refuses.
func JoinMPI(MPIOptions) (*World, error) { return nil, errNone }

// Rank is the place of this process among all, from 0.
func (w *World) Rank() int { return 0 }

// Size is the number of processes.
func (w *World) Size() int { return 1 }

// Version is what the library calls itself.
func (w *World) Version() string { return "" }

// AllGather is never called.
func (w *World) AllGather(send, receive []uint32, counts []int) error { return errNone }

// AllToAll is never called.
func (w *World) AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error {
	return errNone
}

// Close leaves the job.
func (w *World) Close() error { return nil }
