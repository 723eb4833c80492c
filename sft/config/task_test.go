package config_test

import (
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
)

// TestUnknownTask checks that Validate refuses an unknown task, and that the use of an unvalidated
// configuration panics with the task's name.
func TestUnknownTask(t *testing.T) {
	c := configtest.TinyConfig()
	c.Task = "translation"
	must.Fail(t, `task: "translation", expected `+strings.Join(config.Tasks(), ", "), "validated")(c.Validate())
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `no objective for the task "translation"`) {
			t.Errorf("panic %q, want one that names the task", text)
		}
	}()
	c.Sequences()
}

// TestSameKind checks that models of different tasks can be combined if they have the same kind of
// predictions and the same number of sequences, and are refused otherwise.
func TestSameKind(t *testing.T) {
	t.Cleanup(config.AddTask("second", config.Classification))
	c := configtest.TinyConfig()
	must.Succeed(t, c.SameData(configtest.WithTask(configtest.TinyConfig(), "second")))
	for _, task := range []string{config.Retrieval, config.MultiLabel} {
		must.Fail(t, "found "+task)(c.SameData(configtest.WithTask(configtest.TinyConfig(), task)))
	}
}
