package serve

import (
	"context"
	"fmt"
)

// Failed returns a channel that receives the error after which the server cannot serve requests.
func (s *Server) Failed() <-chan error { return s.failed }

// deviceLost returns a retryable error for the jobs of a batch whose device was lost, or nil if err has
// another cause. After the first loss for a model it reopens the device and reloads the model in the
// background.
func (s *Server) deviceLost(m *served, err error) error {
	if s.options.Lost == nil || !s.options.Lost(err) {
		return nil
	}
	if m.failed.CompareAndSwap(false, true) {
		s.log.Error("the device is lost: reopening it", "device", m.loaded.Device, "error", err)
		s.recovering.Go(func() {
			if err := s.reopen(); err != nil {
				s.fail(fmt.Errorf("the device is lost and could not be reopened: %w", err))
			} else {
				s.log.Info("the device is open again")
			}
		})
	}
	return fail(codeBusy, retryDelay{reopening}, "the device is lost and is being reopened")
}

// reopening is the retry delay in milliseconds while the device is lost or the server stops: the
// approximate time to open a device.
const reopening = 1000

// reopen reloads the model and checks the new device with a small computation.
func (s *Server) reopen() error {
	if err := s.Reload(); err != nil {
		return err
	}
	m := s.acquire()
	defer m.Done()
	return m.Scorer.Probe(context.Background())
}

// fail sends the error to the channel of Failed, unless an earlier error is still unread.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}
