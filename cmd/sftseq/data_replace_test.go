package main

import (
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
)

// TestForceKeepsOldData checks that a failed conversion with --force leaves the data set unchanged.
func TestForceKeepsOldData(t *testing.T) {
	dir, from := filepath.Join(t.TempDir(), "data"), t.TempDir()
	expression := "( ( ( [MAX 4 ) 2 ) ] )"
	for _, split := range []string{"train", "val", "test"} {
		writeText(t, filepath.Join(from, "basic_"+split+".tsv"),
			"Source\tTarget\n"+strings.Repeat(expression+"\t4\n", 3))
	}
	succeed(t, "", "data", "convert", "listops", "--from", from, "--to", dir)
	before := must.Get(seq.OpenDataset(dir))(t)
	writeText(t, filepath.Join(from, "basic_test.tsv"), "Source\tTarget\n"+expression+"\t5\n")
	refuse(t, exitError, "basic_test.tsv", "", "data", "convert", "listops", "--from", from, "--to", dir, "--force")
	if now, err := seq.OpenDataset(dir); err != nil ||
		now.Fingerprint() != before.Fingerprint() || now.Verify() != nil {
		t.Errorf("the old data set changed: %v", err)
	}
}

// TestConcurrentGenerate checks that concurrent programs wait while another program generates the data
// set that they need, and that they complete the data set if that program stops.
func TestConcurrentGenerate(t *testing.T) {
	task := must.Get(lra.Lookup("listops"))(t)
	dir := filepath.Join(t.TempDir(), "data")
	preset := &lra.Preset{Data: lra.GenerateOptions{Train: 3000, Val: 10, Test: 10, Seed: 1,
		Rule: &lra.ListOpsRule{MinLength: 500, MaxLength: 2000, MaxDepth: 10, MaxArgs: 10,
			Train: &lra.ListOpsRule{MinLength: 20, MaxLength: 300, MaxDepth: 10, MaxArgs: 10}}}}
	// Another program has begun the data set, and stops after these programs have started to wait.
	begun := must.Get(seq.CreateDataset(dir, seq.Spec{Task: seq.Classification, VocabSize: 17}, false))(t)
	var group sync.WaitGroup
	var logs [3]waitLog
	for i := range logs {
		logs[i].waits = make(chan struct{}, 1)
		app := newApp()
		app.ErrWriter = &logs[i]
		c := cli.NewContext(app, flag.NewFlagSet("", flag.ContinueOnError), nil)
		c.Context = t.Context()
		group.Go(func() {
			must.Check(t, generateOnce(c, task, preset, dir))
		})
	}
	deadline := time.After(time.Minute)
	for i := range logs {
		select {
		case <-logs[i].waits:
		case <-deadline:
			t.Errorf("program %d: expected the message that it waits for another program, found none", i)
		}
	}
	begun.Abort()
	group.Wait()
	set, err := seq.OpenDataset(dir)
	if err != nil || set.Verify() != nil || set.Manifest.Splits["train"].Rows != 3000 {
		t.Errorf("got data set %+v, error %v; want 3000 training rows with valid checksums", set, err)
	}
	if r, err := baseline.Stored(set, "val"); err != nil || r == nil || len(r.Models) != 1 ||
		r.Models[0].Name != baseline.Root {
		t.Errorf("got baselines %+v, error %v; want only %q", r, err, baseline.Root)
	}
}

// waitLog is a writer that signals when a program reports that it waits.
type waitLog struct{ waits chan struct{} }

func (l *waitLog) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "waiting for another program") {
		select {
		case l.waits <- struct{}{}:
		default: // the test has not read the first signal yet
		}
	}
	return len(p), nil
}
