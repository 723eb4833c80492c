package tokenizers

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// wav returns a WAV file at 8,000 Hz. The format and the samples may be invalid.
func wav(kind, channels, bits int, samples ...any) string {
	var data, out []byte
	for _, s := range samples {
		data, _ = binary.Append(data, binary.LittleEndian, s)
	}
	out = append(out, "RIFF\x00\x00\x00\x00WAVELIST\x03\x00\x00\x00abc\x00fmt \x10\x00\x00\x00"...)
	out, _ = binary.Append(out, binary.LittleEndian, []uint16{uint16(kind), uint16(channels)})
	out, _ = binary.Append(out, binary.LittleEndian, []uint32{8000, 0})
	out, _ = binary.Append(out, binary.LittleEndian, []uint16{0, uint16(bits)})
	out = append(out, "data"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(data)))
	return string(out) + string(data)
}

// TestMuLaw checks the ids for every sample format, and the errors for malformed files.
func TestMuLaw(t *testing.T) {
	want := []int32{128, 0, 255, 239}
	for name, text := range map[string]string{
		"16 bits": wav(1, 1, 16, int16(0), int16(math.MinInt16), int16(math.MaxInt16), int16(1<<14)),
		"8 bits":  wav(1, 1, 8, []byte{128, 0, 255, 192}),
		"24 bits": wav(1, 1, 24, []byte{0, 0, 0, 0, 0, 0x80, 0xff, 0xff, 0x7f, 0, 0, 0x40}),
		"32 bits": wav(1, 1, 32, int32(0), int32(math.MinInt32), int32(math.MaxInt32), int32(1<<30)),
		"floats":  wav(3, 1, 32, float32(0), float32(-1.5), float32(1), float32(0.5)),
		"channels": wav(3, 2, 32, float32(0.25), float32(-0.25), float32(-1), float32(-1), float32(1),
			float32(1), float32(0), float32(1)),
	} {
		got, err := MuLaw{}.Encode(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: ids %v, error %v; want %v", name, got, err, want)
		}
	}
	if got := (MuLaw{}).Decode(want); got != "128 0 255 239" {
		t.Errorf("Decode = %q, want %q", got, "128 0 255 239")
	}
	one := wav(1, 1, 16, int16(0))
	for text, want := range map[string]string{
		"":       "expected a WAV file",
		"text":   `expected a WAV file with a RIFF header, found "text"`,
		one[:24]: "expected a data chunk, found none", one[:40]: `chunk "fmt ": expected 16 bytes, found 8`,
		one[:len(one)-1]:                        `chunk "data": expected 2 bytes, found 1`,
		strings.Replace(one, "fmt ", "FMT ", 1): "expected a fmt chunk before the data chunk",
		wav(1, 1, 12, int16(0)):                 "found format 1 with 12 bits",
		wav(85, 1, 16, int16(0)):                "found format 85 with 16 bits",
		wav(1, 0, 16, int16(0)):                 "0 channels",
		strings.Replace(one, "\x40\x1f\x00\x00", "\x00\x00\x00\x40",
			1): "expected a sampling rate of 1 to 4000000 Hz, found 1073741824",
		wav(3, 1, 32, float32(math.NaN())): "sample 0 is not a number",
	} {
		must.Fail(t, want, text)((MuLaw{}).Encode(text))
	}
	unknown := []byte(one)
	copy(unknown[len(unknown)-6:], "\xff\xff\xff\xff")
	if got, err := (MuLaw{}).Encode(string(unknown)); err != nil || len(got) != 1 {
		t.Errorf("unknown length: ids %v, want one; error %v", got, err)
	}
}

