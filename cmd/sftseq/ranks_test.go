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
	listed := slices.Concat(several, harmless, singleProcessCommands)
	names := []string{"help"} // package cli adds it when the program runs
	for _, c := range newApp().Commands {
		names = append(names, c.Name)
	}
	slices.Sort(listed)
	slices.Sort(names)
	equal(t, listed, names)

	t.Setenv("OMPI_COMM_WORLD_SIZE", "2")
	t.Setenv("OMPI_COMM_WORLD_RANK", "0")
	for _, name := range singleProcessCommands {
		refuse(t, exitError, name+": expected one process, found 2", "", name)
	}
	contains(t, succeed(t, "", "version"), "sftseq")
}
