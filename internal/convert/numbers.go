package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/internal/table"
)

// NoNumber is the skip reason of a row without a number.
const NoNumber = "no number"

// numbersOf returns the numbers of a row. The next call reuses their memory.
func (w *worker) numbersOf(values []table.Value) ([]float32, *source.SkipReason) {
	w.numbers = w.numbers[:0]
	for i, v := range values {
		x, reason := Number(w.options.Numbers[i], v)
		if reason != nil {
			return nil, reason
		}
		w.numbers = append(w.numbers, x)
	}
	return w.numbers, nil
}

// Number returns the number in a column of a row, or the skip reason if it is missing or invalid.
func Number(column string, v table.Value) (float32, *source.SkipReason) {
	text := strings.TrimSpace(v.Text)
	switch {
	case v.Tokens != nil:
		return 0, source.Skip("a list of numbers",
			fmt.Errorf("column %s: found a list, expected one number per row (select an element of a JSON list "+
				"with --numbers '%s[0]')", column, column))
	case v.Null || text == "":
		return 0, source.Skip(NoNumber, fmt.Errorf("column %s: found nothing", column))
	}
	x, err := parseNumber(text, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, source.Skip("a number outside the range of float32",
			fmt.Errorf("column %s: found %q", column, jsonlines.Shorten(text, 40)))
	case err != nil || x-x != 0:
		return 0, source.Skip("no finite number", fmt.Errorf("column %s: found %q", column, jsonlines.Shorten(text, 40)))
	}
	return float32(x), nil
}

// parseNumber parses a decimal number. It rejects Go's literals such as 12_34 and 0x1p4, because in
// tables such texts are ids.
func parseNumber(text string, bits int) (float64, error) {
	if strings.ContainsAny(text, "_xX") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(text, bits)
}