// TestUnknownLength checks that the samples extend to the end of the file if the header states an unknown
// length. A data chunk of length 0 in front of other chunks has no samples.
func TestUnknownLength(t *testing.T) {
	whole := wav(1, 1, 16, int16(0), int16(math.MinInt16), int16(math.MaxInt16))
	lengthOffset := len(whole) - 6 - 4
	for _, c := range []struct {
		length uint32
		behind string
		want   int
	}{
		{6, "", 3}, {4, "", 2}, {0, "", 3}, {0x7FFFF000, "", 3}, {0x7FFFFFFF, "", 3}, {0x80000000, "", 3},
		{0xFFFFFFD3, "", 3}, {0xFFFFFFFF, "", 3},
		{6, "LIST\x02\x00\x00\x00ab", 3}, {0, "LIST\x01\x00\x00\x00a\x00", 0}, {0, "LIST\x01\x00\x00\x00", 4},
	} {
		text := []byte(whole + c.behind)
		binary.LittleEndian.PutUint32(text[lengthOffset:], c.length)
		if c.length == 0 && c.behind != "" {
			text = append(text[:lengthOffset+4:lengthOffset+4], c.behind...)
		}
		if got, err := (MuLaw{}).Encode(string(text)); err != nil || len(got) != c.want {
			t.Errorf("length %#x, followed by %q: ids %v, error %v; want %d samples", c.length, c.behind, got, err,
				c.want)
		}
	}
}

// TestMuLawRate checks that mulaw learns the most frequent rate and refuses sounds of other rates.
// Without a rate, as in older data, it accepts all rates.
func TestMuLawRate(t *testing.T) {
	tok := learnTokenizer(t, `{"type":"mulaw"}`, tone(44100, 100), tone(8000, 100), "no sound", tone(8000, 200))
	if _, err := tok.Encode(tone(8000, 100)); err != nil {
		t.Errorf("a sound of the learned rate: %v", err)
	}
	must.Fail(t, "expected a sampling rate of 8000 Hz, found 44100 Hz (resample with sox")(tok.Encode(tone(44100, 100)))
	for _, rate := range []int{8000, 44100} {
		if _, err := must.Get(New([]byte(`{"type":"mulaw"}`)))(t).Encode(tone(rate, 100)); err != nil {
			t.Errorf("error without a rate: %v", err)
		}
	}
	l := must.Get(NewLearner([]byte(`{"type":"mulaw"}`)))(t)
	if got := must.Get(l.Learn(t.Context(), nil))(t); string(got) != `{"type":"mulaw"}` {
		t.Errorf("learned %s without sounds, want no rate", got)
	}
	must.Fail(t, "rate: expected at least 1 Hz, found 0")(New([]byte(`{"type":"mulaw","rate":0}`)))
}

// FuzzWAV checks that Encode returns an error or ids in the vocabulary for any file.
func FuzzWAV(f *testing.F) {
	f.Add(wav(1, 1, 16, int16(1)))
	f.Add(wav(3, 2, 32, float32(1), float32(2)))
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 1<<20+100*len(text))()
		tokens, err := MuLaw{}.Encode(text)
		if err == nil && len(tokens) > 0 && (slices.Min(tokens) < 0 || slices.Max(tokens) > 255) {
			t.Fatalf("ids from %d to %d, want 0 to 255", slices.Min(tokens), slices.Max(tokens))
		}
	})
}

// TestWAVScale checks that floating-point samples in the scale of integers are refused, and that
// samples slightly above 1 are clipped.
func TestWAVScale(t *testing.T) {
	file := func(x float32) string {
		head := "RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x03\x00\x01\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x20\x00data\x04\x00\x00\x00"
		return string(binary.LittleEndian.AppendUint32([]byte(head), math.Float32bits(x)))
	}
	if _, err := readWAV(file(-30000)); err == nil ||
		err.Error() != "WAV: sample 0 is -30000: expected floats from -1 to 1 (divide samples with the scale of 16-bit integers by 32768)" {
		t.Errorf("error %v, want one that names sample 0 and the scale", err)
	}
	if s, err := readWAV(file(1.25)); err != nil || s.samples[0] != 1 {
		t.Errorf("sound %+v, want the sample 1; error %v", s, err)
	}
}
