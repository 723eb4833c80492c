package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPredictWhileTraining checks that predict and eval can read the model of a run that has not
// been evaluated yet.
func TestPredictWhileTraining(t *testing.T) {
	data, dir := customData(t, "--label", "mood"), filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, strings.Fields("sftseq train custom --members sft --data "+data+" --out "+dir+
			" --hidden 8 --steps 1000000 --eval-every 1000000"), strings.NewReader(""), &out, &errs)
	}()
	model := filepath.Join(dir, "config.json")
	await(t, time.Minute, func() bool { return exists(model) }, "there is no model")
	replies := replyLines(t, succeed(t, `{"text": "12 aab"}`, "predict", "--model", dir))
	if len(replies) != 1 || replies[0].Error != nil || replies[0].Label == nil {
		t.Errorf("got replies %+v, want one with a label", replies)
	}
	if text := succeed(t, "", "eval", "--model", dir, "--data", data); !strings.HasPrefix(text, dir) ||
		!strings.Contains(text, " (training has not ended) on "+filepath.Join(data, "test.arrow")+" (split test)\n") ||
		!strings.Contains(text, "accuracy") {
		t.Errorf("got output %q of eval, want the accuracy and that training has not ended", text)
	}
	cancel()
	if status := <-ended; status == 0 || !strings.Contains(errs.String(), "stopped at step") {
		t.Errorf("got status %d and output %s%s, want an error that states the step at which training stopped", status,
			out.String(), errs.String())
	}
}
