package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/testenv"
)

const goldenDir = "../../sft/testdata/golden"

// goldenFolders returns the names of the golden models that TestPredictGolden and TestGradsGolden compare
// with references. With -short it omits the model long, which takes minutes under the race detector and
// runs the same concurrent code as the other models.
func goldenFolders() []string {
	folders := []string{"pre", "post", "lily", "standardized", "odd", "ties", "retrieval",
		"vanilla", "conv", "conv_post"}
	if !testing.Short() {
		folders = append(folders, "long")
	}
	return folders
}

func goldenPath(parts ...string) string {
	return filepath.Join(append([]string{goldenDir}, parts...)...)
}

// TestMain runs the tests on the CPU unless the environment names a device, so that a machine's GPU
// does not change the results.
func TestMain(m *testing.M) {
	if os.Getenv(deviceVariable) == "" {
		os.Setenv(deviceVariable, "cpu")
	}
	if server := os.Getenv(attackVariable); server != "" {
		attackUntilKilled(server, os.Args[len(os.Args)-1])
	}
	status := m.Run()
	if builtDir != "" {
		os.RemoveAll(builtDir)
	}
	os.Exit(status)
}

var (
	builtDir string // deleted after all tests
	build    = sync.OnceValues(func() (output []byte, err error) {
		if builtDir, err = os.MkdirTemp("", "sftseq-test"); err != nil {
			return nil, err
		}
		return exec.Command("go", "build", "-o", builtDir, ".").CombinedOutput()
	})
)

// built compiles the program once and returns the path of the executable. It skips the test with
// -short and under the race detector, which does not observe other processes.
func built(t testing.TB) string {
	t.Helper()
	testenv.Long(t, "starts the program as a process")
	testenv.NoRace(t, "runs the program as a process, which the race detector does not watch")
	if out, err := build(); err != nil {
		t.Fatalf("error %v, output:\n%s", err, out)
	}
	return filepath.Join(builtDir, "sftseq")
}

// program runs the program in this process. Two calls must not overlap because package cli shares
// flags between runs: a parallel test must call program before t.Parallel. Only tests that wait for
// other processes for seconds are parallel.
func program(stdin io.Reader, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(context.Background(), append([]string{"sftseq"}, args...), stdin, &out, &errs)
	return status, out.String(), errs.String()
}

// compileMessage matches the message that the program prints when it first compiles kernels for a device.
var compileMessage = regexp.MustCompile(`(?m)^compiling kernels for .*\n`)

// succeed runs the program, expects status 0 and an empty standard error, and returns standard
// output.
func succeed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	status, out, errs := program(strings.NewReader(stdin), args...)
	if errs = compileMessage.ReplaceAllString(errs, ""); status != 0 || errs != "" {
		t.Fatalf("sftseq %s: got status %d, standard error %q; want 0, \"\"", strings.Join(args, " "), status, errs)
	}
	return out
}

// exits runs the program, expects an exit status and returns standard output and standard error.
func exits(t *testing.T, status int, stdin string, args ...string) (out, errs string) {
	t.Helper()
	got, out, errs := program(strings.NewReader(stdin), args...)
	if got != status {
		t.Fatalf("sftseq %s: status %d, expected %d\n%s%s", strings.Join(args, " "), got, status, out, errs)
	}
	return out, errs
}

// done runs the program, expects success and returns standard output followed by standard error.
func done(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs := exits(t, exitOK, stdin, args...)
	return out + errs
}

// printed runs the program, expects success and returns standard output.
func printed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, _ := exits(t, exitOK, stdin, args...)
	return out
}

// failing runs the program, expects an error and returns standard output followed by standard
// error.
func failing(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	status, out, errs := program(strings.NewReader(stdin), args...)
	if status == exitOK {
		t.Errorf("sftseq %s: no error\n%s", strings.Join(args, " "), out)
	}
	return out + errs
}

// refuse runs the program and expects an exit status, one error message, which contains want, and an
// empty standard output.
func refuse(t *testing.T, status int, want, stdin string, args ...string) {
	t.Helper()
	got, out, errs := program(strings.NewReader(stdin), args...)
	if got != status || !strings.Contains(errs, want) || strings.Count(errs, "sftseq: ") != 1 {
		t.Errorf("sftseq %s: status %d, %q; want %d, %q", strings.Join(args, " "), got, errs, status, want)
	}
	if out != "" {
		t.Errorf("sftseq %s: got standard output %.200q, want \"\"", strings.Join(args, " "), out)
	}
}

// A refusal is the end of a command line that fails, and a part of its error message.
type refusal struct {
	want string
	args []string
}

// refuseAll runs command lines with the same first arguments and expects each to fail.
func refuseAll(t *testing.T, status int, first []string, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		refuse(t, status, c.want, "", slices.Concat(first, c.args)...)
	}
}

// replyLine has the fields that tests compare in replies of predict and embed.
type replyLine struct {
	ID            json.RawMessage   `json:"id"`
	Label         any               `json:"label"`
	Logits        []float32         `json:"logits"`
	Probabilities []float32         `json:"probabilities"`
	Embedding     []float32         `json:"embedding"`
	EmbeddingA    []float32         `json:"embedding_a"`
	EmbeddingB    []float32         `json:"embedding_b"`
	Length        int               `json:"length"`
	LengthA       *int              `json:"length_a"`
	LengthB       *int              `json:"length_b"`
	Used          *int              `json:"used"`
	Error         *requests.Failure `json:"error"`
}

func replyLines(t *testing.T, text string) []replyLine {
	t.Helper()
	var out []replyLine
	for line := range strings.Lines(text) {
		var r replyLine
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("reply %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

func readText(t testing.TB, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}

func writeText(t *testing.T, path, text string) string {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// editedModel copies a golden model, applies edit to its config and weights, and returns the
// directory of the copy.
func editedModel(t *testing.T, name string, edit func(config, weights []byte) ([]byte, []byte)) string {
	t.Helper()
	dir := t.TempDir()
	config, weights := edit([]byte(readText(t, goldenPath(name, "config.json"))),
		[]byte(readText(t, goldenPath(name, "model.safetensors"))))
	writeText(t, filepath.Join(dir, "config.json"), string(config))
	writeText(t, filepath.Join(dir, "model.safetensors"), string(weights))
	return dir
}

// withConfig copies a golden model, sets one key of its config.json and returns the directory of
// the copy.
func withConfig(t *testing.T, name, key string, value any) string {
	t.Helper()
	return editedModel(t, name, func(config, weights []byte) ([]byte, []byte) {
		var keys map[string]any
		must.Succeed(t, json.Unmarshal(config, &keys))
		keys[key] = value
		return must.Get(json.Marshal(keys))(t), weights
	})
}
