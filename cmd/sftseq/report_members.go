package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/report"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// reportRun is the directory and the name of a run in a report. fusion is the folder of the fusion
// whose members are listed with the run, or "".
type reportRun struct{ dir, name, fusion string }

// expandFusions replaces the folder of a fusion by its members, without members whose config.json cannot
// be read. Members with layers come first, because they have learning curves. A fusion in which no
// member has layers is an error.
func expandFusions(dirs []string) (out []reportRun, err error) {
	names := runNames(dirs)
	for i, dir := range dirs {
		f, err := sft.ReadFusion(dir)
		if err != nil {
			return nil, err
		}
		if f == nil {
			out = append(out, reportRun{dir: dir, name: names[i]})
			continue
		}
		fusion := dir
		var linear []reportRun
		for _, member := range f.Members {
			path := filepath.Join(dir, member)
			r := reportRun{dir: path, name: names[i] + "/" + member}
			c, err := config.Read(filepath.Join(path, "config.json"))
			switch {
			case err != nil:
			case c.IsLinear():
				linear = append(linear, r)
			default:
				r.fusion, fusion = fusion, ""
				out = append(out, r)
			}
		}
		out = append(out, linear...)
		if fusion != "" {
			return nil, errors.New(describeRuns(dir, ""))
		}
	}
	return out, nil
}

// addMembers adds the members of a fusion, with their scores on the validation split and, if the rows of
// the report are available, on these rows.
func addMembers(c *cli.Context, r *report.Run, dir string) error {
	f, err := sft.ReadFusion(dir)
	if err != nil {
		return err
	}
	scores, classes := validationScores(f)
	r.Members = &report.Members{Name: dir, Classes: classes, Rows: f.Rows}
	var measured []metrics.FusionScore
	if rows, err := rowsOf(c, r.Config); err == nil {
		if measured, err = measureMembers(c, f, dir, rows); err != nil {
			return err
		}
		r.Members.Data = rows.name
	}
	for i, s := range scores {
		m := report.Member{Name: s.Name, Weight: s.Weight, Sum: i == len(f.Members), Validation: s.FusionScore}
		if measured != nil {
			m.Measured = measured[i]
		}
		r.Members.List = append(r.Members.List, m)
	}
	return nil
}

// measureMembers returns the score of each member of a fusion on the rows, followed by the score of the sum.
func measureMembers(c *cli.Context, f *sft.Fusion, dir string,
	rows *reportRows) (out []metrics.FusionScore, err error) {
	var models []*sft.Model
	for _, name := range f.Members {
		m, err := loadWithContext(c.Context, filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	d, err := openDevice(c)
	if err != nil {
		return nil, err
	}
	defer closeDevice(c, d)
	s, err := sft.NewFusion(models, f, d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	defer s.Close()
	reader, err := rows.open()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if err := checkRows(s.Config(), reader.Spec(), rows.path, dir); err != nil {
		return nil, err
	}
	t := newMemberTally(f, s)
	p := newProgress(rows.rows, "evaluating members", "rows")
	defer p.Finish()
	for block, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		const batch = 256
		for first := 0; first < block.Len(); first += batch {
			var examples []seq.Example
			for i := first; i < min(first+batch, block.Len()); i++ {
				examples = append(examples, block.Example(i))
			}
			if _, err := t.score(c.Context, examples); err != nil {
				return nil, fmt.Errorf("%s: %w", rows.path, err)
			}
			p.Add(int64(len(examples)))
		}
	}
	for _, score := range t.scores() {
		out = append(out, score.FusionScore)
	}
	return out, nil
}
