package config_test

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestUnknownTask: a configuration of an unknown task is refused where it is read; one that
// nobody validated panics with the task's name.
func TestUnknownTask(t *testing.T) {
	c := configtest.TinyConfig()
	c.Task = "translation"
	must.Fail(t, `task: "translation", expected `+strings.Join(config.Tasks(), ", "), "validated")(c.Validate())
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `no objective for the task "translation"`) {
			t.Errorf("panic %q", text)
		}
	}()
	c.Sequences()
}
