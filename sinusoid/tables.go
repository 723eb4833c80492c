package sinusoid

// Tile is the number of consecutive t's over which Adjoint sums before it
// adds to the total. Cosines of one tile, 256·dim/2 numbers, stay in the cache.
const Tile = 256

// Rows are the first N entries, at a Stride, of several tables: entry i of row
// r is Data[r·Stride + i]. N = 0 stands for no table at all.
type Rows struct {
	Data   []float32
	Stride int
	N      int
}

func (t Rows) row(r int) []float32 {
	if t.N == 0 {
		return nil
	}
	return t.Data[r*t.Stride:][:t.N]
}

// Fold turns the weights W [rows, dim], sine and cosine alternating, into the
// tables' coefficients [rows, dim], f's before g's:
//
//	coef[r,c]     = ½(W[r,2c+1] + W[r,2c])    c < dim/2
//	coef[r,dim/2+c] = ½(W[r,2c+1] − W[r,2c])
func (q *Frequencies) Fold(coef, weight []float32) {
	half := len(q.turns)
	for ; len(weight) > 0; coef, weight = coef[2*half:], weight[2*half:] {
		for c := range half {
			sine, cosine := weight[2*c], weight[2*c+1]
			coef[c] = 0.5 * (cosine + sine)
			coef[half+c] = 0.5 * (cosine - sine)
		}
	}
}

// Unfold is the adjoint of Fold: it adds to dWeight [rows, dim] what dCoef [rows, dim]
// gives it,
//
//	dWeight[r,2c]   += ½(dCoef[r,c] − dCoef[r,dim/2+c])
//	dWeight[r,2c+1] += ½(dCoef[r,c] + dCoef[r,dim/2+c])
func (q *Frequencies) Unfold(dWeight, dCoef []float32) {
	half := len(q.turns)
	for ; len(dCoef) > 0; dWeight, dCoef = dWeight[2*half:], dCoef[2*half:] {
		for c := range half {
			f, g := dCoef[c], dCoef[half+c]
			dWeight[2*c] += 0.5 * (f - g)
			dWeight[2*c+1] += 0.5 * (f + g)
		}
	}
}

// Tables fills one tile of the tables of every row, from the folded
// coefficients coef [rows, dim], bias [rows] and the tile's cosines [n, dim/2], n ≥ f.N and g.N:
//
//	f[r,i] = Σ_c coef[r,c]·cosines[i,c] + bias[r]
//	g[r,i] = Σ_c coef[r,dim/2+c]·cosines[i,c]
//
// Each entry has one order of additions, whatever the tile: see dot.
func (q *Frequencies) Tables(f, g Rows, coef, bias, cosines []float32) {
	half := len(q.turns)
	for r, b := range bias {
		forF, forG := coef[2*half*r:][:half], coef[2*half*r+half:][:half]
		for i, row := 0, f.row(r); i < len(row); i++ {
			row[i] = dot(forF, cosines[i*half:]) + b
		}
		for i, row := 0, g.row(r); i < len(row); i++ {
			row[i] = dot(forG, cosines[i*half:])
		}
	}
}

// Table fills f and g, of any lengths, with one row's tables from t0 on; either may
// be empty. The same bits as Tables; weight has dim elements.
func (q *Frequencies) Table(f, g, weight []float32, t0 int, bias float32) {
	half := len(q.turns)
	coef := make([]float32, 2*half)
	q.Fold(coef, weight[:2*half])
	cosines := make([]float32, min(Tile, max(len(f), len(g)))*half)
	for len(f) > 0 || len(g) > 0 {
		nf, ng := min(Tile, len(f)), min(Tile, len(g))
		q.Cosines(cosines, t0, max(nf, ng))
		q.Tables(Rows{f, 0, nf}, Rows{g, 0, ng}, coef, []float32{bias}, cosines)
		f, g, t0 = f[nf:], g[ng:], t0+Tile
	}
}

// Adjoint adds one tile's gradients df, dg, the adjoint of Tables, to dCoef [rows, dim] and
// dBias [rows]:
//
//	dCoef[r,c]     += Σ_i df[r,i]·cosines[i,c]
//	dCoef[r,dim/2+c] += Σ_i dg[r,i]·cosines[i,c]
//	dBias[r]       += Σ_i df[r,i]
//
// The sums over a tile are complete, in ascending i, before they are added.
// So the result is the same however tiles (of Tile t's, starting at its multiples) are
// shared out, as long as each element receives them in ascending order: by giving away rows, or a
// zeroed dCoef per tile and adding these. scratch has dim/2 elements.
func (q *Frequencies) Adjoint(dCoef, dBias []float32, df, dg Rows, cosines, scratch []float32) {
	half := len(q.turns)
	for r := range dBias {
		var bias float32
		for _, d := range df.row(r) {
			bias += d
		}
		dBias[r] += bias
		addWeighted(dCoef[2*half*r:][:half], df.row(r), cosines, scratch)
		addWeighted(dCoef[2*half*r+half:][:half], dg.row(r), cosines, scratch)
	}
}

// dot returns Σ_c a[c]·b[c] as four sums over c mod 4, added by pairs.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += float32(a[0] * b[0])
		s1 += float32(a[1] * b[1])
		s2 += float32(a[2] * b[2])
		s3 += float32(a[3] * b[3])
		a, b = a[4:], b[4:]
	}
	switch len(a) {
	case 3:
		s2 += float32(a[2] * b[2])
		fallthrough
	case 2:
		s1 += float32(a[1] * b[1])
		fallthrough
	case 1:
		s0 += float32(a[0] * b[0])
	}
	return (s0 + s2) + (s1 + s3)
}

// addWeighted adds Σ_i d[i]·cosines[i,c] to total[c], through sum.
func addWeighted(total, d, cosines, sum []float32) {
	half := len(total)
	sum = sum[:half]
	clear(sum)
	for i, x := range d {
		row := cosines[i*half:][:half]
		for c := range sum {
			sum[c] += float32(x * row[c])
		}
	}
	for c := range total {
		total[c] += sum[c]
	}
}
