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

	"github.com/sftseq/sftseq/sft"
)

// TestServeDamagedModel: SIGHUP refuses a model that is damaged, names its file, and the
// server goes on with the one that it has.
func TestServeDamagedModel(t *testing.T) {
	m, err := sft.Load(goldenPath("pre"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := m.Save(dir); err != nil { // with a checksum, as it is written now
		t.Fatal(err)
	}
	weights := filepath.Join(dir, "model.safetensors")
	whole, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	in, input := io.Pipe()
	answers, out := io.Pipe()
	var logs lockedBuffer
	status := make(chan int, 1)
	go func() {
		status <- run(t.Context(), []string{"sftseq", "serve", "--model", dir}, in, out, &logs)
		out.Close()
	}()
	lines := bufio.NewScanner(answers)
	ask := func() string {
		t.Helper()
		fmt.Fprintln(input, `{"id":"x","text":"[MAX 2 9 ]"}`)
		if !lines.Scan() {
			t.Fatalf("no answer: %s", logs.String())
		}
		return lines.Text()
	}
	hangUp := func(want string) string {
		t.Helper()
		before := len(logs.String())
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(30 * time.Second); !strings.Contains(logs.String()[before:], want); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("expected %q in the log, found %s", want, logs.String()[before:])
			}
		}
		return logs.String()[before:]
	}
	want := ask()
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)-5] ^= 0x10 // of a weight
	for round := range 2 {
		if err := os.WriteFile(weights, damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if log := hangUp("the model was not loaded again"); !strings.Contains(log, weights) || !strings.Contains(log, "expected the checksum xxh128:") {
			t.Errorf("round %d: %s", round, log)
		}
		if got := ask(); got != want {
			t.Errorf("round %d: after a damaged model: %s, before: %s", round, got, want)
		}
		if err := os.WriteFile(weights, whole, 0o666); err != nil {
			t.Fatal(err)
		}
		hangUp("the model was loaded again")
		if got := ask(); got != want {
			t.Errorf("round %d: after the same model: %s, before: %s", round, got, want)
		}
	}
	input.Close()
	if got := <-status; got != exitOK {
		t.Errorf("status %d: %s", got, logs.String())
	}
}
