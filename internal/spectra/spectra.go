// Package spectra computes log mel spectra of audio. A spectrum is the logarithm of the power in
// mel bands in a Hann window of 25 ms; a new window begins every 10 ms. The mean of each band over
// the sound is subtracted, which largely removes the gain and the frequency response of the recording. A codebook
// maps each spectrum to its nearest entry.
package spectra

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Durations in seconds.
const (
	hopSeconds    = 0.010
	windowSeconds = 0.025
)

// Frame returns the number of samples in a window, and the number of samples between the starts of
// consecutive windows.
func Frame(rate int) (window, hop int) {
	return int(windowSeconds * float64(rate)), int(hopSeconds * float64(rate))
}

// LogMel returns the consecutive spectra of a sound, each with the given number of bands. rate is in
// samples per second. A sound that is shorter than a window has one spectrum, an empty sound none.
func LogMel(samples []float32, rate, bands int) []float32 {
	if len(samples) == 0 {
		return nil
	}
	window, hop := Frame(rate)
	frames := 1 + max(0, len(samples)-window)/hop
	size := 1
	for size < window {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	filters := melFilters(bands, size, rate)
	frame, spectrum := make([]float64, size), make([]complex128, size/2+1)
	out := make([]float32, 0, frames*bands)
	mean := make([]float64, bands)
	for f := range frames {
		clear(frame)
		for i := 0; i < window && f*hop+i < len(samples); i++ {
			frame[i] = float64(samples[f*hop+i]) * (0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/float64(window)))
		}
		fft.Coefficients(spectrum, frame)
		for b, filter := range filters {
			power := 0.0
			for k, w := range filter.weights {
				c := spectrum[filter.first+k]
				power += w * (real(c)*real(c) + imag(c)*imag(c))
			}
			v := math.Log(power + 1e-6)
			mean[b] += v / float64(frames)
			out = append(out, float32(v))
		}
	}
	for i := range out {
		out[i] -= float32(mean[i%bands])
	}
	return out
}

// melFilter holds the weights of the frequencies in a band.
type melFilter struct {
	first   int // index of the first Fourier coefficient
	weights []float64
}

// melFilters returns triangular filters of equal width on the mel scale, from 60 Hz to half the
// sampling rate.
func melFilters(bands, size, rate int) []melFilter {
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	low, high := mel(60), mel(float64(rate)/2)
	edge := func(i int) float64 { // frequency as an index of Fourier coefficients
		m := low + (high-low)*float64(i)/float64(bands+1)
		return 700 * (math.Pow(10, m/2595) - 1) * float64(size) / float64(rate)
	}
	filters := make([]melFilter, bands)
	for b := range filters {
		from, peak, to := edge(b), edge(b+1), edge(b+2)
		f := melFilter{first: int(math.Ceil(from))}
		for k := f.first; k <= size/2 && float64(k) < to; k++ {
			x := float64(k)
			f.weights = append(f.weights, max(0, min((x-from)/(peak-from), (to-x)/(to-peak))))
		}
		if len(f.weights) == 0 { // the band lies between two coefficients
			f = melFilter{first: min(size/2, int(math.Round(peak))), weights: []float64{1}}
		}
		filters[b] = f
	}
	return filters
}
