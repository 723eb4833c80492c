package rope

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/testenv"
)

// check checks that a rope equals a text of UTF-16 code units, and that its tree is valid.
func check(t *testing.T, r *Rope, want []uint16) {
	t.Helper()
	if text := encode(want); r.String() != string(text) || r.Len() != len(text) || r.Units() != len(want) {
		t.Fatalf("got %d bytes, %d units: %.100q; want %d, %d: %.100q", r.Len(), r.Units(), r.String(),
			len(text), len(want), text)
	}
	if r.root == nil {
		return
	}
	lone := -1
	for i := 0; i < len(want); i++ {
		c := rune(want[i])
		if IsHigh(c) && i+1 < len(want) && IsLow(rune(want[i+1])) {
			i++
		} else if utf16.IsSurrogate(c) {
			lone = i
			break
		}
	}
	if got := r.FirstLoneSurrogate(); got != lone {
		t.Fatalf("FirstLoneSurrogate returned %d, want %d", got, lone)
	}
	var walk func(n *node) (room int)
	walk = func(n *node) int {
		room := nodeBytes + cap(n.text)
		s := measure(n.text)
		if n.left != nil {
			room += walk(n.left) + walk(n.right)
			s = n.left.plus(n.right.size)
			if d := n.left.height - n.right.height; d < -1 || d > 1 ||
				n.height != 1+max(n.left.height, n.right.height) || n.text != nil {
				t.Fatalf("a node of height %d has subtrees of heights %d and %d",
					n.height, n.left.height, n.right.height)
			}
		} else if length := len(n.text); n != r.root && length < minLeaf || length == 0 || length > maxLeaf ||
			cap(n.text) > maxLeaf || !utf8.RuneStart(n.text[0]) {
			t.Fatalf("got a leaf of %d bytes with capacity %d: %.10q; want %d to %d bytes of whole characters", length,
				cap(n.text), n.text, minLeaf, maxLeaf)
		}
		if n.size != s || n.allocated != room {
			t.Fatalf("got size %v, %d allocated bytes; want %v, %d", n.size, n.allocated, s, room)
		}
		return room
	}
	walk(r.root)
}

// encode returns UTF-16 code units as WTF-8.
func encode(units []uint16) []byte {
	var out []byte
	for i := 0; i < len(units); i++ {
		c := rune(units[i])
		switch {
		case i+1 < len(units) && IsHigh(c) && IsLow(rune(units[i+1])):
			out = utf8.AppendRune(out, utf16.DecodeRune(c, rune(units[i+1])))
			i++
		case utf16.IsSurrogate(c):
			out = AppendSurrogate(out, c)
		default:
			out = utf8.AppendRune(out, c)
		}
	}
	return out
}

// decode returns WTF-8 as UTF-16 code units.
func decode(text []byte) []uint16 {
	var out []uint16
	for len(text) > 0 {
		if h := Surrogate(text); h >= 0 {
			out, text = append(out, uint16(h)), text[SurrogateBytes:]
			continue
		}
		c, n := utf8.DecodeRune(text)
		out, text = utf16.AppendRune(out, c), text[n:]
	}
	return out
}

// randomText returns n random characters. If surrogates is set, some of them are surrogates, and an
// adjacent high and low surrogate become one character.
func randomText(r *rand.Rand, n int, surrogates bool) []byte {
	units := []uint16{}
	for range n {
		switch k := r.IntN(12); {
		case k < 6:
			units = append(units, uint16('a'+r.IntN(26)))
		case k < 7:
			units = utf16.AppendRune(units, 'é')
		case k < 8:
			units = utf16.AppendRune(units, '漢')
		case k < 9:
			units = utf16.AppendRune(units, '퟿') // its first byte equals the first byte of surrogates
		case k < 10 || !surrogates:
			units = utf16.AppendRune(units, '🙂')
		default:
			units = append(units, uint16(0xD800+r.IntN(0x800)))
		}
	}
	return encode(units)
}

