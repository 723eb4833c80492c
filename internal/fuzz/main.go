// Command fuzz runs the fuzz targets of the module, each for the same time:
//
//	go run ./internal/fuzz -time 10s -match 'seq|table.*JSON'
//
// It prints a line for each target and a total, and fails if a target fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"

	"github.com/dustin/go-humanize"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == toolArgument {
		if err := tool(os.Args[2:]); err != nil {
			os.Exit(1) // the tool has printed the reason
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	duration := flag.String("time", "10s", "time for each target, or number of inputs, such as 1000x")
	match := flag.String("match", ".", "regular expression for the names PACKAGE.NAME of the targets")
	memory := flag.String("memory", "4GiB", "memory limit of a process, if the system supports it")
	flag.Parse()
	limit, err := humanize.ParseBytes(*memory)
	if err != nil {
		return fmt.Errorf("-memory %q: expected a size such as 4GiB", *memory)
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	list, err := targets(".", pattern)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("no target matches %q", *match)
	}
	scratch, err := os.MkdirTemp(memoryDir(), "fuzz")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := &runner{dir: ".", self: self, time: *duration, memory: int(limit), scratch: scratch}
	return r.all(ctx, list)
}

// all runs the targets in list and prints their results.
func (r *runner) all(ctx context.Context, list []target) error {
	row := func(name string, x result) {
		fmt.Printf("%-45s %12s %10.0f %8d %8.0f\n", name, humanize.Comma(int64(x.executions)),
			float64(x.executions)/max(x.took.Seconds(), 1e-3), x.interesting, x.took.Seconds())
	}
	fmt.Printf("%-45s %12s %10s %8s %8s\n", "target", "executions", "per second", "new", "seconds")
	var sum result
	failed := 0
	for _, t := range list {
		x, err := r.run(ctx, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		row(t.String(), x)
		if err != nil {
			failed++
			fmt.Println(err)
		}
		sum.executions += x.executions
		sum.interesting += x.interesting
		sum.took += x.took
	}
	row(fmt.Sprintf("%d targets", len(list)), sum)
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(list))
	}
	return nil
}

// memoryDir returns a directory in main memory, where syncing a file is free, or "" for the
// default.
func memoryDir() string {
	const dir = "/dev/shm"
	probe, err := os.MkdirTemp(dir, "fuzz")
	if err != nil || os.Remove(probe) != nil {
		return ""
	}
	return dir
}
