package bench

import "testing"

func TestFormatSeconds(t *testing.T) {
	for v, want := range map[float64]string{2.5: "2.50 s", 0.0123: "12.3 ms", 4.56e-4: "456 µs", 1e-9: "0.00 µs"} {
		if got := FormatSeconds(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1024.0 KiB", 1 << 20: "1.0 MiB",
		5 << 29: "2.5 GiB", 3 << 50: "3072.0 TiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
