package main

import (
	"slices"
	"testing"
)

// TestCommandsOfRanks checks that each command is in exactly one list: commands that share their work
// among ranks, commands that print the same text on every rank, or singleProcessCommands.
func TestCommandsOfRanks(t *testing.T) {
	several := []string{"train", "pretrain", "eval"}
	harmless := []string{"health", "version", "completion", "man", "help"}
	names := slices.Concat(several, harmless, singleProcessCommands)
	for _, c := range newApp().Commands {
		if n := len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name != c.Name })); n != 1 {
			t.Errorf("command %s is in %d lists, want 1", c.Name, n)
		}
	}
}
