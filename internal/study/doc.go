// Package study has the mathematics of the paper's measurements: small programs in float64,
// each a definition from the paper ("Sampling Foundational Transformer") computed as it is
// printed. It knows neither the model nor a device. Whoever trains or measures the model
// itself hands in rows, times or curves.
//
// Every random number is a function of the seed and of its address, so a draw does not
// depend on which others were made.
package study

// Progress is told of more that is done, by several goroutines at once. The error of a study
// that was cancelled is that of its context.
type Progress func(done int64)

// tell calls p unless there is none.
func (p Progress) tell(n int) {
	if p != nil {
		p(int64(n))
	}
}
