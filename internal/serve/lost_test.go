package serve

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/serve/batching"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

var errLost = errors.New("the GPU is gone")

// failingDevice is a CPU device whose runs fail with errLost once lost is set.
type failingDevice struct {
	tensor.Device
	lost atomic.Bool
}

func (d *failingDevice) Unwrap() tensor.Device { return d.Device }

func (d *failingDevice) Prepare(p *tensor.Program) (tensor.Executable, error) {
	e, err := d.Device.Prepare(p)
	return failingExecutable{e, d}, err
}

type failingExecutable struct {
	tensor.Executable
	device *failingDevice
}

func (e failingExecutable) Run(ctx context.Context, mem tensor.Binding, from, to int) error {
	if e.device.lost.Load() {
		return errLost
	}
	return e.Executable.Run(ctx, mem, from, to)
}

// onFailingDevice loads a model onto a failing device.
func onFailingDevice(m *sft.Model) (*Model, *failingDevice, error) {
	d := &failingDevice{Device: cpu.New(2)}
	s, err := sft.NewScorer(m, d)
	return &Model{Scorer: s, Task: task.Of(s.Config()), Device: d.Name(), Hash: Hash(m), Release: func() { d.Close() }},
		d, err
}

// TestLostDevice checks recovery from a lost device. Requests on this device get a retryable error, and
// the server reloads the model on a new device with the same results. If there is no new device, Failed's
// channel receives the error.
func TestLostDevice(t *testing.T) {
	o := testOptions(t, "pre")
	var devices []*failingDevice
	released := 0
	var loadErr error // error of the next load
	o.Lost = func(err error) bool { return errors.Is(err, errLost) }
	o.Load = func() (*Model, error) {
		if loadErr != nil {
			return nil, loadErr
		}
		m, err := sft.Load(goldenDir + "/pre")
		if err != nil {
			return nil, err
		}
		pad := int32(1) // the check of the new device must not use a padding token
		m.Config.PadTokenID = &pad
		out, d, err := onFailingDevice(m)
		devices = append(devices, d)
		out.Release = func() { released++; d.Close() }
		return out, err
	}
	s := startServer(t, o)
	web := httptest.NewServer(s.Metrics())
	defer web.Close()
	defer http.DefaultClient.CloseIdleConnections()
	health := func() int {
		r := must.Get(http.Get(web.URL + "/healthz"))(t)
		r.Body.Close()
		return r.StatusCode
	}
	c := dial(t, s).initialize(struct{}{})
	params := map[string]any{"sequences": []any{map[string]any{"tokens": []int{5, 2}},
		map[string]any{"tokens": []int{3, 4}}}}
	var before, after struct {
		Results []struct{ Result anyClassification }
	}
	c.call(1, "sequence/classify", params, &before)
	old := s.current()
	devices[0].lost.Store(true)
	c.request(2, "sequence/classify", params)
	if m := c.response(2); strings.Count(string(m.Result), `"code":-32000`) != 2 ||
		!strings.Contains(string(m.Result), "retryAfter") {
		t.Errorf("got %s, error %+v, want two errors -32000 with retryAfter", m.Result, m.Error)
	}
	eventually(t, "the model was not reloaded", func() bool { return s.current() != old })
	s.recovering.Wait() // the reload and its test have ended
	c.call(3, "sequence/classify", params, &after)
	for n := range before.Results {
		if got, want := after.Results[n].Result.Logits, before.Results[n].Result.Logits; len(want) == 0 ||
			!slices.Equal(got, want) {
			t.Errorf("got logits %v, want %v", got, want)
		}
	}
	if health() != 200 || released != 1 {
		t.Errorf("got /healthz %d and %d released devices, want 200 and 1", health(), released)
	}
	loadErr = errors.New("no such device")
	devices[1].lost.Store(true)
	c.expectError(4, "sequence/classify", map[string]any{"tokens": []int{2}}, -32000, "lost")
	must.FailWith(t, loadErr)(<-s.Failed())
	if health() != 503 {
		t.Errorf("got /healthz %d, want 503", health())
	}
}

// TestLostWhileTriedAlone checks a device that is lost while the jobs of a failed batch are retried
// one by one. The remaining jobs must fail without a retry.
func TestLostWhileTriedAlone(t *testing.T) {
	o := testOptions(t, "pre")
	d := &failingDevice{Device: cpu.New(2)}
	o.Lost = func(err error) bool { return errors.Is(err, errLost) }
	o.Load = func() (*Model, error) {
		m, err := sft.Load(goldenDir + "/pre")
		if err != nil {
			return nil, err
		}
		s, err := sft.NewScorer(m, d)
		return &Model{Scorer: s, Task: task.Of(s.Config()), Device: d.Name(), Hash: Hash(m),
			Release: func() { d.Close() }}, err
	}
	s := startServer(t, o)
	s.options.Load = load(t, "pre")
	m := s.current()
	slots, tried, release := int64(m.Scorer.Slots()), atomic.Int64{}, make(chan struct{})
	s.batcher.Before = func(context.Context) {
		if tried.Add(1) == slots+3 { // before: a batch per slot, the batch of three, the bad job
			d.lost.Store(true)
		}
		<-release
	}
	submit := func(tokens ...int32) *batching.Job {
		return s.batcher.Submit(context.Background(), &bareSession(s).account, &m.Model, batching.Classify,
			seq.Example{A: tokens})[0]
	}
	for n := range slots { // occupies all slots, so the next three jobs form one batch
		submit(1)
		eventually(t, "the batch does not run", func() bool { return tried.Load() == n+1 })
	}
	bad, first, second := submit(99), submit(1), submit(2)
	close(release)
	if _, err := bad.Wait(); err == nil || asError(err).Code != codeFailed {
		t.Errorf("the bad job: got error %v, want code %d", err, codeFailed)
	}
	for _, j := range []*batching.Job{first, second} {
		if _, err := j.Wait(); err == nil || asError(err).Code != codeBusy {
			t.Errorf("a job after the loss: got error %v, want code %d", err, codeBusy)
		}
	}
	if n := tried.Load() - slots; n != 3 {
		t.Errorf("got %d batches after the first %d, want 3", n, slots)
	}
	s.recovering.Wait()
}
