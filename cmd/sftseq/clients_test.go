package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

const examplesDir = "../../examples"

// TestClients runs the clients of examples/ against the program, with the commands in their
// comments. The predictions that they print must equal predict's.
func TestClients(t *testing.T) {
	path := built(t)
	model := goldenPath("post") // predicts different classes for the sequences of the clients
	// The debounce keeps a slow client from receiving a result between its two changes.
	server := []string{path, "serve", "--log", "warn", "--debounce", "500ms", "--model", model}
	shell := []string{"bash", filepath.Join(examplesDir, "classify.sh")}
	node := []string{"node", filepath.Join(examplesDir, "node/client.mjs")}

	t.Run("shell", func(t *testing.T) {
		testenv.NeedPrograms(t, "bash", "jq")
		lines := readText(t, goldenPath("post", "inputs.jsonl")) +
			"{\"text\":\"[MAX 2 9 ]\"}\n{\"id\":\"bad\",\"tokens\":[99]}\n"
		equal(t, client(t, lines, shell, server...), wantTable(t, model, lines))
		checkClientFails(t, shell, path)
	})
	t.Run("node", func(t *testing.T) {
		needNode(t)
		checkSession(t, client(t, "", node, server...), sessionOf(t, model, nodeSession))
		checkClientFails(t, node, path)
	})
	for _, framing := range []string{"lsp", "lines"} {
		t.Run("vscode-jsonrpc "+framing, func(t *testing.T) {
			needNode(t)
			out := client(t, "", []string{"node", filepath.Join(examplesDir, "node/conformance.mjs")}, framing, path,
				model)
			passed := regexp.MustCompile(`(?m)^\S+ pass (\d+)$`).FindStringSubmatch(out)
			if passed == nil || passed[1] == "0" {
				t.Errorf("no test ran\n%s", out)
			}
		})
	}
}

// TestLibrary runs the program in examples/go, a separate module: the public API suffices to train,
// score, embed and fine-tune.
func TestLibrary(t *testing.T) {
	testenv.Long(t, "builds a program")
	t.Parallel()
	c := exec.CommandContext(t.Context(), "go", "run", ".")
	c.Dir = filepath.Join(examplesDir, "go")
	c.Env = append(os.Environ(), "GOFLAGS=-mod=readonly")
	c.WaitDelay = time.Second // killing go run does not stop its program
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go run in %s: %v\n%s%s", c.Dir, err, out, &errs)
	}
	for _, want := range []string{`"GET /cart 200 in 12 ms" is fine,`, `"GET /cart 503 in 9000 ms" is failed,`,
		"cosine of their embeddings: "} {
		contains(t, string(out), want)
	}
	steps := regexp.MustCompile(`(?m)^step (\d+): validation accuracy ([\d.]+)%$`).FindAllStringSubmatch(string(out), -1)
	if len(steps) != 4 {
		t.Fatalf("got %d evaluations, want 4, two per training\n%s", len(steps), out)
	}
	for _, last := range [][]string{steps[1], steps[3]} {
		if accuracy, err := strconv.ParseFloat(last[2], 64); err != nil || last[1] != "240" || accuracy < 90 {
			t.Errorf("last evaluation: got %q, want at least 90%% accuracy after 240 steps", last[0])
		}
	}
}

func needNode(t *testing.T) {
	t.Helper()
	testenv.NeedPrograms(t, "node")
	testenv.NeedFile(t, "npm's vscode-jsonrpc", filepath.Join(examplesDir, "node/node_modules/vscode-jsonrpc"))
}

func runClient(t *testing.T, stdin string, command []string, args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], args)...)
	c.WaitDelay = time.Second // a server started by the client may outlive the client
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}

// client runs a client, expects success and returns its standard output.
func client(t *testing.T, stdin string, command []string, args ...string) string {
	t.Helper()
	out, errs, err := runClient(t, stdin, command, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", command[len(command)-1], err, out, errs)
	}
	return out
}

// checkClientFails checks that a client prints the reason if its server does not start.
func checkClientFails(t *testing.T, command []string, path string) {
	t.Helper()
	out, errs, err := runClient(t, "", command, path, "serve", "--model", "no/model")
	if _, exited := err.(*exec.ExitError); !exited || !strings.Contains(errs, "expected a model directory") {
		t.Errorf("%s without a model: %v\n%s\n%s", command[1], err, out, errs)
	}
}

