package model

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/tensor"
)

// First reports whether this process reads and writes the run's files: rank 0, or a process without
// ranks.
func First(c distributed.Communicator) bool { return c == nil || c.Rank() == 0 }

// Agree returns the same error on all ranks if any rank has one: see [distributed.Agree]. With c nil it returns
// err.
func Agree(c distributed.Communicator, err error) error {
	if c == nil {
		return err
	}
	_, err = distributed.Agree(c, err, 0)
	return err
}

// Stopped replaces an error by [context.Canceled] if the cancellation of ctx caused it. ctx may
// have its own cause.
func Stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return context.Canceled
	}
	return err
}

// Agreed reports whether all ranks already know an error.
func Agreed(err error) bool {
	var e *distributed.Error
	return errors.As(err, &e)
}

// Shared lets each rank compute a part of the rows and returns all rows on every rank. compute
// returns a range of rows; numbers holds the length of each row.
func Shared(ctx context.Context, c distributed.Communicator, numbers []int, compute func(from, to int) ([][]float32,
	error)) ([][]float32, error) {
	n, total := len(numbers), 0
	offset := func(r int) int { return n * r / c.Size() }
	own, err := compute(offset(c.Rank()), offset(c.Rank()+1))
	if err := Agree(c, Stopped(ctx, err)); err != nil {
		return nil, err
	}
	counts := make([]int, c.Size())
	for r := range counts {
		for _, m := range numbers[offset(r):offset(r+1)] {
			counts[r] += m
		}
		total += counts[r]
	}
	all := make([]float32, total)
	if err := c.AllGather(tensor.Bits(slices.Concat(own...)), tensor.Bits(all), counts); err != nil {
		return nil, err
	}
	out := make([][]float32, n)
	for i, m := range numbers {
		out[i], all = all[:m:m], all[m:]
	}
	return out, nil
}

// Identity returns [Engine.Identity].
func (r *Runner) Identity() (map[string]string, error) { return r.engine.Identity() }

// Identity returns the properties that ranks with this model must share, by readable names.
func (e *Engine) Identity() (map[string]string, error) {
	program, err := programHash()
	if err != nil {
		return nil, err
	}
	weights, err := e.Hash()
	if err != nil {
		return nil, err
	}
	model := *e.Config
	model.Extra = nil // Extra has the command, which names local files
	config, err := json.Marshal(model)
	return map[string]string{
		"the program (SHA-256 of its file)": program,
		"kernels":                           e.Device.Kernels(),
		"the model":                         string(config),
		"the weights":                       fmt.Sprintf("%016x", weights),
	}, err
}

// programHash returns the first 8 bytes of the SHA-256 of the running executable, in hexadecimal.
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

// Hash returns a hash of the weights on the device and of the embeddings of n-grams. With optimizer state, it hashes
// this state in place of the embeddings, because they take much longer.
func (e *Engine) Hash() (uint64, error) {
	words := make([]uint32, e.Params.Words)
	if err := e.Weights.Read(0, words); err != nil {
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
	if e.NGrams != nil {
		values := e.NGrams.Squares // they differ if a gradient of the embeddings differed
		if values == nil {
			values = e.NGrams.Values
		}
		if err := binary.Write(h, binary.LittleEndian, values); err != nil {
			return 0, err
		}
	}
	return binary.LittleEndian.Uint64(h.Sum(nil)), nil
}
