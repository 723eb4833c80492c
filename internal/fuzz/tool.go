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

// instrumented matches the packages whose branches guide the fuzzer: the packages of this module, and
// the parsers that they use. With all packages instrumented, a program that links all of Arrow had
// 180,000 counters. Most targets then ran only a hundred inputs per second, because the fuzzer exchanges the
// counters as JSON for nearly every input that reaches a new counter.
var instrumented = regexp.MustCompile(`^(github\.com/sftseq/sftseq(/.*)?|archive/tar|encoding/(csv|json)|image/png|github\.com/klauspost/compress/(flate|gzip|zstd)` +
	`|github\.com/apache/arrow/go/v15/(arrow/ipc|parquet/file|parquet/metadata))(_test)?$`)

// toolArgument is the first argument of this program if go test runs it as the wrapper of a tool.
const toolArgument = "tool"

// toolVersion distinguishes packages compiled by this tool from packages that go test -fuzz
// compiles without it.
const toolVersion = " branches-counted-1"

// tool runs a command of the Go toolchain. If the command compiles a package that instrumented does not
// match, tool removes the flag for coverage counters.
func tool(command []string) error {
	name, args := command[0], command[1:]
	version := slices.Contains(args, "-V=full")
	if at := slices.Index(args, "-p"); strings.TrimSuffix(filepath.Base(name), ".exe") == "compile" && at >= 0 &&
		at+1 < len(args) && !instrumented.MatchString(args[at+1]) {
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
