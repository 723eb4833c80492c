package serve

import (
	"context"
	"fmt"
)

// Failed tells why the server can answer nothing any more.
func (s *Server) Failed() <-chan error { return s.failed }

// lost is what the jobs of a batch end with whose device was lost, nil if err says
// nothing of the kind. The first of them has the model loaded again, which opens
// the device anew; until that is done clients are told to come back.
func (s *Server) lost(m *served, err error) error {
	if s.options.Lost == nil || !s.options.Lost(err) {
		return nil
	}
	if m.failed.CompareAndSwap(false, true) {
		s.log.Error("the device is lost: opening it anew", "device", m.about.Device, "error", err)
		s.recovering.Go(func() {
			if err := s.reopen(); err != nil {
				s.fail(fmt.Errorf("the device is lost, and not to be had again: %w", err))
			} else {
				s.log.Info("the device is open again")
			}
		})
	}
	return fail(codeBusy, retry{reopening}, "the device is lost, and is being opened anew")
}

// reopening is about how long opening a device takes, in milliseconds.
const reopening = 1000

// reopen loads the model again and sees whether it computes.
func (s *Server) reopen() error {
	if err := s.Reload(); err != nil {
		return err
	}
	m := s.acquire()
	defer m.Done()
	return m.Scorer.Probe(context.Background())
}

// fail tells by Failed, whose reader asks for one reason.
func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}
