package sinusoid

// goldenTurns has values of floor(base^(−2c/dim)/2π·2⁶⁴ + ½) mod 2⁶⁴, computed with mpmath at 3,000
// bits.
var goldenTurns = []struct {
	base   float64
	dim, c int
	turn   uint64
}{
	{10000.0, 64, 0, 0x28be60db9391054a},
	{10000.0, 64, 1, 0x1e8dae29db02bb88},
	{10000.0, 64, 13, 0xf757df34bfe5e5},
	{10000.0, 64, 31, 0x16412e4ffae4c},
	{10000.0, 32, 5, 0x24a8b144acc0654},
	{10000.0, 32, 15, 0x1dad5016848ff},
	{500.0, 6, 0, 0x28be60db9391054a},
	{500.0, 6, 1, 0x5222533f7b436cf},
	{500.0, 6, 2, 0xa5926a60198859},
	{1.0, 4, 1, 0x28be60db9391054a},
	{0.1, 10, 1, 0x4093091fdd27fd92},
	{0.1, 10, 4, 0x1133cfe90d624aa},
	{1e+300, 8, 0, 0x28be60db9391054a},
	{1e+300, 8, 1, 0x0},
	{1e+300, 8, 3, 0x0},
	{1e-300, 8, 1, 0x97f8b0fce552cf2b},
	{1e-300, 8, 3, 0x1a8a0ac7f2294d71},
	{5e-324, 4, 1, 0x135a2fbf209cc8eb},
	{1.7976931348623157e+308, 4, 1, 0x0},
	{2.0, 65536, 32767, 0x145f4caba6eb58cc},
}
