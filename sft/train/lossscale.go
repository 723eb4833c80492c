package train

import (
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

const (
	firstLossScale = 1 << 15
	goodSteps      = 2000 // before the scale is doubled
)

// lossScale is the factor of the loss whose gradient is computed, a power of two,
// on a device whose products take operands in float16: these reach from 6e-8 to
// 65504, and gradients go below. It is halved where the gradient overflows, and
// that update is left out. Zero: the loss is not scaled.
type lossScale struct {
	Factor float64 `json:"factor"`
	Good   int     `json:"good"` // steps since it was changed or an update left out
}

// scalesLoss says whether a device needs it.
func scalesLoss(d tensor.Device) bool {
	s, ok := tensor.Capability[tensor.LossScaler](d)
	return ok && s.LossScaling()
}

// on is the scale to go on with on a device.
func (s lossScale) on(d tensor.Device) lossScale {
	if !scalesLoss(d) {
		return lossScale{}
	}
	if s.Factor == 0 {
		s.Factor = firstLossScale
	}
	return s
}

// of is the factor of the loss.
func (s lossScale) of() float64 { return max(s.Factor, 1) }

// after is the scale after a step.
func (s lossScale) after(skipped bool) lossScale {
	if skipped {
		return lossScale{Factor: s.Factor / 2}
	}
	if s.Factor == 0 {
		return s
	}
	if s.Good++; s.Good == goodSteps {
		return lossScale{Factor: s.Factor * 2}
	}
	return s
}

// mayHalve says whether an update may be left out: no gradient is so large that it
// overflows without a scale.
func (s lossScale) mayHalve() bool { return s.Factor > 1 }

func (s lossScale) valid() bool {
	fraction, _ := math.Frexp(s.Factor)
	return s == lossScale{} || s.Factor >= 1 && fraction == 0.5 && s.Good >= 0 && s.Good < goodSteps
}
