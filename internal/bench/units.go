package bench

import "fmt"

// FormatSeconds formats a time in seconds, such as "1.25 ms".
func FormatSeconds(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1, "s"}, {1e-3, "ms"}} {
		if seconds >= u.size {
			return FormatDigits(seconds/u.size) + " " + u.name
		}
	}
	return FormatDigits(seconds/1e-6) + " µs"
}

// FormatDigits formats v with two decimal places below 10, one below 100, and none from 100 on.
func FormatDigits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// FormatPercent formats a fraction as a percentage, such as "12%". An unknown fraction, 0, becomes a dash.
func FormatPercent(fraction float64) string {
	if fraction == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*fraction)
}

// FormatBytes formats a size in bytes, such as "1.5 GiB".
func FormatBytes(n int64) string {
	v, unit := float64(n)/(1<<10), "KiB"
	for _, u := range []string{"MiB", "GiB", "TiB"} {
		if v >= 1024 {
			v, unit = v/1024, u
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
