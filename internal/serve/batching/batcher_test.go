package batching

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// waitLimit is the maximum time that a test waits for a job.
const waitLimit = 5 * time.Second

// errUnwanted is the cause of cancelled contexts.
var errUnwanted = errors.New("cancelled by the test")

// newModel loads a golden model onto a CPU device and retires it when the test ends.
func newModel(t *testing.T) *Model {
	t.Helper()
	file := must.Get(sft.Load("../../../sft/testdata/golden/pre"))(t)
	d := cpu.New(2)
	scorer := must.Get(sft.NewScorer(file, d))(t)
	m := &Model{Scorer: scorer, Release: sync.OnceFunc(func() { d.Close() })}
	t.Cleanup(m.Retire)
	return m
}

// start returns a batcher and a model. At the end of the test it checks that no jobs are left.
func start(t *testing.T, o Options) (*Batcher, *Model) {
	t.Helper()
	m := newModel(t)
	o.Sizes = prometheus.NewHistogram(prometheus.HistogramOpts{})
	b := New(o)
	t.Cleanup(func() {
		b.Close()
		if s := b.Stats(); s.Waiting+s.Running != 0 {
			t.Errorf("got stats %+v, want no waiting jobs and no running batches", s)
		}
	})
	return b, m
}

// holdBatches makes every batch wait until release is closed or the batch is cancelled.
func holdBatches(b *Batcher) (release chan struct{}) {
	release = make(chan struct{})
	b.Before = func(ctx context.Context) {
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	return release
}

func ones(n int) []int32 { return slices.Repeat([]int32{1}, n) }

// eventually fails the test with the given message if f does not return true within 5 seconds.
func eventually(t *testing.T, message string, f func() bool) {
	t.Helper()
	for range 500 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal(message)
}

// TestFailureIsIsolated checks that a bad job does not fail the other jobs of its batch, and that a job of
// a cancelled context fails with the context's cause.
func TestFailureIsIsolated(t *testing.T) {
	b, m := start(t, Options{})
	release := holdBatches(b)
	first := b.Submit(context.Background(), &Account{}, m, Classify, seq.Example{A: []int32{1}})[0]
	second := b.Submit(context.Background(), &Account{}, m, Classify, seq.Example{A: []int32{1}})[0]
	eventually(t, "the two batches do not run", func() bool { return b.Stats().Running == 2 })
	good := b.Submit(context.Background(), &Account{}, m, Classify, seq.Example{A: []int32{3}})[0]
	bad := b.Submit(context.Background(), &Account{}, m, Classify, seq.Example{A: []int32{99}})[0]
	close(release)
	for _, j := range []*Job{first, second, good} {
		if _, err := j.Wait(); err != nil {
			t.Error(err)
		}
	}
	must.Fail(t, "", "a token out of range was classified")(bad.Wait())
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errUnwanted)
	must.FailWith(t, errUnwanted)(b.Submit(ctx, &Account{}, m, Classify, seq.Example{A: []int32{1}})[0].Wait())
}

// TestEditedDocuments checks the cost of jobs if the exports of chunks are cached. An edited document costs
// only the tokens that the model computes again. An explanation costs all tokens of the document, and a
// sequence of one token costs minTokens.
func TestEditedDocuments(t *testing.T) {
	file := must.Get(sft.Load("../../../sft/testdata/golden/chunks"))(t)
	file.Config.MaxLength = 1 << 20
	m := &Model{Scorer: must.Get(sft.NewScorer(file, cpu.New(2)))(t), Release: func() {}}
	m.Scorer.CacheDocuments(1 << 24)
	b := New(Options{Sizes: prometheus.NewHistogram(prometheus.HistogramOpts{})})
	random := rand.New(rand.NewPCG(1, 2))
	document := make([]int32, 60_000)
	for i := range document {
		document[i] = 1 + random.Int32N(int32(file.Config.VocabSize)-1)
	}
	must.Get(b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: document})[0].Wait())(t)
	document[30_000] = 1 + document[30_000]%5
	edit := b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: document})[0]
	must.Get(edit.Wait())(t)
	long := slices.Concat(document[1:], ones(60_000))
	other := b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: long})[0]
	must.Get(other.Wait())(t)
	short := b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: ones(1)})[0]
	explained := b.Submit(t.Context(), &Account{}, m, Explain, seq.Example{A: document})[0]
	must.Get(explained.Wait())(t)
	must.Get(short.Wait())(t)
	b.Close()
	if short.tokens != minTokens || explained.tokens != len(document) {
		t.Errorf("got %d tokens for one token and %d for an explanation, want %d and %d", short.tokens,
			explained.tokens, minTokens, len(document))
	}
	if edit.tokens < 10_000 || edit.tokens > 20_000 || other.tokens < 60_000 { // 4 of 16 tokens are exported
		t.Errorf("got %d tokens for an edit and %d for another document, want 10000 to 20000 and at least 60000",
			edit.tokens, other.tokens)
	}
	if waiting := b.Stats().Tokens; waiting != 0 || edit.due != int64(edit.tokens) {
		t.Errorf("got %d waiting tokens and an edit due at %d, want 0 and %d", waiting, edit.due, edit.tokens)
	}
}

