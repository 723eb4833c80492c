package train

import (
	"cmp"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

const (
	firstLossScale = 1 << 15
	goodSteps      = 2000 // consecutive steps without overflow before the scale is doubled
)

// lossScale is the factor of the loss before the backward pass, a power of two. It is used on devices
// whose products have float16 operands: operands below 3e-8 round to 0, and operands above 65504
// overflow. If the gradient overflows, the update is skipped and the factor halved; with a factor of 1,
// the run fails. A factor of 0 disables loss scaling.
type lossScale struct {
	Factor float64 `json:"factor"`
	Good   int     `json:"good"` // steps since the last change of Factor
}

// scalesLoss reports whether device d needs loss scaling.
func scalesLoss(d tensor.Device) bool {
	s, ok := tensor.Capability[tensor.LossScaler](d)
	return ok && s.LossScaling()
}

// forDevice returns the scale with which a run continues on device d.
func (s lossScale) forDevice(d tensor.Device) lossScale {
	if !scalesLoss(d) {
		return lossScale{}
	}
	s.Factor = cmp.Or(s.Factor, firstLossScale)
	return s
}

// value returns the factor of the loss, 1 without loss scaling.
func (s lossScale) value() float64 { return max(s.Factor, 1) }

// after returns the scale after a step.
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

// mayHalve reports whether an overflow may skip the update. With a factor of 1, or without loss
// scaling, an overflow is an error.
func (s lossScale) mayHalve() bool { return s.Factor > 1 }

func (s lossScale) valid() bool {
	fraction, _ := math.Frexp(s.Factor)
	return s == lossScale{} || s.Factor >= 1 && fraction == 0.5 && s.Good >= 0 && s.Good < goodSteps
}
