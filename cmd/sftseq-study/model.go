package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// trainedModel is a trained model, the rows of a split, and the device that runs the model. Its
// first fields are flags; open sets the remaining fields.
type trainedModel struct {
	runDevice
	dir, data, split string

	*sft.Model
	rows   *seq.File
	device tensor.Device
}

// modelFlags adds the flags of a trained model and returns the model, which is not open yet.
func (f *flags) modelFlags() *trainedModel {
	m := &trainedModel{}
	f.StringVar(&m.dir, "model", "", "`directory` of a trained model, for example a run of "+
		"\"sftseq-study relative\" (required)")
	f.StringVar(&m.data, "data", "", "`directory` of a data set (required)")
	f.StringVar(&m.split, "split", "val", "split of the data set: train, val or test")
	f.deviceFlags(&m.runDevice, runtime.GOMAXPROCS(0))
	return m
}

// open reads the model, and opens its rows and the device.
func (m *trainedModel) open(r *report) error {
	if m.dir == "" || m.data == "" {
		return usagef("--model and --data are required: expected the directories of a trained model and of its data " +
			"set")
	}
	set, err := seq.OpenDataset(m.data)
	if err != nil {
		return err
	}
	if m.Model, err = sft.Load(m.dir); err != nil {
		return err
	}
	if err := compareData(m.Config, set); err != nil {
		return fmt.Errorf("--data %s: %w: pass the data set on which %s was trained", set.Dir, err, m.dir)
	}
	if m.rows, err = m.Config.OpenSplit(set, m.split); err != nil {
		return err
	}
	if m.rows.Len() == 0 {
		return errors.Join(fmt.Errorf("%s: the split %s has no rows", set.Dir, m.split), m.rows.Close())
	}
	if m.device, err = m.runDevice.open(r); err != nil {
		return errors.Join(err, m.rows.Close())
	}
	return nil
}

// measurement wraps measure: the returned measurement opens the model before measure and closes its
// rows and its device afterwards.
func (m *trainedModel) measurement(measure measurement) measurement {
	return func(ctx context.Context, r *report) (err error) {
		if err := m.open(r); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.rows.Close(), m.device.Close()) }()
		return measure(ctx, r)
	}
}

// compareData returns an error unless the data set has the kind of data that the model was trained
// on.
func compareData(model *sft.Config, set *seq.Dataset) error {
	data := *model
	err := data.DescribeData(set.Spec())
	data.Decision, data.AutoMap = model.Decision, model.AutoMap // independent of the data set's format
	if err != nil {
		return fmt.Errorf("the model cannot read this data: %w", err)
	}
	if differences := provenance.Compare(model, &data); differences != nil {
		return fmt.Errorf("the model was trained on data with %s", strings.Join(differences, "; "))
	}
	return nil
}

// examples returns the rows [from, from+n), or fewer at the end of the split.
func (m *trainedModel) examples(from, n int) (out []seq.Example, err error) {
	for i := from; i < min(from+n, m.rows.Len()); i++ {
		e, err := m.rows.Example(i)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// describe returns a text that names the model and the rows.
func (m *trainedModel) describe() string {
	return fmt.Sprintf("the model in %s; %d rows of the split %s", m.dir, m.rows.Len(), m.split)
}
