package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/evaluation"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// ranks are the MPI processes of the run, including this process. Only rank 0 prints, and writes the
// files of the run.
type ranks struct {
	*distributed.World
	local    int // index of this process among the processes of its machine
	sharedBy int // number of processes that share the cores of this process, including itself
}

// ranksKey is the key of the ranks in the application's metadata.
const ranksKey = "ranks"

// ranksOf returns the ranks of the program, or nil for a single process.
func ranksOf(c *cli.Context) *ranks {
	r, _ := c.App.Metadata[ranksKey].(*ranks)
	return r
}

// communicator returns the communicator of the ranks, or nil for a single process.
func communicator(c *cli.Context) sft.Communicator {
	if r := ranksOf(c); r != nil {
		return r.World
	}
	return nil
}

// library returns the name of the MPI library, such as "Open MPI 4.1.4".
func (r *ranks) library() string {
	return strings.NewReplacer(" Version:", "", " v", " ").Replace(r.Version())
}

// describe returns a text such as ", 3 ranks (Open MPI 4.1.4)", or "" for a single process.
func (r *ranks) describe() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf(", %d ranks (%s)", r.Size(), r.library())
}

// first reports whether this process prints and writes files.
func (r *ranks) first() bool { return r == nil || r.Rank() == 0 }

func rankFlags() []cli.Flag {
	return advancedGroup(deviceGroup, &cli.DurationFlag{Name: "rank-timeout", Value: distributed.DefaultTimeout,
		Usage: "stop an MPI run if a process has not responded for `TIME`"})
}

// onAllRanks returns an action that runs the given action on each rank of an MPI run. If the action fails
// on one rank, all ranks return the error.
func onAllRanks(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if distributed.Launched() == 1 {
			return action(c)
		}
		r, err := join(c)
		if err != nil {
			return err
		}
		c.App.Metadata[ranksKey] = r
		err = r.exchangeErrors(action(c))
		if closeErr := r.Close(); closeErr != nil {
			return errors.Join(err, closeErr)
		}
		return printedBy(err, r.Rank())
	}
}

// join connects this process with the other ranks.
func join(c *cli.Context) (*ranks, error) {
	if t := c.Duration("rank-timeout"); t < time.Second {
		return nil, badFlag(c, "rank-timeout", "at least 1s")
	}
	w, err := distributed.JoinMPI(distributed.MPIOptions{Timeout: c.Duration("rank-timeout")})
	if err != nil {
		return nil, err
	}
	r := &ranks{World: w}
	host, cores, err := hostAndCores()
	places, err := distributed.Gather(w, []byte(host+"\n"+cores), err)
	if err != nil {
		return nil, errors.Join(printedBy(err, w.Rank()), w.Close())
	}
	for other, text := range places {
		itsHost, itsCores, _ := strings.Cut(string(text), "\n")
		if itsHost != host {
			continue
		}
		if other < w.Rank() {
			r.local++
		}
		if itsCores == cores {
			r.sharedBy++
		}
	}
	if !r.first() {
		c.App.Writer, c.App.ErrWriter, progressTo = io.Discard, io.Discard, io.Discard
	}
	return r, nil
}

// hostAndCores returns the host name and the list of cores that this process may use.
func hostAndCores() (host, cores string, err error) {
	if host, err = os.Hostname(); err != nil {
		return "", "", err
	}
	status, err := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			cores = strings.TrimSpace(list)
		}
	}
	return host, cores, err
}

// threads returns the default number of threads: the number of usable cores divided by the
// number of processes that share them.
func (r *ranks) threads() int {
	if r == nil {
		return usableCores
	}
	return max(1, usableCores/r.sharedBy)
}

// exchangeErrors exchanges the errors of all ranks. It returns nil if no rank has an error. Otherwise all
// ranks return the error of one rank: unchanged on that rank, and with its number on the other ranks. A
// [*distributed.Error] is returned unchanged, because all ranks already have it. If the other ranks are
// unreachable, exchangeErrors returns the error of this rank, or else the error of the exchange.
func (r *ranks) exchangeErrors(err error) error {
	var rankErr *distributed.Error
	if !errors.As(err, &rankErr) {
		// Agree sends no text for an error that wraps context.Canceled, but the error of a stopped
		// command includes advice. So its text is sent as another error.
		reported := err
		if errors.Is(err, context.Canceled) {
			reported = errors.New(err.Error())
		}
		_, failed := distributed.Agree(r.World, reported, 0)
		switch {
		case failed == nil:
			return nil
		case !errors.As(failed, &rankErr): // the other ranks are unreachable
			return fmt.Errorf("rank %d: %w", r.Rank(), cmp.Or(err, failed))
		case rankErr.Rank != r.Rank():
			err = rankErr
		}
	}
	return err
}

// printedError is an error that rank 0 prints. Other ranks exit with status 0, because a launcher
// ends the job at the first failure, and rank 0's message would be lost.
type printedError struct{ error }

func (e printedError) Unwrap() error { return e.error }

// printedBy wraps the common error of all ranks in a printedError, except on rank 0.
func printedBy(err error, rank int) error {
	if err == nil || rank == 0 {
		return err
	}
	return printedError{err}
}

// inTurn runs f on rank 0, then on one rank of each other machine, then on the remaining ranks,
// so that a remaining rank finds the files that an earlier rank of its machine has written.
func (r *ranks) inTurn(f func() error) error {
	if r == nil {
		return f()
	}
	group := 2
	switch {
	case r.Rank() == 0:
		group = 0
	case r.local == 0:
		group = 1
	}
	for turn := range 3 {
		var err error
		if turn == group {
			err = f()
		}
		if _, err := distributed.Agree(r.World, err, 0); err != nil {
			return err
		}
	}
	return nil
}

// scoreFunctions returns functions that score and embed rows on all ranks together.
func (r *ranks) scoreFunctions(s *sft.Scorer) (func(context.Context, []seq.Example) ([]sft.Output, error),
	evaluation.Embed) {
	if r == nil {
		return s.Examples, s.Embeddings
	}
	return func(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
			return s.SharedExamples(ctx, r.World, examples)
		}, func(ctx context.Context, sequences [][]int32) ([][]float32, error) {
			return s.SharedEmbeddings(ctx, r.World, sequences)
		}
}

// compare returns an error if ranks compute differently, or read different models or data.
func (r *ranks) compare(s *sft.Scorer, data string) error {
	if r == nil {
		return nil
	}
	if data == "-" {
		return errors.New("--data -: expected a file that all ranks can read, because only one process has standard " +
			"input")
	}
	hash, err := hashOf(data)
	return s.CompareRanks(r.World, map[string]string{"the data (SHA-256)": fmt.Sprintf("%x", hash)}, err)
}

// hashOf returns the SHA-256 of a file.
func hashOf(path string) ([]byte, error) {
	f, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// singleProcessCommands are the commands that refuse to run on several ranks.
var singleProcessCommands = []string{"data", "predict", "embed", "serve", "grads", "check", "bench", "plot", "report",
	"files", "export", "import", "info", "devices"}

// checkSingleProcess returns an error if a launcher has started several processes of a command that
// cannot share its work.
func checkSingleProcess(c *cli.Context) error {
	n, name := distributed.Launched(), c.Args().First()
	if n == 1 || !slices.Contains(singleProcessCommands, name) {
		return nil
	}
	err := fmt.Errorf("%s: expected one process, found %d (only train, pretrain and eval run on several "+
		"ranks)", name, n)
	return printedBy(err, distributed.LaunchedRank())
}
