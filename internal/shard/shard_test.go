package shard

import (
	"strings"
	"testing"
)

// TestParse checks values of --shard with and without the environment of a job.
func TestParse(t *testing.T) {
	slurm := func(id, count, first, last, step string) map[string]string {
		return map[string]string{"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": count,
			"SLURM_ARRAY_TASK_MIN": first, "SLURM_ARRAY_TASK_MAX": last, "SLURM_ARRAY_TASK_STEP": step}
	}
	kubernetes := map[string]string{"JOB_COMPLETION_INDEX": "3"}
	for _, c := range []struct {
		text        string
		environment map[string]string
		want        string // a shard, or part of an error
	}{
		{"0/1", nil, "0/1"},
		{"7/8", nil, "7/8"},
		{"7/8", slurm("1", "2", "1", "2", "1"), "7/8"},
		{"", nil, "0/1"},
		{"", slurm("0", "8", "0", "7", "1"), "0/8"},
		{"auto", slurm("8", "8", "1", "8", "1"), "7/8"},
		{"", slurm("14", "3", "10", "14", "2"), "2/3"},
		{"", slurm("14", "3", "10", "15", "2"), "2/3"}, // --array=10-15:2
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "4", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "1"},
			"3/4"},
		{"auto/8", slurm("5", "2", "3", "5", "1"), "5/8"}, // --array=3,5, a second run of two shards
		{"auto/8", slurm("8", "8", "1", "8", "1"), "SLURM_ARRAY_TASK_ID is 8: expected 0 to 7"},
		{"", slurm("5", "2", "3", "5", "1"), ": expected --shard auto/N"},
		{"", slurm("13", "3", "10", "14", "2"), ": expected --shard auto/N"}, // variables of another array
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "4"}, "but not SLURM_ARRAY_TASK_COUNT: expected --shard auto/N"},
		{"", slurm("x", "2", "3", "5", "1"), `SLURM_ARRAY_TASK_ID is "x": expected an integer of at least 0`},
		{"auto/8", kubernetes, "3/8"},
		{"", kubernetes, "but not the number of tasks: expected --shard auto/N"},
		{"", map[string]string{"JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "4"}, "3/4"},
		{"", map[string]string{"JOB_COMPLETION_INDEX": "4", "JOB_COMPLETIONS": "4"}, "I from 0 to N-1"},
		{"auto", nil, "found neither"},
		{"auto/4", nil, "found neither"},
		{"8/8", nil, "I from 0 to N-1"},
		{"-1/8", nil, "I from 0 to N-1"},
		{"0/0", nil, "I from 0 to N-1"},
		{"0/1000000", nil, "N up to 100000"},
		{"3", nil, "expected I/N such as 0/8"},
		{"a/8", nil, "expected I/N such as 0/8"},
		{"1/8/2", nil, "expected I/N such as 0/8"},
	} {
		got, err := Parse(c.text, func(name string) string { return c.environment[name] })
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && got.String() != c.want {
			t.Errorf("%q with %v: got %v, error %v, want %s", c.text, c.environment, got, err, c.want)
		}
	}
}

// TestFile checks that the name of a part identifies its shard.
func TestFile(t *testing.T) {
	for want, s := range map[string]Shard{"part-00003-of-00008.arrow": {3, 8},
		"part-99999-of-100000.arrow": {99999, 100000}} {
		if got := s.File(); got != want {
			t.Errorf("%v: got %s, want %s", s, got, want)
		}
		if got, ok := shardOfFile(want); !ok || got != s {
			t.Errorf("%s: got %v, %v, want %v", want, got, ok, s)
		}
	}
	for _, name := range []string{"part-00008-of-00008.arrow", "part-00000-of-00000.arrow",
		".part-00003-of-00008.arrow.3k.tmp", "part-3-of-8.arrow", "part-00003-of-000008.arrow", "_manifest.json"} {
		if s, ok := shardOfFile(name); ok {
			t.Errorf("%s: got %v, want no shard", name, s)
		}
	}
}

// TestRanges checks that the result of Ranges has the format of sbatch --array.
func TestRanges(t *testing.T) {
	if got := Ranges([]int{0, 3, 4, 5, 7, 9, 10}); got != "0,3-5,7,9-10" {
		t.Errorf("got %s, want 0,3-5,7,9-10", got)
	}
}
