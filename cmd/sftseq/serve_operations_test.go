//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// testServer is an HTTP server in the test's process.
type testServer struct {
	url    string
	logs   *lockedBuffer
	cancel context.CancelFunc // has the effect of SIGTERM
	status chan int
}

// operate runs serve in the test's process, with the given flags, until the test ends.
func operate(t *testing.T, flags ...string) *testServer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o := &testServer{logs: &lockedBuffer{}, cancel: cancel, status: make(chan int, 1)}
	go func() {
		o.status <- run(ctx, append([]string{"sftseq", "serve"}, flags...), strings.NewReader(""), io.Discard, o.logs)
	}()
	t.Cleanup(func() {
		cancel()
		if o.status != nil {
			equal(t, <-o.status, exitOK, o.logs.String())
		}
	})
	listening := regexp.MustCompile(`"?msg"?[=:]"?listening"?[ ,]"?address"?[=:]"?((?:http://|unix:)[^\s"]+)`)
	await(t, 30*time.Second, func() bool { return listening.MatchString(o.logs.String()) }, o.logs)
	o.url = listening.FindStringSubmatch(o.logs.String())[1]
	return o
}

// get sends a GET request and returns the status and the body of the response. With an empty token it
// sends no Authorization header.
func (o *testServer) get(t *testing.T, path, token string) (int, string) {
	t.Helper()
	r := must.Get(http.NewRequest("GET", o.url+path, nil))(t)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Close = true
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(text)
}

// TestServeEnvironment checks that environment variables set flags and that the command line
// overrides them. A misspelled variable causes a warning. With SFTSEQ_LOG_FORMAT=json, the log and
// the access log are JSON.
func TestServeEnvironment(t *testing.T) {
	token := writeText(t, filepath.Join(t.TempDir(), "token"), "first-client-0000")
	must.Succeed(t, os.Chmod(token, 0o644)) // readable by other users, which causes a warning
	for name, value := range map[string]string{"SFTSEQ_MODEL": goldenPath("pre"), "SFTSEQ_HTTP": "127.0.0.1:0",
		"SFTSEQ_MODEL_NAME": "from-environment", "SFTSEQ_LOG_FORMAT": "json", "SFTSEQ_ACCESS_LOG": "true",
		"SFTSEQ_MAX_MEMROY": "1GiB", "SFTSEQ_PORT": "tcp://10.0.0.1:80",
		"SFTSEQ_HTTP_TOKEN": token} {
		t.Setenv(name, value)
	}
	o := operate(t)
	if _, text := o.get(t, "/v1/models", "first-client-0000"); !strings.Contains(text, `"id":"from-environment"`) {
		t.Errorf("got models %s, want the id from-environment", text)
	}
	await(t, 10*time.Second, func() bool { return strings.Contains(o.logs.String(), `"path":"/v1/models"`) }, o.logs)
	contains(t, o.logs.String(), `"variable":"SFTSEQ_MAX_MEMROY","did_you_mean":"SFTSEQ_MAX_MEMORY"`,
		`"msg":"other users can read the file of --http-token`)
	if strings.Contains(o.logs.String(), "SFTSEQ_PORT") { // Kubernetes sets such variables for services
		t.Errorf("got a warning about SFTSEQ_PORT, want none:\n%s", o.logs)
	}
	for line := range strings.Lines(o.logs.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log line is not JSON: %s", line)
		}
	}
	overridden := operate(t, "--model-name", "from-flag")
	if _, text := overridden.get(t, "/v1/models", "first-client-0000"); !strings.Contains(text, `"id":"from-flag"`) {
		t.Errorf("got models %s, want the id from-flag", text)
	}
	t.Setenv("SFTSEQ_MAX_INFLIGHT", "many")
	status, _, errs := program(nil, "serve")
	equal(t, status, exitUsage)
	contains(t, errs, `environment variable SFTSEQ_MAX_INFLIGHT "many": expected an integer`)
}

// TestServeEmptyVariables checks that an empty variable counts as unset, because Compose replaces ${NAME}
// with an empty string if NAME is not set. An empty SFTSEQ_HTTP_TOKEN is an error, so that a server does
// not start without its tokens.
func TestServeEmptyVariables(t *testing.T) {
	for _, f := range serveCommand().Flags {
		if name := f.Names()[0]; name != "http-token" {
			t.Setenv(variableOf(name), "")
		}
	}
	o := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0")
	request := strings.NewReader(`{"model":"pre","input":[1,2,3]}`)
	r := must.Get(http.Post(o.url+"/v1/embeddings", "application/json", request))(t)
	defer r.Body.Close()
	var list struct {
		Data []struct{ Embedding []float64 }
	}
	text := must.Get(io.ReadAll(r.Body))(t)
	must.Succeed(t, json.Unmarshal(text, &list))
	if len(list.Data) != 1 {
		t.Fatalf("got %d embeddings, want 1:\n%s", len(list.Data), text)
	}
	var square float64
	for _, x := range list.Data[0].Embedding {
		square += x * x
	}
	if math.Abs(square-1) > 1e-4 {
		t.Errorf("got a vector of length %v, want 1", math.Sqrt(square))
	}
	t.Setenv("SFTSEQ_HTTP_TOKEN", "")
	status, _, errs := program(nil, "serve", "--model", goldenPath("pre"), "--http", "127.0.0.1:0")
	equal(t, status, exitUsage, errs)
	contains(t, errs, `--http-token "": expected a file`)
}