// TestReplaceUnits checks random edits in code units, which split and join characters, against the
// same edits of a slice of code units.
func TestReplaceUnits(t *testing.T) {
	testenv.Long(t, "compares thousands of edits with slices")
	for _, length := range []int{0, 10, 3 * maxLeaf, 100 * maxLeaf} {
		for seed := range uint64(3) {
			r := rand.New(rand.NewPCG(seed, 2))
			var rope Rope
			var want []uint16
			for range 2000 {
				start := r.IntN(len(want) + 1)
				end := min(len(want), start+r.IntN(10))
				n := r.IntN(10)
				switch r.IntN(20) {
				case 0:
					end = min(len(want), start+r.IntN(2*maxLeaf))
				case 1:
					n = r.IntN(10 * maxLeaf)
				case 2:
					n, end = 0, start
				}
				if len(want) > length {
					n = min(n, end-start)
					if r.IntN(100) == 0 {
						end = start + r.IntN(len(want)-start+1)
					}
				}
				text := randomText(r, n, true)
				rope.ReplaceUnits(start, end, text)
				want = slices.Concat(want[:start], decode(text), want[end:])
				if r.IntN(20) == 0 || length < 100 {
					check(t, &rope, want)
				}
			}
			check(t, &rope, want)
			rope.ReplaceUnits(0, len(want), nil)
			check(t, &rope, nil)
			if rope.Allocated() != 0 {
				t.Errorf("an empty rope takes %d bytes, want 0", rope.Allocated())
			}
		}
	}
}

// FuzzDocument checks edits with positions and texts from the fuzzer, in bytes and in UTF-16 code
// units, against the same edits of strings.
func FuzzDocument(f *testing.F) {
	f.Add(strings.Repeat("aé漢🙂", 1000), []byte("\x00\x10\x20\x30\x40\x50\x60\x70\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0"), "🙂",
		false)
	f.Add(strings.Repeat("🙂", 2000), []byte("\x01\x11\x21\x31\x41\x51\x61\x71\x81\x91\xa1\xb1\xc1\xd1\xe1\xf1"),
		"\xed\xa0\xbd", true)
	f.Add("", []byte("\x00\x00\x00\x00\x10\x00\x00\x00"), strings.Repeat("b", 5000), true)
	f.Fuzz(func(t *testing.T, text string, positions []byte, insert string, units16 bool) {
		defer testenv.FuzzLimits(t, 1<<20+100*(1+len(positions))*(len(text)+len(positions)*len(insert)))()
		units, inserted := decode([]byte(strings.ToValidUTF8(text, "?"))), decode([]byte(strings.ToValidUTF8(insert,
			"?")))
		if units16 { // lone surrogates come from split characters and from the inserted texts
			for i, c := range []byte(insert) {
				inserted = append(inserted, 0xD800+uint16(c)<<3+uint16(i)&7)
			}
		}
		text = string(encode(units))
		var r Rope
		r.Replace(0, 0, []byte(text))
		for n := 0; len(positions) >= 4 && n < 100; n++ {
			length := len(text)
			if units16 {
				length = len(units)
			}
			start := (int(positions[0])<<8 | int(positions[1])) * length >> 16
			end := start + (int(positions[2])<<8|int(positions[3]))*(length-start)>>16
			if n%2 == 1 { // every second change is small
				end = min(end, start+int(positions[3]))
			}
			positions = positions[4:]
			part := inserted[:len(inserted)*(n%5)/4]
			if units16 {
				units = slices.Concat(units[:start], part, units[end:])
				text = string(encode(units))
				r.ReplaceUnits(start, end, encode(part))
			} else {
				for start > 0 && start < length && !utf8.RuneStart(text[start]) {
					start--
				}
				for end < length && !utf8.RuneStart(text[end]) {
					end++
				}
				piece := strings.ToValidUTF8(string(encode(part)), "?")
				text = text[:start] + piece + text[end:]
				units = decode([]byte(text))
				r.Replace(start, end, []byte(piece))
			}
			check(t, &r, units)
			if at := len(text) / 3; at < len(text) && r.Byte(at) != text[at] {
				t.Fatalf("byte %d is %d, want %d", at, r.Byte(at), text[at])
			}
		}
	})
}

// BenchmarkReplace measures small edits throughout a text of 10 MiB.
func BenchmarkReplace(b *testing.B) {
	for _, c := range []struct{ name, text string }{{"ascii", "a"}, {"wide", "é"}} {
		b.Run(c.name, func(b *testing.B) {
			var r Rope
			r.Replace(0, 0, []byte(strings.Repeat(c.text, 10<<20/len(c.text))))
			random := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				at := random.IntN(r.Units() - 1)
				r.ReplaceUnits(at, at+1, []byte(c.text))
			}
		})
	}
}
