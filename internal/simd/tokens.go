package simd

import "encoding/binary"

// Tokens are the kernels that make tokens of text.
type Tokens struct {
	// Widen is toᵢ = textᵢ + 1 for len(text) bytes, each of 16 bits, the lower ones first.
	Widen func(to []byte, text string)
}

var tokensGo = Tokens{Widen: widenGo}

// widenGo takes eight at a time: the halves of a word are spread, first to pairs of
// bytes, then to 16 bits each.
func widenGo(to []byte, text string) {
	to = to[:2*len(text)]
	const pairs, bytes, ones = 0x0000ffff_0000ffff, 0x00ff00ff_00ff00ff, 0x00010001_00010001
	for len(text) >= 8 && len(to) >= 16 {
		low := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24
		high := uint64(text[4]) | uint64(text[5])<<8 | uint64(text[6])<<16 | uint64(text[7])<<24
		low = (low | low<<16) & pairs
		high = (high | high<<16) & pairs
		binary.LittleEndian.PutUint64(to, (low|low<<8)&bytes+ones)
		binary.LittleEndian.PutUint64(to[8:], (high|high<<8)&bytes+ones)
		text, to = text[8:], to[16:]
	}
	for i := range len(text) {
		binary.LittleEndian.PutUint16(to[2*i:], uint16(text[i])+1)
	}
}
