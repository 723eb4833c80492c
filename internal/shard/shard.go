// Package shard splits files into shards that several workers process independently. The output of a
// shard is a separate file, called a part.
//
// The rows of a shard depend only on the files and the number of shards. A part gets its final name
// when it is complete, and records its inputs. A killed job can therefore be started again with the
// same command; existing parts are kept.
package shard

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Shard is shard Index, from 0, of Count shards.
type Shard struct{ Index, Count int }

// maxCount is the maximum number of shards: the name of a part has five digits for the index.
const maxCount = 100000

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// File returns the name of the shard's part.
func (s Shard) File() string { return fmt.Sprintf("part-%05d-of-%05d%s", s.Index, s.Count, partEnding) }

const partEnding = ".arrow"

var fileName = regexp.MustCompile(`^part-([0-9]{5})-of-([0-9]{5,6})\.arrow$`)

// shardOfFile returns the shard for the name of a part.
func shardOfFile(name string) (s Shard, ok bool) {
	m := fileName.FindStringSubmatch(name)
	if m == nil {
		return s, false
	}
	s.Index, _ = strconv.Atoi(m[1])
	s.Count, _ = strconv.Atoi(m[2])
	return s, s.check() == nil && s.File() == name
}

func (s Shard) check() error {
	if s.Count < 1 || s.Count > maxCount || s.Index < 0 || s.Index >= s.Count {
		return fmt.Errorf("shard %v: expected I/N with I from 0 to N-1, and N up to %d", s, maxCount)
	}
	return nil
}

// Parse parses --shard: I/N, auto or auto/N. auto takes index and count from the environment,
// auto/N only the index. An empty text means auto within a job, and otherwise the whole input.
func Parse(text string, environment func(string) string) (Shard, error) {
	index, count, both := strings.Cut(text, "/")
	if text == "" || text == "auto" {
		job, err := jobOf(environment)
		switch {
		case err != nil:
			return Shard{}, err
		case job == nil && text == "":
			return Shard{0, 1}, nil
		case job == nil:
			return Shard{}, errNoJob
		}
		return job.shard()
	}
	n, err := strconv.Atoi(count)
	if !both || err != nil {
		return Shard{}, fmt.Errorf("%q: expected I/N such as 0/8, auto or auto/N", text)
	}
	s := Shard{Count: n}
	if index == "auto" {
		job, err := jobOf(environment)
		if err != nil {
			return Shard{}, err
		}
		if job == nil {
			return Shard{}, errNoJob
		}
		if s.Index = job.index; s.check() != nil {
			return Shard{}, fmt.Errorf("%s is %d: expected 0 to %d, as there are %d shards",
				job.variable, job.index, n-1, n)
		}
	} else if s.Index, err = strconv.Atoi(index); err != nil {
		return Shard{}, fmt.Errorf("%q: expected I/N such as 0/8, auto or auto/N", text)
	}
	return s, s.check()
}

var errNoJob = errors.New("auto: expected SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX in the environment, found neither")

// JobVariable returns the name of the environment variable with the index of a job's task, or "".
func JobVariable(environment func(string) string) string {
	for _, name := range []string{slurmID, kubernetesIndex} {
		if environment(name) != "" {
			return name
		}
	}
	return ""
}

// job is the current task as the environment describes it.
type job struct {
	variable string // the variable with the index
	index    int
	shard    func() (Shard, error) // returns an error if the variables do not determine index and count
}

// jobOf returns the current task of a Slurm array or a Kubernetes Indexed Job, or nil.
func jobOf(environment func(string) string) (*job, error) {
	number := func(name string, otherwise int) (int, error) {
		text := environment(name)
		if text == "" {
			return otherwise, nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, fmt.Errorf("%s is %q: expected an integer of at least 0", name, text)
		}
		return n, nil
	}
	var err error
	get := func(name string, otherwise int) (n int) {
		if err == nil {
			n, err = number(name, otherwise)
		}
		return n
	}
	const none = -1
	j := &job{}
	if j.variable, j.index = slurmID, get(slurmID, none); j.index != none {
		count, first, last, step := get("SLURM_ARRAY_TASK_COUNT", none), get("SLURM_ARRAY_TASK_MIN", 0),
			get("SLURM_ARRAY_TASK_MAX", none), max(1, get("SLURM_ARRAY_TASK_STEP", 1))
		j.shard = func() (Shard, error) {
			if count == none {
				return Shard{}, fmt.Errorf("%s is set, but not SLURM_ARRAY_TASK_COUNT: expected --shard auto/N",
					slurmID)
			}
			if last != none && (last-first)/step+1 != count || (j.index-first)%step != 0 {
				return Shard{}, fmt.Errorf("cannot derive the shard in an array of %d tasks from %d to %d: "+
					"expected --shard auto/N with the number of shards", count, first, last)
			}
			s := Shard{(j.index - first) / step, count}
			return s, s.check()
		}
		return j, err
	}
	if j.variable, j.index = kubernetesIndex, get(kubernetesIndex, none); j.index != none {
		count := get("JOB_COMPLETIONS", none)
		j.shard = func() (Shard, error) {
			if count == none {
				return Shard{}, fmt.Errorf("%s is set, but not the number of tasks: "+
					"expected --shard auto/N, or JOB_COMPLETIONS", kubernetesIndex)
			}
			s := Shard{j.index, count}
			return s, s.check()
		}
		return j, err
	}
	return nil, err
}

const (
	slurmID         = "SLURM_ARRAY_TASK_ID"
	kubernetesIndex = "JOB_COMPLETION_INDEX"
)
