// Package units writes quantities as people read them, with as many digits as mean something.
package units

import "fmt"

// Seconds is a time such as "1.25 ms".
func Seconds(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}} {
		if seconds >= u.size {
			return Digits(seconds/u.size) + " " + u.name
		}
	}
	return Digits(seconds/1e-6) + " µs"
}

// Digits has three digits, and more before the point if there are.
func Digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Rate has as many digits as mean something.
func Rate(v float64) string {
	if v < 100 {
		return Digits(v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Percent is a part such as "12%", or a dash where it is not known.
func Percent(fraction float64) string {
	if fraction == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*fraction)
}

// Bytes is a size such as "1.5 GiB".
func Bytes(n int64) string {
	v, unit := float64(n)/(1<<10), "KiB"
	for _, u := range []string{"MiB", "GiB", "TiB"} {
		if v >= 1024 {
			v, unit = v/1024, u
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
