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

// TestSameKind: models predict together if their predictions are of one kind and of as many sequences, whatever their
// tasks.
func TestSameKind(t *testing.T) {
	t.Cleanup(config.AddTask("second", config.Classification))
	c := configtest.TinyConfig()
	must.Succeed(t, c.SameData(configtest.OfTask(configtest.TinyConfig(), "second")))
	for _, task := range []string{config.Retrieval, config.MultiLabel} {
		must.Fail(t, "its task is "+task)(c.SameData(configtest.OfTask(configtest.TinyConfig(), task)))
	}
}
