package sft

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/tensor"
)

// Convolution is a depthwise convolution: each channel of a token is mixed with those
// of its neighbours, at multiples of a distance.
type Convolution struct {
	KernelSize int `json:"kernel_size"` // taps, of which the middle one is the token itself
	Dilation   int `json:"dilation"`    // tokens from one tap to the next
}

// maxTaps and maxDilation bound what a convolution reads.
const (
	maxTaps     = 63
	maxDilation = 1 << 24
)

// Reach is how many tokens to each side it reads.
func (c Convolution) Reach() int { return c.KernelSize / 2 * c.Dilation }

func validateConvolutions(list []Convolution) error {
	for i, v := range list {
		key := fmt.Sprintf("convolutions[%d]", i)
		if v.KernelSize < 1 || v.KernelSize > maxTaps || v.KernelSize%2 == 0 {
			return &ConfigError{key + ".kernel_size", strconv.Itoa(v.KernelSize),
				fmt.Sprintf("an odd number from 1 to %d", maxTaps)}
		}
		if v.Dilation < 1 || v.Dilation > maxDilation {
			return &ConfigError{key + ".dilation", strconv.Itoa(v.Dilation), fmt.Sprintf("1 to %d", maxDilation)}
		}
	}
	return nil
}

// ParseConvolutions reads TAPS or TAPS:DILATION, several of them with commas between,
// or none.
func ParseConvolutions(text string) ([]Convolution, error) {
	if text == "none" {
		return nil, nil
	}
	var out []Convolution
	for _, word := range strings.Split(text, ",") {
		taps, dilation, dilated := strings.Cut(word, ":")
		c := Convolution{Dilation: 1}
		var err error
		if c.KernelSize, err = strconv.Atoi(taps); err == nil && dilated {
			c.Dilation, err = strconv.Atoi(dilation)
		}
		if err != nil {
			return nil, fmt.Errorf("%q, expected TAPS or TAPS:DILATION, such as 5 or 5:32, or none", word)
		}
		if err := validateConvolutions([]Convolution{c}); err != nil {
			bad := err.(*ConfigError)
			what := "taps"
			if strings.HasSuffix(bad.Key, "dilation") {
				what = "dilation"
			}
			return nil, fmt.Errorf("%q has %s %s, expected %s", word, what, bad.Found, bad.Expected)
		}
		out = append(out, c)
	}
	return out, nil
}

// FormatConvolutions is what [ParseConvolutions] reads.
func FormatConvolutions(list []Convolution) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, c := range list {
		if words[i] = strconv.Itoa(c.KernelSize); c.Dilation != 1 {
			words[i] += ":" + strconv.Itoa(c.Dilation)
		}
	}
	return strings.Join(words, ",")
}

// convolution is what a branch leaves for its backward:
//
//	pre-norm   x ← x + GELU(conv(LN(x)))
//	post-norm  x ← LN(x + GELU(conv(x)))
type convolution struct {
	Convolution
	name string // prefix of its parameters
	norm norm
	x, z *tensor.Tensor // what the sum over the taps is of, and the sum
}

// convolutionParameters are those of a layer's branches.
func convolutionParameters(c *Config, name string) (out []Parameter) {
	for n, v := range c.Convolutions {
		name := fmt.Sprintf("%sconv.%d.", name, n)
		out = append(out,
			Parameter{Name: name + "weight", Shape: []int{v.KernelSize, c.HiddenSize}, Decay: true,
				Part: PartConvolutions, fresh: uniformBy(v.KernelSize)},
			Parameter{Name: name + "bias", Shape: []int{c.HiddenSize}, Part: PartConvolutions})
		out = append(out, normParameters(name+"norm", c.HiddenSize)...)
	}
	return out
}

// convolutionBranches emits a layer's branches, one after the other.
func (l *layer) convolutionBranches(x *tensor.Tensor) *tensor.Tensor {
	l.convolutions = make([]convolution, len(l.config.Convolutions))
	for n, c := range l.config.Convolutions {
		b := &l.convolutions[n]
		*b = convolution{Convolution: c, name: fmt.Sprintf("%sconv.%d.", l.name, n)}
		b.x = x
		if l.pre() {
			b.x, b.norm = l.norm(b.name+"norm", x)
		}
		y := l.like(x, b.name+"residual")
		if l.mode.backward() {
			b.z = l.like(x, b.name+"sum")
		}
		l.Launch(tensor.Convolution{Y: y, A: x, X: b.x, Z: b.z, Weight: l.weight(b.name + "weight"),
			Bias:  l.weight(b.name + "bias"),
			Batch: l.batch, Dilation: c.Dilation})
		if x = y; !l.pre() {
			x, b.norm = l.norm(b.name+"norm", y)
		}
	}
	return x
}

// convolutionsBackward turns the gradient dx of what the branches give into that of
// what they are given.
func (l *layer) convolutionsBackward(dx *tensor.Tensor) {
	for n := len(l.convolutions) - 1; n >= 0; n-- {
		b := &l.convolutions[n]
		if !l.pre() {
			l.normBackward(b.norm, dx, dx, false)
		}
		dz := b.z // takes its place
		l.Launch(tensor.GELUBackward{DX: dz, DY: dx, X: b.z})
		back := tensor.ConvolutionBackward{DX: dx, DWeight: l.gradient(b.name + "weight"),
			DBias: l.gradient(b.name + "bias"),
			DZ:    dz, X: b.x, Weight: l.weight(b.name + "weight"), Batch: l.batch,
			Dilation: b.Dilation, Accumulate: true}
		if l.pre() {
			back.DX, back.Accumulate = l.like(dx, b.name+"grad"), false
		}
		l.Launch(back)
		if l.pre() {
			l.normBackward(b.norm, dx, back.DX, true)
		}
	}
}
