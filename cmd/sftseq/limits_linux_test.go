package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// measured runs the program as a process and returns its status, its standard error and its peak
// memory in bytes. The test fails if the program takes more than a minute.
func measured(t *testing.T, args ...string) (status int, stderr string, peak int64) {
	t.Helper()
	c := exec.CommandContext(t.Context(), built(t), args...)
	var text strings.Builder
	c.Stderr = &text
	must.Succeed(t, c.Start())
	deadline := time.AfterFunc(time.Minute, func() { c.Process.Kill() })
	ended, polled := make(chan struct{}), make(chan int64)
	go func() { // the rusage from Wait includes the memory of this process before exec
		maxPeak := int64(0)
		for {
			maxPeak = max(maxPeak, peakMemory(c.Process.Pid))
			select {
			case <-ended:
				polled <- maxPeak
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	err := c.Wait()
	close(ended)
	peak = <-polled
	if !deadline.Stop() {
		t.Fatalf("%q takes more than a minute", args)
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), text.String(), peak
}

// peakMemory returns the peak memory in bytes of a process since its exec; 0 if it has exited.
func peakMemory(pid int) (peak int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, after, ok := strings.Cut(string(text), "VmHWM:"); ok {
		fmt.Sscan(after, &peak)
	}
	return peak << 10
}

// TestMemoryOfHostileFiles checks that files that expand to many times their size, and headers that
// state huge sizes, need bounded memory. Each command succeeds or prints the expected error.
func TestMemoryOfHostileFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
		return writeText(t, path, text)
	}
	model := editedModel(t, "pre", func(config, weights []byte) ([]byte, []byte) { return config, weights })
	writeText(t, filepath.Join(model, "metrics.jsonl"), "")
	config := readText(t, goldenPath("pre", "config.json"))
	for _, size := range []string{"hidden_size", "intermediate_size"} {
		at := strings.Index(config, size)
		end := at + strings.IndexByte(config[at:], ',')
		config = config[:at] + size + `": 1000000` + config[end:]
	}
	writeText(t, filepath.Join(model, "config.json"), config)
	const n = 4_000_000
	data := tinyData(t)
	wave := binary.LittleEndian.AppendUint32([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"),
		1<<30)
	sound := string(wave) + "\x00\x00\x00\x00\x02\x00\x10\x00data\x00\x10\x00\x00" + strings.Repeat("ab", 1<<11)
	tokenizer := `{"version":"1.0","model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"` +
		strings.Repeat(`,"a b"`, n/4) + `]}}`
	stages := `{"version":"1.0","normalizer":{"type":"Sequence","normalizers":[{"type":"Lowercase"}` +
		strings.Repeat(`,{"type":"Lowercase"}`,
			n/4) + `]},"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`
	rows := file("rows.csv", "text,label\naba,x\nbab,y\nabb,x\n")
	to := []string{"--to", filepath.Join(dir, "out"), "--force", "--split", "1,0,0", "--no-baselines"}
	for name, c := range map[string]struct {
		args []string
		want string // part of the error message; "" means success
	}{
		"a list of tokens": {append([]string{"data", "convert", "--from",
			file("tokens.jsonl", `{"tokens":[1`+strings.Repeat(",1", n)+`],"label":"a"}`+"\n"),
			"--tokens", "tokens", "--label", "label", "--vocab", "10"}, to...), ""},
		"a polygon": {[]string{"data", "convert", "cloud", "--from",
			filepath.Dir(filepath.Dir(file("obj/x/x.obj",
				"v 0 0 0\nv 1 0 0\nv 0 1 0\nf"+strings.Repeat(" 1 2 3", n/3)+"\n"))),
			"--to", filepath.Join(dir, "cloud"), "--points", "8", "--val-part", "0", "--test-part", "0",
			"--no-baselines"}, "x.obj: line 4: "},
		"merges": {append([]string{"data", "convert", "--from", rows, "--text", "text", "--label", "label",
			"--tokenizer", "hf:" + file("merges.json", tokenizer)}, to...), ""},
		"stages": {append([]string{"data", "convert", "--from", rows, "--text", "text", "--label", "label",
			"--tokenizer", "hf:" + file("stages.json", stages)}, to...),
			"expected a sequence of at most 1024 stages, found more"},
		"a sampling rate": {append([]string{"data", "convert", "--from", filepath.Dir(file("wav/x.wav", sound)),
			"--tokenizer", "audio-vq"}, to...),
			"x.wav: WAV: expected a sampling rate of 1 to 4000000 Hz, found 1073741824"},
		"--init-from": {[]string{"train", "custom", "--members", "sft", "--data", data, "--init-from", model, "--out",
			filepath.Join(dir, "run")}, "model.safetensors: "},
		"--model": {[]string{"eval", "--model", model, "--data", data}, "model.safetensors: "},
		"report": {[]string{"report", model, "--data", data, "--out", filepath.Join(dir, "r.html")},
			"model.safetensors: "},
		"export": {[]string{"export", "onnx", model, "--output", filepath.Join(dir, "x.onnx")},
			"model.safetensors: "},
		"import": {[]string{"import", "pytorch", model, "--output", filepath.Join(dir, "imported")},
			"model.safetensors: "},
		"serve": {[]string{"serve", "--model", model}, "model.safetensors: "},
		"embed": {[]string{"embed", "--model", model}, "model.safetensors: "},
	} {
		status, stderr, peak := measured(t, c.args...)
		if (status == 0) != (c.want == "") || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: got status %d, %.500q; want the error %q (\"\": success)", name, status, stderr, c.want)
		}
		if peak > 400<<20 {
			t.Errorf("%s: got a peak of %d MiB of memory, want at most 400", name, peak>>20)
		}
	}
}

// TestFIFOsAreRefused checks that commands refuse a FIFO in place of a file, without waiting for a writer.
func TestFIFOsAreRefused(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Succeed(t, syscall.Mkfifo(fifo, 0o666))
	model := filepath.Join(t.TempDir(), "model")
	must.Succeed(t, os.Mkdir(model, 0o777))
	must.Succeed(t, os.Symlink(fifo, filepath.Join(model, "config.json")))
	for _, args := range [][]string{
		{"train", "listops", "--config", fifo},
		{"serve", "--model", goldenPath("pre"), "--http", "127.0.0.1:0", "--http-token", fifo},
		{"eval", "--model", model, "--data", tinyData(t)},
	} {
		refuse(t, exitError, "expected a regular file, found a named pipe", "", args...)
	}
}
