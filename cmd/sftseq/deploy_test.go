//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
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

// deployed returns the text of a file in examples/deploy after the replacements.
func deployed(t *testing.T, name string, replacements ...string) string {
	t.Helper()
	text := readText(t, filepath.Join(examplesDir, "deploy", name))
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			t.Fatalf("%s: %q is missing", name, replacements[i])
		}
	}
	return strings.NewReplacer(replacements...).Replace(text)
}

// freePort returns a free TCP port.
func freePort(t *testing.T) int {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// certificate writes a self-signed certificate for localhost and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private))(t)
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeText(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	raw := must.Get(x509.MarshalPKCS8PrivateKey(private))(t)
	writeText(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	return cert, key
}

// runProxy starts a proxy that runs until the test ends, and returns when the proxy accepts
// connections on a port.
func runProxy(t *testing.T, port int, env []string, command ...string) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), env...)
	logs := &lockedBuffer{}
	c.Stdout, c.Stderr = logs, logs
	must.Succeed(t, c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	await(t, time.Minute, func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s: %v\n%s", command[0], err, logs)
		default:
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, logs)
}

// checkProxy checks that a proxy with TLS forwards requests, with the client's address and a
// request id for the access log. A body beyond the proxy's limit gets one of the statuses in
// tooLong.
func checkProxy(t *testing.T, port int, server *testServer, tooLong ...int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		ServerName: "localhost"}}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	url := fmt.Sprintf("https://localhost:%d", port)
	post := func(body string) (int, string, http.Header) {
		t.Helper()
		r := must.Get(client.Post(url+"/classify", "application/json", strings.NewReader(body)))(t)
		defer r.Body.Close()
		return r.StatusCode, string(must.Get(io.ReadAll(r.Body))(t)), r.Header
	}
	status, responseBody, h := post(`{"text":"[MAX 2 9 ]"}`)
	id := h.Get("X-Request-Id")
	if status != 200 || !strings.Contains(responseBody, `"label":`) || len(id) < 32 {
		t.Fatalf("got status %d, response %s, header %v; want status 200, a label, and an X-Request-Id of 32 or more "+
			"bytes; log of the server:\n%s", status, responseBody, h, server.logs)
	}
	line := regexp.MustCompile(`path=/classify status=200 .*forwarded_for=127\.0\.0\.1 .*request_id=` + id)
	await(t, 10*time.Second, func() bool { return line.MatchString(server.logs.String()) }, server.logs)
	longest := `{"tokens":[1` + strings.Repeat(" ", 16<<20-len(`{"tokens":[1]}`)) + `]}` // --max-line by default
	if status, responseBody, _ := post(longest); status != 200 {
		t.Errorf("a body of 16 MiB: got status %d, response %.200s; want status 200", status, responseBody)
	}
	status, responseBody, _ = post(longest + " ")
	if !slices.Contains(tooLong, status) {
		t.Errorf("a body of 16 MiB and 1 byte: got status %d, response %.200s; want a status of %v", status,
			responseBody, tooLong)
	}
	r := must.Get(client.Get(url + "/healthz"))(t)
	r.Body.Close()
	equal(t, r.StatusCode, 200)
}

// eachProxied runs a test with a server on a Unix socket, and again with a server on a TCP port and the
// parameter socket "". The parameters dir and port are a temporary folder and a free port for the proxy.
func eachProxied(t *testing.T, test func(t *testing.T, dir, socket string, port int, server *testServer)) {
	for _, over := range []string{"unix", "tcp"} {
		t.Run(over, func(t *testing.T) {
			dir, socket, address := t.TempDir(), "", "127.0.0.1:0"
			if over == "unix" {
				socket = filepath.Join(dir, "http.sock")
				address = "unix:" + socket
			}
			test(t, dir, socket, freePort(t), operate(t, "--model", goldenPath("pre"), "--http", address, "--access-log"))
		})
	}
}

// TestNginx checks that nginx with the configuration in examples/deploy forwards TLS requests to a
// Unix socket and to a TCP port.
func TestNginx(t *testing.T) {
	testenv.NeedPrograms(t, "nginx")
	eachProxied(t, func(t *testing.T, dir, socket string, port int, server *testServer) {
		cert, key := certificate(t, dir)
		conf := deployed(t, "nginx.conf", "unix:/run/sftseq/http.sock", strings.TrimPrefix(server.url, "http://"),
			"listen 443 ssl", fmt.Sprintf("listen 127.0.0.1:%d ssl", port), "/etc/ssl/model.example.pem", cert,
			"/etc/ssl/private/model.example.key", key, "model.example;", "localhost;")
		user := ""
		if os.Geteuid() == 0 {
			user = "user root;\n" // workers of another user cannot access the socket in the test's folder
		}
		folders := ""
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			folders += fmt.Sprintf("%s_temp_path %s/%[1]s;\n", kind, dir)
		}
		main := writeText(t, filepath.Join(dir, "nginx.conf"), user+"daemon off;\npid "+dir+"/pid;\n"+
			"error_log stderr;\nevents {}\nhttp {\naccess_log off;\n"+folders+conf+"}\n")
		runProxy(t, port, nil, "nginx", "-p", dir, "-e", "stderr", "-c", main)
		checkProxy(t, port, server, 413)
	})
}

