package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sftseq/seq"
)

// TestForceIsKilled: a data set that is being replaced is whole at any moment: the program
// is killed again and again, and either the old one is there or the new one.
func TestForceIsKilled(t *testing.T) {
	sftseq, dir := built(t), filepath.Join(t.TempDir(), "data")
	generate := func(seed int) *exec.Cmd {
		return exec.Command(sftseq, "data", "generate", "listops", "--out", dir, "--force", "--seed", fmt.Sprint(seed),
			"--train", "60", "--val", "20", "--test", "20", "--min-length", "20", "--max-length", "200")
	}
	start := time.Now()
	if out, err := generate(0).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	whole := time.Since(start)
	r := rand.New(rand.NewPCG(6, 6))
	killed, replaced, last := 0, 0, ""
	rounds := 40
	if testing.Short() {
		rounds = 15
	}
	for i := range rounds {
		c := generate(i + 1)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration((0.3+1.7*r.Float64())*float64(whole)), func() { _ = c.Process.Kill() })
		if c.Wait() != nil {
			killed++
		}
		timer.Stop()
		set, err := seq.OpenDataset(dir)
		if err == nil {
			err = set.Verify()
		}
		if err != nil || set.Manifest.Splits["train"].Rows != 60 || len(set.Manifest.Splits) != 3 {
			t.Fatalf("round %d: %v", i, err)
		}
		if now := set.Fingerprint(); now != last {
			replaced, last = replaced+1, now
		}
	}
	if out, err := generate(0).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v are left, %v", entries, err)
	}
	t.Logf("killed %d times of %d, replaced %d times", killed, rounds, replaced)
}

// TestForceKeepsTheOld: what cannot be converted leaves the data set as it was.
func TestForceKeepsTheOld(t *testing.T) {
	dir, from := filepath.Join(t.TempDir(), "data"), t.TempDir()
	expression := "( ( ( [MAX 4 ) 2 ) ] )"
	for _, split := range []string{"train", "val", "test"} {
		writeText(t, filepath.Join(from, "basic_"+split+".tsv"), "Source\tTarget\n"+strings.Repeat(expression+"\t4\n", 3))
	}
	succeed(t, "", "data", "convert", "listops", "--from", from, "--to", dir)
	before, err := seq.OpenDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(from, "basic_test.tsv"), "Source\tTarget\n"+expression+"\t5\n")
	refuse(t, exitError, "basic_test.tsv", "", "data", "convert", "listops", "--from", from, "--to", dir, "--force")
	if now, err := seq.OpenDataset(dir); err != nil || now.Fingerprint() != before.Fingerprint() || now.Verify() != nil {
		t.Errorf("the old one: %v", err)
	}
}

// TestTwoGenerate: of two programs that find no data set one makes it, and the other takes it.
func TestTwoGenerate(t *testing.T) {
	if testing.Short() {
		t.Skip("96,000 expressions")
	}
	sftseq, cache := built(t), t.TempDir()
	var runs []*exec.Cmd
	var logs [2]strings.Builder
	for i := range logs {
		c := exec.Command(sftseq, "train", "listops", "--steps", "1", "--batch", "2", "--out", filepath.Join(t.TempDir(), "run"))
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
		c.Stderr = &logs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, c)
	}
	waited := 0
	for i, c := range runs {
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, logs[i].String())
		}
		waited += strings.Count(logs[i].String(), "waiting for that")
	}
	if waited > 1 {
		t.Errorf("%d programs waited", waited)
	}
}
