package hftokenizer

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// score is a number that is rounded as in Hugging Face's library: the digits as an integer, multiplied
// or divided by a power of ten. The result is not always the nearest float64. Its last bit may decide
// between splits whose sums of scores are otherwise equal.
type score float64

// UnmarshalJSON reads a JSON number.
func (s *score) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, &number); err != nil || number == "" || text[0] == '"' {
		return fmt.Errorf("expected a number, found %.40q", text)
	}
	digits, exponent := string(number), 0
	if mantissa, e, ok := strings.Cut(strings.ToLower(digits), "e"); ok {
		n, err := strconv.Atoi(e)
		if err != nil || n < -9999 || n > 9999 {
			return fmt.Errorf("expected a score with an exponent from -9999 to 9999, found %.40q", number)
		}
		digits, exponent = mantissa, n
	}
	digits, negative := strings.CutPrefix(digits, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	significand, full := uint64(0), false
	for i, c := range whole + fraction {
		d := uint64(c - '0')
		if full = full || significand > (math.MaxUint64-d)/10; full {
			if i < len(whole) {
				exponent++
			}
			continue
		}
		significand = 10*significand + d
		if i >= len(whole) {
			exponent--
		}
	}
	f := float64(significand)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	switch power := math.Pow10(min(308, max(exponent, -exponent))); {
	case exponent > 308:
		f = math.Inf(1)
	case exponent >= 0:
		f *= power
	default:
		f /= power
	}
	if f > 1e300 {
		return fmt.Errorf("expected a score from -1e300 to 1e300, found %.40q", number)
	}
	if negative {
		f = -f
	}
	*s = score(f)
	return nil
}
