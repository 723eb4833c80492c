package vk

import "testing"

// TestMemoryErrorText checks the text with and without the free memory and the limit of an allocation.
func TestMemoryErrorText(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		err  MemoryError
		want string
	}{
		{MemoryError{"d", 3 * mib, 0, 0}, "the device d cannot allocate 3.0 MiB"},
		{MemoryError{"d", 3 * mib, mib, 0}, "the device d cannot allocate 3.0 MiB: 1.0 MiB are free"},
		{MemoryError{"d", 3 * mib, mib, 2 * mib}, "the device d cannot allocate 3.0 MiB: 1.0 MiB are free, and an " +
			"allocation is limited to 2.0 MiB"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
