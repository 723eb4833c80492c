//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sftseq/sftseq/internal/must"
)

// TestServeSilentClients checks that a client with more idle connections than the limit of open files
// allows does not lock out other clients, even if --max-clients exceeds this limit. The server evicts
// idle connections with an error.
func TestServeSilentClients(t *testing.T) {
	path := built(t)
	t.Parallel()
	for name, flags := range map[string][]string{"the limit of open files": nil,
		"--max-clients above it": {"--max-clients", "1000"}} {
		t.Run(name, func(t *testing.T) {
			const files = 64
			socket := filepath.Join(t.TempDir(), "s")
			args := append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, files), path, "serve", "--model",
				goldenPath("pre"), "--listen", "unix:" + socket}, flags...)
			untilListening(t, exec.Command("sh", args...))

			var silent []net.Conn
			for range files {
				conn := must.Get(net.Dial("unix", socket))(t)
				defer conn.Close()
				silent = append(silent, conn)
			}
			time.Sleep(1500 * time.Millisecond)
			for range 3 {
				conn := must.Get(net.Dial("unix", socket))(t)
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(10 * time.Second))
				fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
				line, err := bufio.NewReader(conn).ReadBytes('\n')
				var m struct{ Result any }
				if json.Unmarshal(line, &m); err != nil || m.Result == nil {
					t.Fatalf("a client beside idle connections got %s, error %v, want a result", line, err)
				}
			}
			notified := 0
			for _, conn := range silent {
				conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
				if line, _ := bufio.NewReader(conn).ReadString('\n'); strings.Contains(line, "-32000") &&
					strings.Contains(line, "retryAfter") {
					notified++
				}
			}
			if notified == 0 {
				t.Error("evicted clients got no error")
			}
		})
	}
}
