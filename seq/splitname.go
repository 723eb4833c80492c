package seq

import "strings"

// KnownSplit returns train, val or test for a known name of that split in any case, such as val for
// Validation.
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
