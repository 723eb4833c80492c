package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// counted matches the packages whose branches guide the fuzzer: those of this module, and parsers
// that they use. Otherwise a program that links all of Arrow has 180,000 counters. The fuzzer
// exchanges these as JSON for nearly each input that reaches a new one, and most targets ran only a
// hundred inputs per second.
var counted = regexp.MustCompile(`^(github\.com/sftseq/sftseq(/.*)?|archive/tar|encoding/(csv|json)|image/png|github\.com/klauspost/compress/(flate|gzip|zstd)` +
	`|github\.com/apache/arrow/go/v15/(arrow/ipc|parquet/file|parquet/metadata))(_test)?$`)

// toolArgument is the argument with which this program runs a tool.
const toolArgument = "tool"

// toolVersion distinguishes packages compiled here from those that go test -fuzz compiles by
// itself.
const toolVersion = " branches-counted-1"

// tool runs a compiler tool, without counters unless the package needs them.
func tool(command []string) error {
	name, args := command[0], command[1:]
	version := slices.Contains(args, "-V=full")
	if at := slices.Index(args, "-p"); strings.TrimSuffix(filepath.Base(name), ".exe") == "compile" && at >= 0 &&
		at+1 < len(args) && !counted.MatchString(args[at+1]) {
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-d=libfuzzer" })
	}
	c := exec.Command(name, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if !version {
		return c.Run()
	}
	c.Stdout = nil
	out, err := c.Output()
	fmt.Printf("%s%s\n", bytes.TrimSpace(out), toolVersion)
	return err
}