// TestFlagVariables checks that the help names the environment variable of each flag of serve.
func TestFlagVariables(t *testing.T) {
	help := succeed(t, "", "serve", "--help-all")
	for _, f := range serveCommand().Flags {
		name := f.Names()[0]
		if !strings.Contains(strings.Join(strings.Fields(help), " "), "[$"+variableOf(name)+"]") {
			t.Errorf("--%s: expected [$%s] in serve --help-all", name, variableOf(name))
		}
	}
}

// TestServeReloadTokens checks that SIGHUP reloads the token file, and that a malformed file leaves
// the tokens unchanged.
func TestServeReloadTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) { must.Succeed(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("first-client-0000\r\n\r\nsecond-client-000")
	o := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0", "--http-token", file)
	expect := func(want map[string]int) {
		t.Helper()
		for token, status := range want {
			if got, _ := o.get(t, "/info", token); got != status {
				t.Errorf("token %s: got status %d, want %d", token, got, status)
			}
		}
	}
	hangUp := func(want string) {
		t.Helper()
		before := len(o.logs.String())
		must.Succeed(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		await(t, 30*time.Second, func() bool {
			added := o.logs.String()[before:]
			return strings.Contains(added, want) && strings.Contains(added, "the model was reloaded")
		}, o.logs)
	}
	expect(map[string]int{"first-client-0000": 200, "second-client-000": 200, "third-client-0000": 401})
	write("\ufeffsecond-client-000\nthird-client-0000\n")
	hangUp(`msg="the tokens were reloaded" tokens=2`)
	expect(map[string]int{"first-client-0000": 401, "second-client-000": 200, "third-client-0000": 200})
	write("second-client-000\nshort\n")
	hangUp(file + ":2: expected a token of 16 to 4096 characters, found 5")
	expect(map[string]int{"first-client-0000": 401, "second-client-000": 200, "third-client-0000": 200})
}

// TestServeShutdownDelay checks that /healthz reports 503 for --shutdown-delay after SIGTERM, while
// the server still serves requests.
func TestServeShutdownDelay(t *testing.T) {
	o := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0", "--shutdown-delay", "3s")
	if status, _ := o.get(t, "/healthz", ""); status != 200 {
		t.Errorf("before SIGTERM: status %d, want 200", status)
	}
	start := time.Now()
	o.cancel()
	await(t, 10*time.Second, func() bool { status, _ := o.get(t, "/healthz", ""); return status == 503 }, o.logs)
	if status, _ := o.get(t, "/info", ""); status != 200 {
		t.Errorf("during the delay: status %d, want 200", status)
	}
	equal(t, <-o.status, exitOK, o.logs.String())
	if elapsed := time.Since(start); elapsed < 3*time.Second {
		t.Errorf("the server exited after %v, want at least 3s", elapsed)
	}
	o.status = nil
}

// TestHealthCommand checks that health exits with 0 if the server is healthy, over TCP and over a
// Unix socket, and otherwise prints the reason.
func TestHealthCommand(t *testing.T) {
	tcp := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0")
	socket := filepath.Join(t.TempDir(), "http")
	unix := operate(t, "--model", goldenPath("pre"), "--http", "unix:"+socket)
	equal(t, unix.url, "unix:"+socket)
	for _, url := range []string{tcp.url, tcp.url + "/", tcp.url + "/healthz", unix.url} {
		equal(t, succeed(t, "", "health", url), "ok\n", url)
	}
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	freed := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	gone := "http://" + freed.Addr().String()
	freed.Close()
	file := writeText(t, filepath.Join(t.TempDir(), "file"), "")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "<html>")
	}))
	defer page.Close()
	refuseAll(t, exitError, []string{"health"}, []refusal{
		{"/healthz: expected status 200, found 404 Not Found: 404 page not found\n", []string{other.URL}},
		{"found 418 I'm a teapot: is this the address of sftseq serve?\n", []string{page.URL}},
		{"sftseq: " + gone + ": connection refused: no server listens on this address\n", []string{gone}},
		{"/nowhere: expected status 200, found 404 Not Found: ", []string{tcp.url + "/nowhere"}},
		{"sftseq: unix:" + socket + "-none: no such file or directory: no server listens on this address\n",
			[]string{"unix:" + socket + "-none"}},
		{"sftseq: unix:" + file + ": expected the socket of a server, found a regular file\n", []string{"unix:" +
			file}},
		{": no response within the 100ms of --timeout", []string{"http://" + silent.Addr().String(), "--timeout",
			"100ms"}},
	})
	refuseAll(t, exitUsage, []string{"health"}, []refusal{
		{"expected one URL, found 0 arguments", nil},
		{`URL "127.0.0.1:8080": expected http://HOST:PORT`, []string{"127.0.0.1:8080"}},
		{"--timeout 0s: expected more than 0", []string{tcp.url, "--timeout", "0s"}},
	})
}

// TestServePprof checks that --pprof serves profiles at its own address.
func TestServePprof(t *testing.T) {
	o := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0", "--pprof", "127.0.0.1:0")
	m := regexp.MustCompile(`msg=profiles address=(http://\S+/debug/pprof/)`).FindStringSubmatch(o.logs.String())
	if m == nil {
		t.Fatalf("no address of profiles in the log:\n%s", o.logs)
	}
	r := must.Get(http.Get(m[1] + "goroutine?debug=1"))(t)
	defer r.Body.Close()
	contains(t, string(must.Get(io.ReadAll(r.Body))(t)), "goroutine profile:")
}
