package pairs

import "math"

// idfRanges is the number of ranges of idf in which shared words are counted.
const idfRanges = 12

// features returns the number of features of a pair.
func (c *Config) features() int { return 2*len(views[c.Units]) + 4*idfRanges + 1 }

// comparer computes the features of pairs. It is not safe for concurrent use.
type comparer struct {
	reader   *reader
	texts    [][]int32 // number of training texts by view and slot
	logs     []float64 // natural logarithms of small counts, by count
	logTexts float64   // ln(N + 1), where N is the number of training texts
	a, b     text
	shared   slots
}

// maxLogs is the maximum size of the table of logarithms.
const maxLogs = 1 << 14

func newComparer(c *Config, texts [][]int32) *comparer {
	x := &comparer{reader: newReader(c), texts: texts, logTexts: math.Log(float64(c.Texts + 1)),
		logs: make([]float64, min(maxLogs, c.Texts+2))}
	for i := range x.logs {
		x.logs[i] = math.Log(float64(i))
	}
	return x
}

// log returns ln n.
func (x *comparer) log(n int) float64 {
	if n < len(x.logs) {
		return x.logs[n]
	}
	return math.Log(float64(n))
}

// idf returns the inverse document frequency of a slot, with a document frequency of at least
// minTexts.
func (x *comparer) idf(v int, slot uint32, minTexts int32) float64 {
	return max(0, x.logTexts-x.log(int(max(minTexts, x.texts[v][slot]))+1))
}

// norm returns the norm of a text's tf-idf vector.
func (x *comparer) norm(v int, b bag) float64 {
	sum := 0.0
	for _, g := range b {
		w := (1 + x.log(int(g.count))) * x.idf(v, g.slot, 1)
		sum += float64(w * w)
	}
	return math.Sqrt(sum)
}

// term returns the product of two texts' tf-idf values for a slot.
func (x *comparer) term(a, b gram, idf float64) float64 {
	return (1 + x.log(int(a.count))) * (1 + x.log(int(b.count))) * idf * idf
}

// features writes the features of a pair to out.
func (x *comparer) features(a, b []int32, out []float64) {
	x.reader.read(a, &x.a)
	x.reader.read(b, &x.b)
	clear(out)
	views := len(x.texts)
	counts, parts := out[2*views:][:2*idfRanges], out[2*views+2*idfRanges:][:2*idfRanges]
	for v := range views {
		ab, bb := x.a.bags[v], x.b.bags[v]
		scale := 0.0
		if n := float64(x.norm(v, ab) * x.norm(v, bb)); n > 0 {
			scale = 1 / n
		}
		x.shared.clear(len(bb))
		for i, g := range bb {
			x.shared.put(g.slot, uint32(i))
		}
		dot, largest := 0.0, 0.0
		for _, g := range ab {
			e := x.shared.find(g.slot)
			if e.generation != x.shared.generation {
				continue
			}
			other := bb[e.number]
			idf := x.idf(v, g.slot, 2)
			term := x.term(g, other, idf)
			dot += term
			largest = max(largest, idf)
			if v == 0 {
				at := min(int(idf), idfRanges-1)
				if g.capital == withinSentence && other.capital == withinSentence {
					at += idfRanges
				}
				counts[at]++
				parts[at] += term * scale
			}
		}
		out[2*v], out[2*v+1] = dot*scale, largest/10
	}
	for i, n := range counts {
		counts[i] = math.Log1p(n)
	}
	out[len(out)-1] = math.Log(float64(x.a.words+1)*float64(x.b.words+1)) / 20
}