// TestCaddy checks that Caddy with the configuration in examples/deploy forwards TLS requests to a
// Unix socket and to a TCP port.
func TestCaddy(t *testing.T) {
	testenv.NeedPrograms(t, "caddy")
	eachProxied(t, func(t *testing.T, dir, socket string, port int, server *testServer) {
		upstream := strings.TrimPrefix(server.url, "http://")
		if socket != "" {
			upstream = "unix/" + socket
		}
		cert, key := certificate(t, dir)
		conf := writeText(t, filepath.Join(dir, "Caddyfile"), "{\n\tadmin off\n\tauto_https disable_redirects\n\t"+
			"skip_install_trust\n}\n"+deployed(t, "Caddyfile", "model.example {",
			fmt.Sprintf("https://localhost:%d {\n\ttls %s %s\n", port, cert, key),
			"unix//run/sftseq/http.sock", upstream))
		runProxy(t, port, []string{"XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "HOME=" + dir}, "caddy", "run",
			"--adapter", "caddyfile", "--config", conf)
		checkProxy(t, port, server, 413, 502) // Caddy 2.6 reports its own limit as a failure of the server
	})
}

// TestProxySettings checks that the files for nginx and Caddy have all settings that
// docs/operations.md requires of a proxy.
func TestProxySettings(t *testing.T) {
	_, table, _ := strings.Cut(readText(t, "../../docs/operations.md"), "| setting | nginx | Caddy |")
	table, _, _ = strings.Cut(table, "\n\n")
	comment := regexp.MustCompile(`(?m)\s*#.*$`)
	count := 0
	for column, name := range map[int]string{2: "nginx.conf", 3: "Caddyfile"} {
		text := comment.ReplaceAllString(readText(t, filepath.Join("../../examples/deploy", name)), "")
		text = strings.Join(strings.Fields(text), " ")
		for row := range strings.Lines(table) {
			cells := strings.Split(row, "|")
			if len(cells) <= column {
				continue
			}
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[column], -1) {
				count++
				if !strings.Contains(text, m[1]) {
					t.Errorf("%s: %q is missing", name, m[1])
				}
			}
		}
	}
	if count < 8 {
		t.Errorf("got %d settings in docs/operations.md, want at least 8", count)
	}
}

// TestForeignHost checks that, without a token, a request with another Host gets 421, and that the
// message suggests a proxy that sets Host.
func TestForeignHost(t *testing.T) {
	server := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0")
	r := must.Get(http.NewRequest("GET", server.url+"/info", nil))(t)
	r.Host = "model.example"
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	equal(t, response.StatusCode, 421)
	contains(t, string(must.Get(io.ReadAll(response.Body))(t)), "a proxy that sets Host: localhost")
}

// maxExposure is the largest allowed exposure of the unit, on the scale of systemd-analyze --threshold:
// 0 to 100, ten times the printed exposure level.
const maxExposure = 10

// TestSystemdUnit checks that systemd accepts the unit and rates its exposure at most maxExposure. It
// also checks that each SFTSEQ variable of the unit sets a flag of serve.
func TestSystemdUnit(t *testing.T) {
	testenv.NeedPrograms(t, "systemd-analyze")
	unit := writeText(t, filepath.Join(t.TempDir(), "sftseq.service"), deployed(t, "sftseq.service",
		"/usr/local/bin/sftseq", "/bin/true"))
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), filepath.Base(unit)+":") {
		t.Errorf("systemd-analyze verify: got error %v, output:\n%s\nwant error <nil> and no line about %s", err, out,
			filepath.Base(unit))
	}
	out, err = exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold="+strconv.Itoa(maxExposure),
		unit).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Overall exposure level") {
		t.Errorf("systemd-analyze security: got error %v, output:\n%s\nwant error <nil> with threshold %d, and the "+
			"overall exposure level", err, out, maxExposure)
	}
	for name := range variablesOf(t, regexp.MustCompile(`(?m)^Environment=(\w+)=(.*)$`), "deploy/sftseq.service") {
		isVariable(t, name)
	}
}

// TestCompose checks that Compose accepts examples/deploy/compose.yaml, and that each SFTSEQ variable in
// the files for Compose and Kubernetes sets a flag of serve.
func TestCompose(t *testing.T) {
	for name := range variablesOf(t, regexp.MustCompile(`(?m)^ {6}(SFTSEQ_\w+): (.*)$`), "deploy/compose.yaml") {
		isVariable(t, name)
	}
	for name := range variablesOf(t, regexp.MustCompile(`name: (SFTSEQ_\w+), value: (.*)}`), "kubernetes/serve.yaml") {
		isVariable(t, name)
	}
	testenv.NeedPrograms(t, "docker-compose")
	dir := t.TempDir()
	file := writeText(t, filepath.Join(dir, "compose.yaml"), deployed(t, "compose.yaml"))
	writeText(t, filepath.Join(dir, "token"), "0123456789abcdef")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "docker-compose", "-f", file, "config", "-q").CombinedOutput(); err != nil {
		t.Errorf("docker-compose config: %v, output:\n%s", err, out)
	}
}

// variablesOf returns the environment variables that a file of examples/ sets.
func variablesOf(t *testing.T, form *regexp.Regexp, file string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, m := range form.FindAllStringSubmatch(readText(t, filepath.Join(examplesDir, file)), -1) {
		all[m[1]] = m[2]
	}
	if len(all) < 4 {
		t.Fatalf("%s: found the variables %v, want at least 4", file, all)
	}
	return all
}

// isVariable checks that an environment variable sets a flag of serve.
func isVariable(t *testing.T, name string) {
	t.Helper()
	for _, f := range serveCommand().Flags {
		if variableOf(f.Names()[0]) == name {
			return
		}
	}
	t.Errorf("%s: serve has no flag with this variable", name)
}
