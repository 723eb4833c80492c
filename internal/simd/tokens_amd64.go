package simd

var (
	tokensAVX2   = Tokens{Widen: checkedWiden(widenAVX2)}
	tokensAVX512 = Tokens{Widen: checkedWiden(widenAVX512)}
)

// checkedWiden panics where there is no room: the assembly checks nothing.
func checkedWiden(f func(to []byte, text string)) func(to []byte, text string) {
	return func(to []byte, text string) { f(to[:2*len(text)], text) }
}
