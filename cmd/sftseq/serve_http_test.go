//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// serveHTTP runs a server until the test ends and returns its URL.
func serveHTTP(t *testing.T, args ...string) (url string) {
	t.Helper()
	line := untilListening(t, exec.Command(built(t), append([]string{"serve", "--http", "127.0.0.1:0"}, args...)...))
	if m := regexp.MustCompile(`msg=listening address=(http://\S+)`).FindStringSubmatch(line); m != nil {
		url = m[1]
	}
	return url
}

// TestServeHTTPAsEmbed checks that /v1/embeddings with --normalize=false returns vectors that are
// bitwise identical to the output of embed.
func TestServeHTTPAsEmbed(t *testing.T) {
	testenv.Long(t, "builds the program")
	for _, model := range []string{"pre", "conv", "tagging"} {
		url := serveHTTP(t, "--model", goldenPath(model), "--normalize=false")
		var lines strings.Builder
		var input [][]int
		for n := 1; n < 20; n++ {
			sequence := []int{1 + n%10}
			for k := range n * n {
				sequence = append(sequence, 1+k%10)
			}
			input = append(input, sequence)
			body, _ := json.Marshal(sequence)
			fmt.Fprintf(&lines, "{\"tokens\":%s}\n", body)
		}
		body, _ := json.Marshal(map[string]any{"model": model, "input": input})
		r := must.Get(http.Post(url+"/v1/embeddings", "application/json", strings.NewReader(string(body))))(t)
		var got struct {
			Data []struct{ Embedding []float32 }
		}
		err := json.NewDecoder(r.Body).Decode(&got)
		r.Body.Close()
		want := strings.Split(strings.TrimSpace(succeed(t, lines.String(), "embed", "--model",
			goldenPath(model))), "\n")
		if err != nil || r.StatusCode != 200 || len(got.Data) != len(want) {
			t.Fatalf("%s: got status %s, %d vectors, error %v, want 200 OK and %d vectors", model, r.Status,
				len(got.Data), err, len(want))
		}
		for i, line := range want {
			var w struct{ Embedding []float32 }
			if err := json.Unmarshal([]byte(line), &w); err != nil || len(w.Embedding) == 0 ||
				!slices.Equal(w.Embedding, got.Data[i].Embedding) {
				t.Errorf("%s: sequence %d: got embedding %v, want %s", model, i, got.Data[i].Embedding, line)
			}
		}
	}
}

// TestOpenAIClient checks that OpenAI's client works unmodified and gets vectors that are bitwise
// identical to the output of embed.
func TestOpenAIClient(t *testing.T) {
	testenv.Long(t, "builds the program")
	needNode(t)
	testenv.NeedFile(t, "npm's openai", filepath.Join(examplesDir, "node/node_modules/openai"))
	model := goldenPath("pre")
	url := serveHTTP(t, "--model", model, "--normalize=false")
	out := client(t, "", []string{"node", filepath.Join(examplesDir, "node/openai.mjs")}, url+"/v1")
	lines := strings.Split(out, "\n")
	want := []string{"model: pre sftseq", "", "", "tokens: 13", "as float: the same",
		"token lists: 32 32", "concurrent: 64",
		"NotFoundError: 404 invalid_request_error model model_not_found: no model \"other\": expected \"pre\"",
		"BadRequestError: 400 invalid_request_error input[1] null: input[1]: expected at least 1 token, found an empty sequence", ""}
	embedded := strings.Split(succeed(t, "{\"text\":\"[MAX 2 9 ]\"}\n{\"text\":\"[SM 5 [MED 1 2 3 ] 8 ]\"}\n",
		"embed", "--model", model), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d lines of output, want %d:\n%s", len(lines), len(want), out)
	}
	for i, w := range want {
		if w != "" && lines[i] != w {
			t.Errorf("line %d of the client's output: %s\nwant %s", i, lines[i], w)
		}
	}
	for i, line := range lines[1:3] {
		var got []float32
		var w struct{ Embedding []float32 }
		text, ok := strings.CutPrefix(line, fmt.Sprintf("embedding %d: ", i))
		if !ok || json.Unmarshal([]byte(text), &got) != nil || json.Unmarshal([]byte(embedded[i]), &w) != nil ||
			!slices.Equal(got, w.Embedding) {
			t.Errorf("embedding of the client: %s\nwant the output of embed: %s", line, embedded[i])
		}
	}
}

