package seq

import "strings"

// KnownSplit returns the split with a known name or synonym, such as val for validation.
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
