package study

// CostParts are those of the paper's table of costs, in its order, and what it leaves out.
var CostParts = []string{PartSampling, PartQ, PartK, PartV, PartC, PartRelative, PartConcat, PartRemainder, PartScores, PartMLP}

// The parts of a layer.
const (
	PartSampling  = "sampling"
	PartQ         = "Q"
	PartK         = "K"
	PartV         = "V"
	PartC         = "C"
	PartRelative  = "relative"
	PartConcat    = "W_cat"     // the projection of all heads together
	PartRemainder = "remainder" // of attention
	PartScores    = "maxout and PV"
	PartMLP       = "MLP"
)

// Cost counts the operations of a layer with d channels, h heads and an MLP of 4d for two
// sequences of n tokens, k of them sampled, a multiply or a maximum with its add being two. With two
// sequences, 16 heads and two numbers that the relative encoding is made of, this is what
// the paper prints for n = 1024 and d = 256:
//
//	Q = W_cat = 4nd², K = V = 4kd², C = 4kdh, relative = 16nkh, MLP = 32nd²
//
// The score and the weighted sum, 4nkd each, are not in its table.
type Cost struct{ Tokens, Sampled, Width, Heads int }

// CostSequences are those of a count.
const CostSequences = 2

// Paper is the paper's count of a part, and whether it has one that follows from sizes.
func (c Cost) Paper(part string) (operations float64, ok bool) {
	n, k, d, h := float64(c.Tokens), float64(c.Sampled), float64(c.Width), float64(c.Heads)
	switch part {
	case PartQ, PartConcat:
		return 4 * n * d * d, true
	case PartK, PartV:
		return 4 * k * d * d, true
	case PartC:
		return 4 * k * d * h, true
	case PartRelative:
		return 16 * n * k * h, true
	case PartMLP:
		return 32 * n * d * d, true
	}
	return 0, false
}

// Full is the count of a part with what the paper leaves out: the score and the weighted sum;
// for a pair of query and key in each head R_mul, R_add, ReLU and its sum; the scores of
// the sampler and the mixtures of two tokens, without the search for the largest scores.
func (c Cost) Full(part string) float64 {
	n, k, d, h := float64(c.Tokens), float64(c.Sampled), float64(c.Width), float64(c.Heads)
	switch part {
	case PartScores:
		return 2 * 4 * n * k * d
	case PartRemainder:
		return CostSequences * 4 * n * k * h
	case PartSampling:
		return CostSequences * (2*n*d + 3*k*d)
	}
	operations, _ := c.Paper(part)
	return operations
}

// PrintedCosts are the numbers of the paper's table, in units of 10⁹, for n = 1024 and d = 256: those
// that no size explains, by the part of the tokens that is sampled.
var PrintedCosts = map[string]map[float64]float64{
	PartSampling:  {1: 0.0037, 0.5: 0.0037, 0.25: 0.0037, 0.125: 0.0037, 0.0625: 0.0037},
	PartRemainder: {1: 0.044, 0.5: 0.022, 0.25: 0.009, 0.125: 0.004, 0.0625: 0.002},
}
