package bench

import (
	"os"
	"strconv"
	"strings"
)

// resetPeak resets the peak of resident memory that the Linux kernel reports. It returns false if
// this fails.
func resetPeak() bool {
	const forgetPeak = "5" // see proc_pid_clear_refs(5)
	return os.WriteFile("/proc/self/clear_refs", []byte(forgetPeak), 0) == nil
}

// peakResident returns the peak of resident memory since resetPeak, in bytes.
func peakResident() (int64, bool) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
