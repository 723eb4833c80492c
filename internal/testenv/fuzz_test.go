package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// sink holds the allocations of TestLimits, so that the compiler does not remove them.
var sink []byte

// TestLimits checks that FuzzLimits reports an input that exceeds the memory or time limit, and
// accepts other inputs. Each input runs in a process of its own, because exceeding a limit fails the
// test or ends the program.
func TestLimits(t *testing.T) {
	Long(t, "starts processes and waits for a time limit")
	const variable = "SFTSEQ_TEST_INPUT"
	switch os.Getenv(variable) {
	case "memory":
		defer FuzzLimits(t, 1<<20)()
		sink = make([]byte, 2<<20)
	case "time":
		defer FuzzLimits(t, 1<<20)()
		for {
			sink = append(sink[:0], 1)
		}
	case "little":
		defer FuzzLimits(t, 1<<20)()
		sink = make([]byte, 1<<19)
	default:
		for input, want := range map[string]string{
			"memory": "allocated 2097152 bytes, expected at most 1048576",
			"time":   "the input takes more than 2s of CPU time",
			"little": "PASS",
		} {
			c := exec.Command(os.Args[0], "-test.run=^TestLimits$")
			c.Env = append(os.Environ(), variable+"="+input)
			out, err := c.CombinedOutput()
			if !strings.Contains(string(out), want) || (err == nil) != (input == "little") {
				t.Errorf("%s: got %v, want %q\n%s", input, err, want, out)
			}
		}
	}
}
