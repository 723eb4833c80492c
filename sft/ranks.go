package sft

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"github.com/sftseq/sftseq/internal/distributed"
)

// Communicator connects the processes of a run, its ranks, which share the micro-batches of
// every batch. Every rank makes the same calls in the same order; words are of 32 bits.
type Communicator interface {
	Rank() int // from 0
	Size() int
	// AllGather gives all ranks everybody's words, in the order of ranks; counts has how many
	// each sends.
	AllGather(send, receive []uint32, counts []int) error
	// AllToAll sends the first sendCounts[0] words to rank 0, those behind to rank 1, …, and
	// receives such words from each.
	AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error
}

// checkEvery is the number of steps between two comparisons of the ranks' weights.
const checkEvery = 100

// first reports whether a rank is the one that reads and writes the run's files: that of a
// run of one process is.
func first(c Communicator) bool { return c == nil || c.Rank() == 0 }

// agree is [distributed.Agree] where there are several ranks.
func agree(c Communicator, err error) error {
	if c == nil {
		return err
	}
	_, err = distributed.Agree(c, err, 0)
	return err
}

// stopped is [context.Canceled] in place of an error that the end of a context has caused,
// which may have a cause of its own.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return context.Canceled
	}
	return err
}

// agreed reports whether an error is known to all ranks already.
func agreed(err error) bool {
	var e *distributed.Error
	return errors.As(err, &e)
}

// identity is what ranks that compute with a model must have in common, by names for a
// person.
func (e *engine) identity() (map[string]string, error) {
	program, err := programHash()
	if err != nil {
		return nil, err
	}
	weights, err := e.hash()
	if err != nil {
		return nil, err
	}
	model := *e.config
	model.Extra = nil // the command, which names local files
	config, err := json.Marshal(model)
	return map[string]string{
		"the program (SHA-256 of its file)": program,
		"kernels":                           e.device.Kernels(),
		"the model":                         string(config),
		"the weights":                       fmt.Sprintf("%016x", weights),
	}, err
}

// identity is what all ranks of a run must have in common.
func (t *Trainer) identity() (map[string]string, error) {
	out, err := t.engine.identity()
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(t.settings)
	maps.Copy(out, map[string]string{
		"settings":                         string(settings),
		"the data (their fingerprint)":     t.options.Data,
		"rows for training and validation": fmt.Sprintf("%d and %d", t.train.Len(), t.val.Len()),
		"the step":                         fmt.Sprint(t.state.Step),
		"the step to stop at":              fmt.Sprint(t.options.StopAt),
	})
	return out, err
}

// compareRanks refuses ranks that would not compute the same run.
func (t *Trainer) compareRanks() error {
	mine, err := t.identity()
	return distributed.Compare(t.options.Communicator, mine, err)
}

// programHash is that of the file that runs.
var programHash = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
})

// hash is that of the weights on the device.
func (e *engine) hash() (uint64, error) {
	words := make([]uint32, e.params.Words)
	if err := e.weights.Read(0, words); err != nil {
		return 0, err
	}
	h := sha256.New()
	buffer := make([]byte, 0, 4096)
	for len(words) > 0 {
		n := min(len(words), cap(buffer)/4)
		buffer = buffer[:0]
		for _, w := range words[:n] {
			buffer = binary.LittleEndian.AppendUint32(buffer, w)
		}
		h.Write(buffer)
		words = words[n:]
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)), nil
}

// differing is the error, known to all, of the first rank whose weights are others than those of rank 0.
func differing(hashes []uint64, step int) error {
	for r, h := range hashes {
		if h != hashes[0] {
			return &distributed.Error{Rank: r,
				Err: fmt.Errorf("step %d: its weights are not those of rank 0 any more (%016x, %016x): it computes otherwise", step, h, hashes[0])}
		}
	}
	return nil
}
