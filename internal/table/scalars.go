package table

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
)

// extensionUUID is the name of Arrow's extension type for UUIDs.
const extensionUUID = "arrow.uuid"

// uuidBytes is the length of a stored UUID.
const uuidBytes = 16

// formatterOf returns the function that formats values of a column, or nil if the type alone
// determines the format. A timestamp or a time of day has a time zone only if its column has one.
func formatterOf(f arrow.Field) func(string) string {
	if isUUID(f) {
		return uuidText
	}
	if _, utc := f.Metadata.GetValue(keyUTC); utc {
		return func(text string) string { return text + "+00:00" } // DuckDB accepts no Z after a time of day
	}
	if t, ok := f.Type.(*arrow.TimestampType); ok && t.TimeZone == "" {
		return func(text string) string { return strings.TrimSuffix(text, "Z") }
	}
	return nil
}

// isUUID reports whether a column has the extension type of UUIDs.
func isUUID(f arrow.Field) bool {
	name, _ := f.Metadata.GetValue(ipc.ExtensionTypeKeyName)
	t := f.Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	fixed, ok := t.(*arrow.FixedSizeBinaryType)
	return ok && fixed.ByteWidth == uuidBytes && name == extensionUUID
}

// uuidText returns the 16 bytes of a UUID as 32 hexadecimal digits in groups of 8-4-4-4-12.
func uuidText(id string) string {
	s := hex.EncodeToString([]byte(id))
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// scalarText returns value i of a column of numbers, booleans, dates or times as text. A decimal keeps
// the trailing zeros of its scale.
func scalarText(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.Float16:
		return floatText(float64(a.Value(i).Float32()), 32)
	case *array.Float32:
		return floatText(float64(a.Value(i)), 32)
	case *array.Float64:
		return floatText(a.Value(i), 64)
	case *array.Decimal128:
		return decimalText(a.Value(i).BigInt(), int(a.DataType().(*arrow.Decimal128Type).Scale))
	case *array.Decimal256:
		return decimalText(a.Value(i).BigInt(), int(a.DataType().(*arrow.Decimal256Type).Scale))
	}
	switch a := a.(type) {
	case *array.Date32:
		return dateText(int64(a.Value(i)))
	case *array.Date64:
		ms := int64(a.Value(i))
		if ms%dayMillis != 0 { // a date must be a whole number of days
			return timestampText(ms, arrow.Millisecond, time.UTC)
		}
		return dateText(ms / dayMillis)
	case *array.Time32:
		return timeText(int64(a.Value(i)), a.DataType().(*arrow.Time32Type).Unit)
	case *array.Time64:
		return timeText(int64(a.Value(i)), a.DataType().(*arrow.Time64Type).Unit)
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		zone, err := t.GetZone()
		if err != nil {
			zone = time.UTC
		}
		text := timestampText(int64(a.Value(i)), t.Unit, zone)
		if t.TimeZone == "" {
			text = strings.TrimSuffix(text, "Z")
		}
		return text
	}
	return a.ValueStr(i)
}

// dayMillis is the number of milliseconds in a day.
const dayMillis = 24 * 60 * 60 * 1000

// dateText returns a day, counted from 1970-01-01, as text.
func dateText(day int64) string { return time.Unix(day*24*60*60, 0).UTC().Format("2006-01-02") }

// timestampText formats the time v units after 1970-01-01 UTC in a time zone. The fraction of a second
// has no trailing zeros; UTC is written as Z.
func timestampText(v int64, unit arrow.TimeUnit, zone *time.Location) string {
	perSecond := int64(time.Second / unit.Multiplier())
	seconds, rest := v/perSecond, v%perSecond
	return time.Unix(seconds, rest*int64(unit.Multiplier())).In(zone).Format("2006-01-02 15:04:05.999999999Z0700")
}

// timeText formats the time of day v units after midnight. The end of the day is 24:00:00.
func timeText(v int64, unit arrow.TimeUnit) string {
	perSecond := int64(time.Second / unit.Multiplier())
	seconds, rest := v/perSecond, v%perSecond
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if rest != 0 {
		digits := len(strconv.FormatInt(perSecond, 10)) - 1
		text += "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
	}
	return text
}

// floatText formats a number with the fewest significant digits that parse to the same number. As in JavaScript, the
// text has an exponent only for absolute values below 1e-6 or from 1e21 on, and infinity is written as
// Infinity, not as Go's +Inf.
func floatText(v float64, bits int) string {
	switch size := math.Abs(v); {
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case size == 0 || size >= 1e-6 && size < 1e21:
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// maxScale is the maximum absolute scale of decimals that are written without an exponent, because a
// file may claim any scale.
const maxScale = 76

// decimalText returns v·10^-scale with all digits, or with an exponent if the absolute value of scale
// exceeds maxScale.
func decimalText(v *big.Int, scale int) string {
	digits, sign := new(big.Int).Abs(v).String(), ""
	if v.Sign() < 0 {
		sign = "-"
	}
	switch {
	case scale > maxScale || scale < -maxScale:
		return sign + digits + "e" + strconv.Itoa(-scale)
	case scale > 0:
		if short := scale + 1 - len(digits); short > 0 {
			digits = strings.Repeat("0", short) + digits
		}
		return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	case v.Sign() != 0:
		digits += strings.Repeat("0", -scale)
	}
	return sign + digits
}