// TestModelFailed checks that the log has the stack of a panic in the model.
func TestModelFailed(t *testing.T) {
	var log bytes.Buffer
	j := &Job{model: &Model{}, group: &group{account: &Account{Log: slog.New(slog.NewTextHandler(&log, nil))}}}
	must.Fail(t, "the model failed")(New(Options{}).compute(t.Context(), []*Job{j}))
	if text := log.String(); !strings.Contains(text, "batcher.go") || !strings.Contains(text, "level=ERROR") {
		t.Errorf("got log %q, want an error with the stack", text)
	}
}

// TestReleaseDoesNotBlock checks that jobs can be submitted while the device of a retired model
// closes, which can take a long time.
func TestReleaseDoesNotBlock(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		b, next := start(t, Options{})
		release := holdBatches(b)
		old, closing, closed := newModel(t), make(chan struct{}), make(chan struct{})
		free := old.Release
		old.Release = sync.OnceFunc(func() { close(closing); <-closed; free() })
		submit := func(ctx context.Context, m *Model) *Job {
			return b.Submit(ctx, &Account{}, m, Classify, seq.Example{A: []int32{1}})[0]
		}
		ctx, cancel := context.WithCancel(t.Context())
		var jobs []*Job
		old.Use()
		if !dropped {
			jobs = append(jobs, submit(ctx, old))
		}
		old.Retire()
		if dropped { // the last job of the old model waits for a slot
			for range old.Scorer.Slots() {
				jobs = append(jobs, submit(t.Context(), next))
				eventually(t, "the job does not run", func() bool { return b.Stats().Waiting == 0 })
			}
			submit(ctx, old)
		}
		old.Done()
		if dropped {
			cancel()
		} else {
			close(release)
		}
		<-closing
		served := make(chan struct{})
		go func() {
			defer close(served)
			jobs = append(jobs, submit(t.Context(), next))
		}()
		select {
		case <-served:
		case <-time.After(waitLimit):
			t.Errorf("Submit blocks while the old model is released; dropped %v", dropped)
		}
		close(closed)
		<-served
		if dropped {
			close(release)
		}
		for _, j := range jobs {
			if _, err := j.Wait(); err != nil {
				t.Error(err)
			}
		}
		cancel()
	}
}

// TestReleasedModel checks that jobs of a released model fail, and that a model is released exactly
// once, after its last use.
func TestReleasedModel(t *testing.T) {
	b, m := start(t, Options{})
	released := 0
	free := m.Release
	m.Release = func() { released++; free() }
	m.Use()
	m.Retire()
	if released != 0 {
		t.Error("the model was released while in use")
	}
	m.Done()
	must.FailWith(t, ErrReleased)(b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: []int32{1}})[0].Wait())
	if released != 1 {
		t.Errorf("the model was released %d times, want once", released)
	}
	m.Release = free // the cleanup of the test retires the model again
}

// TestInterruptedAlone checks that a job computed alone after its batch failed ends with the cause of
// its own cancellation.
func TestInterruptedAlone(t *testing.T) {
	b, m := start(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errUnwanted)
	jobs := make([]*Job, 2)
	for i, token := range []int32{1, 99} { // token 99 is out of range
		g := &group{account: &Account{}, ctx: ctx, stop: func() bool { return true }}
		g.incomplete.Store(1)
		jobs[i] = &Job{model: m, example: seq.Example{A: []int32{token}}, group: g, done: make(chan struct{})}
	}
	b.run(t.Context(), &batch{jobs: jobs, withPriority: func(ctx context.Context) context.Context { return ctx }})
	must.FailWith(t, errUnwanted)(jobs[0].Wait())
}

// TestStats checks the counters for computed and cancelled jobs. The job of an interrupted batch counts
// only as cancelled.
func TestStats(t *testing.T) {
	b, m := start(t, Options{})
	for _, j := range b.Submit(t.Context(), &Account{}, m, Classify, seq.Example{A: ones(3)}, seq.Example{A: ones(4)}) {
		if _, err := j.Wait(); err != nil || j.ComputeTime() <= 0 {
			t.Errorf("got error %v and time %v, want no error and a time above 0", err, j.ComputeTime())
		}
	}
	quiet := func() bool { return b.Stats().Running == 0 }
	eventually(t, "the batch did not end", quiet)
	release := holdBatches(b)
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	j := b.Submit(ctx, &Account{}, m, Embed, seq.Example{A: ones(5)})[0]
	eventually(t, "no batch runs", func() bool { return b.Stats().Running == 1 })
	cancel()
	j.Wait()
	eventually(t, "the batch did not end", quiet)
	must.Fail(t, "", "a job of a cancelled context was computed")(b.Submit(ctx, &Account{}, m, Embed,
		seq.Example{A: ones(6)})[0].Wait())
	s := b.Stats()
	if s.Batches == 0 || s.Jobs != 2 || s.Computed != 7 || s.Cancelled != 2 || s.Computing <= 0 {
		t.Errorf("got %+v, want 2 jobs with 7 tokens and 2 cancelled", s)
	}
}
