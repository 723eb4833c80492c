package philox

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestGolden compares words with the words that another program computed.
func TestGolden(t *testing.T) {
	file := must.Get(os.Open("testdata/philox.jsonl"))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	n := 0
	for lines.Scan() {
		var want struct {
			Seed                                   uint64
			E, Tower, Layer, Stream, Example, Step uint32
			Words                                  [4]uint32
		}
		must.Succeed(t, json.Unmarshal(lines.Bytes(), &want), "line", n+1)
		counter := Counter(want.E, want.Tower, want.Layer, want.Stream, want.Example, want.Step)
		if got := Words(want.Seed, counter); got != want.Words {
			t.Errorf("line %d: got words %d, want the words of %s", n+1, got, lines.Text())
		}
		n++
	}
	must.Succeed(t, lines.Err())
	if n != 60 {
		t.Errorf("testdata/philox.jsonl has %d lines, want 60", n)
	}
}

// TestKnownAnswers checks the test vectors of the authors' Random123 distribution (kat_vectors,
// philox4x32 10).
func TestKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		seed          uint64
		counter, want [4]uint32
	}{
		{0, [4]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{1<<64 - 1, [4]uint32{ones, ones, ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{0x299f31d0_a4093822, [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Words(c.seed, c.counter); got != c.want {
			t.Errorf("Words(%#x, %#x) = %#x, want %#x", c.seed, c.counter, got, c.want)
		}
	}
}

// TestUniform checks the uniform numbers of the smallest, the largest and other words.
func TestUniform(t *testing.T) {
	for _, c := range []struct {
		word uint32
		want float64
	}{
		{0, 1.0 / (1 << 24)},
		{511, 1.0 / (1 << 24)},
		{512, 3.0 / (1 << 24)},
		{1 << 31, 0.5 + 1.0/(1<<24)},
		{1<<32 - 1, 1 - 1.0/(1<<24)},
	} {
		if got := float64(Uniform(c.word)); got != c.want {
			t.Errorf("Uniform(%d) = %v, want %v", c.word, got, c.want)
		}
	}
}

// TestCounter checks the layout of a counter.
func TestCounter(t *testing.T) {
	got := Counter(7, 1, 5, StreamSplit, 8, 9)
	if want := [4]uint32{7, 1<<31 | 5<<8 | 12, 8, 9}; got != want {
		t.Errorf("Counter = %#x, want %#x", got, want)
	}
}

func BenchmarkWords(b *testing.B) {
	var sum uint32
	for i := range b.N {
		w := Words(42, [4]uint32{uint32(i)})
		sum += w[0] ^ w[3]
	}
	sink = sum
}

func BenchmarkUniform(b *testing.B) {
	var sum float32
	for i := range b.N {
		sum += Uniform(uint32(i) << 9)
	}
	sink = uint32(sum)
}

var sink uint32
