//go:build !linux

package bench

func resetPeak() bool { return false }

func peakResident() (int64, bool) { return 0, false }
