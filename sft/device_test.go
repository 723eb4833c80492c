package sft_test

import (
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// idle implements [sft.Device] and cannot compute.
type idle struct{}

func (idle) Name() string { return "idle" }

func (idle) Kernels() string { return "none" }

func (idle) Slots() int { return 1 }

func (idle) Close() error { return nil }

// TestForeignDevice checks that NewScorer refuses nil, and a device that package device has not
// opened.
func TestForeignDevice(t *testing.T) {
	m := modeltest.RandomModel(configtest.TinyConfig(), 1)
	for want, d := range map[string]sft.Device{"the device (sft_test.idle) cannot compute": idle{},
		"the device (<nil>) cannot compute": nil} {
		must.Fail(t, want, d)(sft.NewScorer(m, d))
	}
}