// serveSocket runs a server on a Unix socket until the test ends and returns the path of the
// socket.
func serveSocket(t *testing.T, server []string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	c := exec.Command(server[0], append(server[1:], "--log", "info", "--listen", "unix:"+socket)...)
	untilListening(t, c)
	return socket
}

// untilListening starts a server and returns its log up to the line with its address. The server
// stops at the end of the test at the latest.
func untilListening(t *testing.T, c *exec.Cmd) (log string) {
	t.Helper()
	logs := must.Get(c.StderrPipe())(t)
	must.Succeed(t, c.Start())
	for lines := bufio.NewScanner(logs); !strings.Contains(log, "listening") && lines.Scan(); {
		log += lines.Text() + "\n"
	}
	drained := make(chan struct{})
	go func() {
		io.Copy(io.Discard, logs)
		close(drained)
	}()
	t.Cleanup(func() {
		if c.ProcessState != nil {
			return
		}
		c.Process.Signal(syscall.SIGTERM)
		<-drained
		if err := c.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	return log
}

// wantTable returns the table that classify.sh should print for predict's replies to the same
// lines.
func wantTable(t *testing.T, model, lines string) string {
	t.Helper()
	_, replies, _ := program(strings.NewReader(lines), "predict", "--model", model)
	want := filepath.Base(model) +
		": classification, labels 0 1 2 3 4 5 6 7 8 9, up to 4096 tokens\nid\tlabel\tprobability\tlength\n"
	for _, r := range replyLines(t, replies) {
		id := strings.Trim(string(r.ID), `"`)
		if r.Error != nil {
			want += fmt.Sprintf("%s\terror\t%s\n", id, r.Error.Message)
			continue
		}
		p := math.Round(1000*float64(slices.Max(r.Probabilities))) / 1000
		want += fmt.Sprintf("%s\t%v\t%v\t%d\n", id, r.Label, p, r.Length)
	}
	return want
}

// sessionOf returns the expected output of example.py or client.mjs. It replaces $model in want by the
// model's name, $0 by the class that predict prints for the first sequence of the clients, $1 by the class
// for the second sequence, and so on.
func sessionOf(t *testing.T, model, want string) string {
	t.Helper()
	var in strings.Builder
	for _, text := range []string{"[MAX 2 9 ]", "[MIN 4 7 ]", "[SM 5 [MED 1 2 3 ] 8 ]", "[MAX [MIN 4 7 ] 3 ]"} {
		fmt.Fprintf(&in, "{\"text\":%q}\n", text)
	}
	for i, r := range replyLines(t, succeed(t, in.String(), "predict", "--model", model)) {
		want = strings.ReplaceAll(want, fmt.Sprintf("$%d", i), fmt.Sprint(r.Label))
	}
	return strings.TrimPrefix(strings.ReplaceAll(want, "$model", filepath.Base(model)), "\n")
}

// checkSession compares the output of a client with the expected output. The number of progress reports
// depends on timing, so it checks only that the last report counts all 13 tokens.
func checkSession(t *testing.T, got, want string) {
	t.Helper()
	reports := regexp.MustCompile("(?m)^progress: \\d+ of 13 tokens\n")
	if found := reports.FindAllString(got, -1); found == nil || found[len(found)-1] != "progress: 13 of 13 tokens\n" {
		t.Errorf("got progress reports %q, want the last one to count all 13 tokens", found)
	}
	if got = reports.ReplaceAllString(got, ""); got != want {
		t.Errorf("the client printed\n%s\nexpected\n%s", got, want)
	}
}

const pythonSession = `
model: $model, labels [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
classify: label $0, 4 tokens
many: 0 $1
many: 1 tokens: expected at least 1 token, found an empty sequence
many: 2 $2
progress: begin
partial results: 0
partial results: 1
partial results: 2
progress: end
cancel: -32800: cancelled by the client
pushed: version 1, label $0
pushed: version 3, label $3
closed: $status
`

const nodeSession = `
model: $model, labels 0 1 2 3 4 5 6 7 8 9, positions utf-16
progress: begin
result: 0 $1
result: 1 sequences[1].tokens: expected at least 1 token, found an empty sequence
result: 2 $2
progress: end
cancel: -32800 cancelled by the client
pushed: version 1, label $0
pushed: version 3, label $3
closed: 0
`
