package spectra

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
)

// Codebook is a list of spectra. It represents a spectrum by the index of the nearest entry.
type Codebook struct {
	Bands  int
	Values []float32 // [Len, Bands]
}

// maxCodebookBytes is the maximum size of a codebook in bytes, before base64.
const maxCodebookBytes = 1 << 22

// Decode returns the codebook that [Codebook.Encode] encoded.
func Decode(text string, bands int) (Codebook, error) {
	bytes, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return Codebook{}, fmt.Errorf("codebook: expected base64: %w", err)
	case bands < 1 || bands > 256:
		return Codebook{}, fmt.Errorf("expected 1 to 256 bands, found %d", bands)
	case len(bytes) == 0 || len(bytes)%(4*bands) != 0 || len(bytes) > maxCodebookBytes:
		return Codebook{}, fmt.Errorf("codebook: expected spectra of %d bands, found %d bytes (a spectrum has 4 bytes "+
			"per band, a codebook at most 4 MiB)", bands, len(bytes))
	}
	values := make([]float32, len(bytes)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		if x := float64(values[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			return Codebook{}, fmt.Errorf("codebook: number %d is %v, expected a finite number", i, x)
		}
	}
	return Codebook{bands, values}, nil
}

// Encode returns the spectra as little-endian float32 in base64.
func (c Codebook) Encode() string {
	var bytes []byte
	for _, v := range c.Values {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

// Len returns the number of spectra.
func (c Codebook) Len() int { return len(c.Values) / c.Bands }

// At returns entry i, which the caller must not change.
func (c Codebook) At(i int) []float32 { return c.Values[i*c.Bands : (i+1)*c.Bands] }

// Indices returns, for each of the concatenated spectra, the index of the nearest entry.
func (c Codebook) Indices(spectra []float32) []int32 {
	indices := make([]int32, len(spectra)/c.Bands)
	for i := range indices {
		indices[i] = int32(c.nearest(spectra[i*c.Bands : (i+1)*c.Bands]))
	}
	return indices
}

// nearest returns the index of the entry with the smallest distance, the first if several are
// equal.
func (c Codebook) nearest(spectrum []float32) int {
	best, minDistance := 0, float32(math.Inf(1))
	for i := range c.Len() {
		d := float32(0)
		for k, v := range c.At(i) {
			d += float32((v - spectrum[k]) * (v - spectrum[k])) // the conversion prevents a fused multiply-add
		}
		if d < minDistance {
			best, minDistance = i, d
		}
	}
	return best
}
