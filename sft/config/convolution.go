package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Convolution is a depthwise convolution: it mixes each channel of a token with the same channel of
// other tokens, at distances that are multiples of Dilation.
type Convolution struct {
	KernelSize int `json:"kernel_size"` // odd number of taps; the middle tap is the token itself
	Dilation   int `json:"dilation"`    // distance between taps, in tokens
}

// maxTaps and maxDilation limit the size of a convolution.
const (
	maxTaps     = 63
	maxDilation = 1 << 24
)

// Reach returns the distance between the middle tap and the outermost taps, in tokens.
func (c Convolution) Reach() int { return c.KernelSize / 2 * c.Dilation }

func validateConvolutions(list []Convolution) error {
	for i, v := range list {
		key := fmt.Sprintf("convolutions[%d]", i)
		if v.KernelSize < 1 || v.KernelSize > maxTaps || v.KernelSize%2 == 0 {
			return &Error{key + ".kernel_size", strconv.Itoa(v.KernelSize),
				fmt.Sprintf("an odd number from 1 to %d", maxTaps)}
		}
		if v.Dilation < 1 || v.Dilation > maxDilation {
			return &Error{key + ".dilation", strconv.Itoa(v.Dilation), fmt.Sprintf("1 to %d", maxDilation)}
		}
	}
	return nil
}

// ParseConvolutions parses a comma-separated list of TAPS or TAPS:DILATION, or none.
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
			return nil, fmt.Errorf("expected none, TAPS or TAPS:DILATION, for example 5 or 5:32, found %q", word)
		}
		if err := validateConvolutions([]Convolution{c}); err != nil {
			bad := err.(*Error)
			field := "taps"
			if strings.HasSuffix(bad.Key, "dilation") {
				field = "dilation"
			}
			return nil, fmt.Errorf("%s of %q: expected %s, found %s", field, word, bad.Expected, bad.Found)
		}
		out = append(out, c)
	}
	return out, nil
}

// FormatConvolutions formats a list for [ParseConvolutions].
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
