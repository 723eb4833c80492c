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

// counted are the packages whose branches guide the fuzzer: ours, and the parsers that stand
// behind them. Of a program that links all of Arrow there are 180,000 counters otherwise, which
// the fuzzer sends to and fro as JSON, about for each input that reaches a new one: most
// targets came to a hundred inputs a second.
var counted = regexp.MustCompile(`^(github\.com/sftseq/sftseq(/.*)?|archive/tar|encoding/(csv|json)|image/png|github\.com/klauspost/compress/(flate|gzip|zstd)` +
	`|github\.com/apache/arrow/go/v15/(arrow/ipc|parquet/file|parquet/metadata))(_test)?$`)

// toolArgument has this program run a tool.
const toolArgument = "tool"

// toolVersion tells what is compiled here from what go test -fuzz compiles by itself.
const toolVersion = " branches-counted-1"

// tool runs a tool of the compiler's in go's place: without counters, unless the package is to
// have them.
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
