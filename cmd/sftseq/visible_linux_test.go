package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sftseq/sftseq/internal/must"
)

// terminal opens a pseudo-terminal: the program writes to one end, and the test reads the other end.
func terminal(t *testing.T) (program, screen *os.File) {
	t.Helper()
	screen = must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { screen.Close() })
	ioctl := func(request uintptr, value *int32) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request,
			uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	var locked, number int32
	ioctl(syscall.TIOCSPTLCK, &locked)
	ioctl(syscall.TIOCGPTN, &number)
	program = must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	t.Cleanup(func() { program.Close() })
	return program, screen
}

// TestTerminal checks that commands escape control characters on a terminal, and print them
// unchanged if the output is not a terminal.
func TestTerminal(t *testing.T) {
	dir := hostileData(t)
	for _, args := range [][]string{{"data", "head", dir}, {"data", "info", dir}, {"data", "info", "--json", dir},
		{"data", "stats", dir}} {
		out, screen := terminal(t)
		done := make(chan string)
		go func() {
			text, _ := io.ReadAll(screen) // until the program's end of the terminal is closed
			done <- string(text)
		}()
		status := run(t.Context(), append([]string{"sftseq"}, args...), strings.NewReader(""), out, io.Discard)
		out.Close()
		var shown string
		select {
		case shown = <-done:
		case <-time.After(time.Minute):
			t.Fatal("reading the terminal did not end within a minute")
		}
		shown = strings.ReplaceAll(shown, "\r\n", "\n") // a terminal ends lines with \r\n
		if status != 0 || hasControls(shown) || len(shown) < 100 {
			t.Errorf("%q: got status %d, %d bytes %.300q; want status 0, at least 100 bytes, no control characters",
				args[:2], status, len(shown), shown)
		}
		_, piped, _ := program(nil, args...)
		equal(t, shown, escapeControls([]byte(piped)), piped)
		if args[1] != "stats" && !hasControls(piped) {
			t.Errorf("%q: the piped text has no characters to escape", args[:2])
		}
	}
}