// TestServeHTTPToken checks that a server with --http-token serves only requests with the token.
func TestServeHTTPToken(t *testing.T) {
	testenv.Long(t, "builds the program")
	file := filepath.Join(t.TempDir(), "token")
	must.Succeed(t, os.WriteFile(file, []byte("correct-horse-battery\n"), 0o600))
	url := serveHTTP(t, "--model", goldenPath("pre"), "--http-token", file)
	for token, want := range map[string]int{"": 401, "correct-horse-batterz": 401, "correct-horse-battery": 200} {
		r := must.Get(http.NewRequest("GET", url+"/v1/models", nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		response := must.Get(http.DefaultClient.Do(r))(t)
		response.Body.Close()
		equal(t, response.StatusCode, want, token, response.Status)
	}
}

// TestServeHTTPFlags checks the errors for invalid flags of HTTP, profiles and logs, and for invalid token
// files.
func TestServeHTTPFlags(t *testing.T) {
	model, dir := goldenPath("pre"), t.TempDir()
	token := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	serve := []string{"serve", "--model", model}
	refuseAll(t, exitError, serve, []refusal{ // port 0 twice is two different ports
		{"none", []string{"--http", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--model", filepath.Join(dir, "none")}},
	})
	refuseAll(t, exitUsage, serve, []refusal{
		{`--http "8080": expected HOST:PORT`, []string{"--http", "8080"}},
		{"--http-token needs --http", []string{"--http-token", token("good", strings.Repeat("a", 16))}},
		{"--http 0.0.0.0:0: other machines can reach this address: expected --http-token FILE",
			[]string{"--http", "0.0.0.0:0", "--model", filepath.Join(dir, "none")}},
		{"other machines can reach this address", []string{"--http", "[::]:0"}},
		{`--http "": expected HOST:PORT`, []string{"--http", ""}},
		{`--http-token "": expected a file`, []string{"--http", ":0", "--http-token", ""}},
		{`--http "unix:": expected HOST:PORT`, []string{"--http", "unix:"}},
		{"--http and --metrics: expected different addresses, found 127.0.0.1:9 twice",
			[]string{"--http", "127.0.0.1:9", "--metrics", "127.0.0.1:9"}},
		{"--framing frames JSON-RPC, which --http does not serve: add --listen",
			[]string{"--http", ":0", "--framing", "lsp"}},
		{"--cors-origin needs --http", []string{"--cors-origin", "https://page.example"}},
		{"--cors-origin *: expected origins, or --http-token FILE", []string{"--http", ":0", "--cors-origin", "*"}},
		{`--cors-origin "https://page.example/": expected SCHEME://HOST[:PORT]`,
			[]string{"--http", ":0", "--cors-origin", "https://page.example/"}},
		{`--cors-origin "page.example": expected SCHEME://HOST[:PORT]`,
			[]string{"--http", ":0", "--cors-origin", "page.example"}},
		{"--pprof 0.0.0.0:0: expected an address of this machine", []string{"--pprof", "0.0.0.0:0"}},
		{`--log-format "xml": expected text or json`, []string{"--log-format", "xml"}},
		{"--shutdown-delay needs --listen or --http", []string{"--shutdown-delay", "1s"}},
	})
	refuseAll(t, exitError, serve, []refusal{
		{"expected a token of 16 to 4096 characters, found 5", []string{"--http", ":0", "--http-token",
			token("short", "short\n")}},
		{"expected a token of 16 to 4096 characters on each line, found none",
			[]string{"--http", ":0", "--http-token", token("empty", "\n")}},
		{"lines:2: expected one token of visible ASCII characters on each line, found white space at column 4",
			[]string{"--http", ":0",
				"--http-token", token("lines", "one-and-more-than\ntwo and more than that\n")}},
		{"accent:1: expected one token of visible ASCII characters on each line, found another character at column 3",
			[]string{"--http", ":0", "--http-token", token("accent", "onéandmorethan16\n")}},
		{"later:3: expected a token of 16 to 4096 characters, found 4", []string{"--http", ":0",
			"--http-token", token("later", "one-and-more-than\n\nfour\n")}},
		{"--http-token: ", []string{"--http", ":0", "--http-token", filepath.Join(dir, "none")}},
	})
}

// TestReadableToken checks the warning about a token file that other users can read.
func TestReadableToken(t *testing.T) {
	file := writeText(t, filepath.Join(t.TempDir(), "token"), strings.Repeat("a", 16))
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o640: true, 0o644: true} {
		must.Succeed(t, os.Chmod(file, mode))
		status, _, errs := program(nil, "serve", "--http", ":0", "--http-token", file, "--model",
			filepath.Join(t.TempDir(), "none"))
		warning := `msg="other users can read the file of --http-token: restrict it with chmod 600" file=` + file
		if status == 0 || strings.Contains(errs, warning) != warned {
			t.Errorf("mode %04o: got status %d, %s, want a failure, and the warning: %v", mode, status, errs, warned)
		}
	}
}
