package seq

import "strings"

// KnownSplit returns train, val or test for a common name of this split, such as val for Validation. It
// ignores case. For other names ok is false.
func KnownSplit(name string) (split string, ok bool) {
	switch strings.ToLower(name) {
	case "train", "training":
		return "train", true
	case "val", "validation", "valid", "dev", "eval":
		return "val", true
	case "test", "testing":
		return "test", true
	}
	return "", false
}
