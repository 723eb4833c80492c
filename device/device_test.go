package device

import (
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	for _, name := range Names() {
		d, err := Open(name, 3)
		if err != nil {
			t.Fatal(err)
		}
		if d.Lanes() != 3 {
			t.Errorf("%s: %d lanes with 3 threads", name, d.Lanes())
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open("tpu", 0); err == nil || !strings.Contains(err.Error(), "auto, cpu") {
		t.Errorf("unknown device: error %v, expected the known names", err)
	}
	if _, err := Open("cpu", -1); err == nil {
		t.Error("-1 threads: no error")
	}
}
