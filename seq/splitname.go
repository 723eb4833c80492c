package seq

import "strings"

// KnownSplit is the split that a name stands for, if it is one that is known.
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
