package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// TestServeDamagedModel checks that the server refuses a damaged model after SIGHUP, that the error names
// the damaged file, and that the server continues with the loaded model.
func TestServeDamagedModel(t *testing.T) {
	m := must.Get(sft.Load(goldenPath("pre")))(t)
	dir := t.TempDir()
	must.Succeed(t, m.Save(dir)) // the current format has a checksum
	weights := filepath.Join(dir, "model.safetensors")
	intact := must.Get(os.ReadFile(weights))(t)
	in, input := io.Pipe()
	output, out := io.Pipe()
	var logs lockedBuffer
	status := make(chan int, 1)
	go func() {
		status <- run(t.Context(), []string{"sftseq", "serve", "--model", dir}, in, out, &logs)
		out.Close()
	}()
	lines := bufio.NewScanner(output)
	classify := func() string {
		t.Helper()
		fmt.Fprintln(input, `{"id":"x","text":"[MAX 2 9 ]"}`)
		if !lines.Scan() {
			t.Fatalf("got no response, log:\n%s", logs.String())
		}
		return lines.Text()
	}
	hangUp := func(want string) string {
		t.Helper()
		before := len(logs.String())
		must.Succeed(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		await(t, 30*time.Second, func() bool { return strings.Contains(logs.String()[before:], want) }, &logs)
		return logs.String()[before:]
	}
	want := classify()
	damaged := append([]byte(nil), intact...)
	damaged[len(damaged)-5] ^= 0x10 // a byte of a weight
	for round := range 2 {
		must.Succeed(t, os.WriteFile(weights, damaged, 0o666))
		if log := hangUp("the model could not be reloaded: the previous model remains in use"); !strings.Contains(log,
			weights) || !strings.Contains(log, "expected the checksum xxh128:") {
			t.Errorf("round %d: got log %s, want the file and the expected checksum", round, log)
		}
		equal(t, classify(), want, round)
		must.Succeed(t, os.WriteFile(weights, intact, 0o666))
		hangUp("the model was reloaded")
		equal(t, classify(), want, round)
	}
	input.Close()
	equal(t, <-status, exitOK)
}
