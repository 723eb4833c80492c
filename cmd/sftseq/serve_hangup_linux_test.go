package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// TestServeHangup checks that SIGHUP is ignored, and no request is lost, while the server starts or
// drains.
func TestServeHangup(t *testing.T) {
	testenv.Long(t, "builds the program")
	model := t.TempDir()
	must.Succeed(t, os.CopyFS(model, os.DirFS(goldenPath("pre"))))
	// A lease on the file blocks the server when it opens the file.
	config := must.Get(os.OpenFile(filepath.Join(model, "config.json"), os.O_RDWR, 0))(t)
	defer config.Close()
	lease := func(command, kind int) int {
		t.Helper()
		return must.Get(unix.FcntlInt(config.Fd(), command, kind))(t)
	}
	lease(unix.F_SETLEASE, unix.F_WRLCK)
	c := exec.Command(built(t), "serve", "--model", model, "--drain", "2m") // a busy machine takes longer than usual
	var errs lockedBuffer
	c.Stderr = &errs
	in, out := pipes(t, c)
	// Wait until the server opens the file.
	await(t, time.Minute, func() bool { return lease(unix.F_GETLEASE, 0) != unix.F_WRLCK }, &errs)
	hangup := func(count int) {
		t.Helper()
		c.Process.Signal(syscall.SIGHUP)
		await(t, 5*time.Second, func() bool { return strings.Count(errs.String(), "SIGHUP is ignored") >= count },
			&errs)
	}
	hangup(1)
	lease(unix.F_SETLEASE, unix.F_UNLCK)
	const n = 200
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":-1,"method":"initialize"}`)
	for i := range n {
		fmt.Fprintf(in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sequence/classify\",\"params\":{\"tokens\":[1%s]}}\n", i, strings.Repeat(",2", 4000))
	}
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":-2,"method":"model/info"}`)
	responses := 0
	for out.Scan() {
		if responses++; strings.Contains(out.Text(), `"id":-2,`) { // all earlier requests are accepted
			c.Process.Signal(syscall.SIGTERM)
			for !strings.Contains(errs.String(), "draining") {
				time.Sleep(time.Millisecond)
			}
			hangup(2)
		}
	}
	if err := c.Wait(); err != nil || responses != n+2 {
		t.Errorf("error %v, %d responses, want %d\n%s", err, responses, n+2, errs.String())
	}
}
