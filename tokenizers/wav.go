package tokenizers

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// sound is the content of a WAV file. The samples are means over the channels, from −1 to 1.
type sound struct {
	rate    int // samples per second
	samples []float32
}

// checkRate returns an error if the sound's rate differs from the wanted rate; 0 accepts any rate.
func (s *sound) checkRate(want int) error {
	if want != 0 && s.rate != want {
		return fmt.Errorf("expected a sampling rate of %d Hz, found %d Hz (resample with sox IN -r %d OUT)", want,
			s.rate, want)
	}
	return nil
}

// Sample formats of a WAV file.
const (
	wavInteger    = 1
	wavFloat      = 3
	wavExtensible = 0xFFFE // a later field has the format
)

// maxRate is the maximum sampling rate in Hz. It is bounded because the memory of a spectrum grows
// with the rate.
const maxRate = 4_000_000

// maxFloat is the maximum absolute value of floating-point samples. Samples of loud recordings may
// lie beyond ±1, and are clipped to ±1.
const maxFloat = 8

// minUnknownLength is the smallest length of a data chunk that means an unknown length. SoX writes
// 0x7FFFF000 to a pipe, other programs 0x7FFFFFFF, 0x80000000 or 0xFFFFFFFF. The rows of a data set
// are always smaller.
const minUnknownLength = 0x7FFF0000

// readWAV parses a RIFF file of type WAVE, with integer samples of 8, 16, 24 or 32 bits, or with
// 32-bit floating-point samples.
func readWAV(text string) (*sound, error) {
	format, data, err := splitWAV(text)
	if err != nil {
		return nil, err
	}
	return decodeWAV(format, data)
}

// splitWAV returns the contents of the fmt chunk and of the data chunk of a WAV file.
// If the length was unknown when the header of a stream was written, the data chunk ends with the file.
func splitWAV(text string) (format, data string, err error) {
	if len(text) < 12 || text[:4] != "RIFF" || text[8:12] != "WAVE" {
		return "", "", fmt.Errorf("expected a WAV file with a RIFF header, found %.12q", text)
	}
	rest := text[12:]
	for len(rest) >= 8 {
		kind, length := rest[:4], chunkLength(rest)
		rest = rest[8:]
		if kind == "data" && (length >= minUnknownLength || length == 0 && !areChunks(rest)) {
			length = uint64(len(rest))
		}
		if length > uint64(len(rest)) {
			return "", "", fmt.Errorf("WAV: chunk %q: expected %d bytes, found %d", kind, length, len(rest))
		}
		switch {
		case kind == "fmt ":
			format = rest[:length]
		case kind == "data" && len(format) < 16:
			return "", "", errors.New("WAV: expected a fmt chunk before the data chunk, found none")
		case kind == "data":
			return format, rest[:length], nil
		}
		rest = rest[min(uint64(len(rest)), length+length%2):]
	}
	return "", "", errors.New("WAV: expected a data chunk, found none")
}

// chunkLength returns the length in the header of a chunk.
func chunkLength(chunk string) uint64 { return uint64(binary.LittleEndian.Uint32([]byte(chunk[4:8]))) }

// areChunks reports whether the bytes after the header of a data chunk of length 0 are complete chunks.
// Otherwise they are the samples of the data chunk, whose length was unknown.
func areChunks(rest string) bool {
	for len(rest) >= 8 {
		length := chunkLength(rest)
		rest = rest[8:]
		if length += length % 2; length > uint64(len(rest)) {
			return false
		}
		rest = rest[length:]
	}
	return rest == ""
}

// wavRate returns the sampling rate in the header of a WAV file, or 0 if the file is malformed.
func wavRate(text string) int {
	format, _, err := splitWAV(text)
	if err != nil {
		return 0
	}
	return int(binary.LittleEndian.Uint32([]byte(format[4:8])))
}

// decodeWAV decodes the content of a data chunk. format is the content of the fmt chunk.
func decodeWAV(format, data string) (*sound, error) {
	f := []byte(format)
	kind, channels := int(binary.LittleEndian.Uint16(f)), int(binary.LittleEndian.Uint16(f[2:]))
	rate, bits := int(binary.LittleEndian.Uint32(f[4:])), int(binary.LittleEndian.Uint16(f[14:]))
	if kind == wavExtensible && len(f) >= 26 {
		kind = int(binary.LittleEndian.Uint16(f[24:]))
	}
	sample := sampleDecoder(kind, bits)
	if sample == nil || channels < 1 || channels > 64 || rate < 1 {
		return nil, fmt.Errorf("WAV: expected 8, 16, 24 or 32-bit PCM or 32-bit floats, with 1 to 64 channels and at least 1 Hz, found format %d with %d bits, %d channels, %d Hz", kind, bits, channels, rate)
	}
	if rate > maxRate {
		return nil, fmt.Errorf("WAV: expected a sampling rate of 1 to %d Hz, found %d Hz", maxRate, rate)
	}
	size := bits / 8
	s := &sound{rate: rate, samples: make([]float32, len(data)/(size*channels))}
	for i := range s.samples {
		sum := 0.0
		for range channels {
			v := sample(data[:size])
			if math.Abs(v) > maxFloat {
				return nil, fmt.Errorf("WAV: sample %d is %g: expected floats from -1 to 1 (divide samples with the scale of 16-bit integers by 32768)", i, v)
			}
			sum += v
			data = data[size:]
		}
		x := sum / float64(channels)
		if math.IsNaN(x) {
			return nil, fmt.Errorf("WAV: sample %d is not a number", i)
		}
		s.samples[i] = float32(min(1, max(-1, x)))
	}
	return s, nil
}

// sampleDecoder returns a function that decodes a sample of the given format, or nil if the format is
// not supported.
func sampleDecoder(kind, bits int) func(b string) float64 {
	switch {
	case kind == wavInteger && bits == 8:
		return func(b string) float64 { return (float64(b[0]) - 128) / 128 }
	case kind == wavInteger && bits == 16:
		return func(b string) float64 { return float64(int16(uint16(b[0])|uint16(b[1])<<8)) / (1 << 15) }
	case kind == wavInteger && bits == 24:
		return func(b string) float64 {
			return float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
		}
	case kind == wavInteger && bits == 32:
		return func(b string) float64 { return float64(int32(littleEndian32(b))) / (1 << 31) }
	case kind == wavFloat && bits == 32:
		return func(b string) float64 { return float64(math.Float32frombits(littleEndian32(b))) }
	}
	return nil
}

// littleEndian32 returns the first four bytes of b as a little-endian number.
func littleEndian32(b string) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
