//go:build unix

package main

import (
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/sft"
)

// TestServeLogRecords checks that with --log-format json every line of standard error is a log
// record, including the description of an ensemble and the error that ends the program. Durations
// have a unit.
func TestServeLogRecords(t *testing.T) {
	dir := t.TempDir()
	m := must.Get(sft.Load(goldenPath("pre")))(t)
	must.Succeed(t, m.Save(filepath.Join(dir, "a")))
	for i := range m.Weights {
		m.Weights[i] *= 1.1
	}
	must.Succeed(t, m.Save(filepath.Join(dir, "b")))
	o := operate(t, "--model", dir, "--http", "127.0.0.1:0", "--log-format", "json", "--shutdown-delay", "1s",
		"--pprof", "unix:"+filepath.Join(dir, "pprof"))
	o.cancel()
	equal(t, <-o.status, exitOK, o.logs.String())
	o.status = nil
	contains(t, o.logs.String(), `"level":"INFO","msg":"`+dir+`: ensemble of 2 models: a, b"`, `"delay":"1s"`,
		`"deadline":"10s"`, `"address":"unix:`+filepath.Join(dir, "pprof")+`"`)
	checkRecords(t, o.logs.String())

	status, _, errs := program(nil, "serve", "--model", filepath.Join(dir, "none"), "--log-format", "json")
	equal(t, status, exitError)
	contains(t, errs, `"level":"ERROR","msg":"`)
	checkRecords(t, errs)
}

// TestRecordLevels checks that lines become records with the levels of their prefixes, even if a write
// ends within a line.
func TestRecordLevels(t *testing.T) {
	var out strings.Builder
	w := &recordWriter{log: slog.New(slog.NewJSONHandler(&out, nil))}
	for _, part := range []string{"a device\nwarn", "ing: a slow one\nsftseq: no mod", "el\n"} {
		must.Get(w.Write([]byte(part)))(t)
	}
	contains(t, out.String(), `"level":"INFO","msg":"a device"`, `"level":"WARN","msg":"a slow one"`,
		`"level":"ERROR","msg":"no model"`)
}

// checkRecords checks that each line of a log is a record in JSON.
func checkRecords(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var record struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Level == "" || record.Msg == "" {
			t.Errorf("expected a log record in JSON, found %q", line)
		}
	}
}
