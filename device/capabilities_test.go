//go:build cgo

package device

import (
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/vk"
)

// What a device of Vulkan can do is found by its methods' names: a change of one
// of them would otherwise go unnoticed.
var _ interface {
	tensor.Profiler
	tensor.Measurer
	tensor.OwnMemory
	tensor.PreferredBatch
	tensor.MixedPrecision
	tensor.LossScaler
} = (*vk.Device)(nil)
