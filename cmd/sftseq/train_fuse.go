package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// fuse fits the weights of the models in the folders of --out, and writes --out/config.json. Then it
// calls refitLinear, because the validation split is no longer needed for selection.
func (f *fusedRun) fuse() error {
	fusion, err := f.fitWeights()
	if err == nil {
		err = fusion.Save(f.out)
	}
	if err == nil {
		err = f.refitLinear()
	}
	if err != nil {
		return err
	}
	accuracy := math.NaN()
	if fusion.Accuracies != nil {
		accuracy = fusion.Accuracy
	}
	scored, compared := compareBaselines(f.Context, f.set, f.out, accuracy)
	text := describeFusion(fusion, f.out) + scored + evalAdvice(f.out, f.set)
	if command := f.reproduceCommand(); command != "" {
		text += f.kernels + "\nrepeat with: " + command + "\n"
	}
	_, err = fmt.Fprint(f.App.Writer, text+compared)
	return err
}

// fitWeights fits the weights of the models in the folders of --out.
func (f *fusedRun) fitWeights() (*sft.Fusion, error) {
	rows, err := f.set.Open("val")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var members []train.Member
	if f.kinds[0].linear {
		m, err := f.loadOrFitLinear()
		if err != nil {
			return nil, err
		}
		members = append(members, train.Member{Name: linearMember, Kind: linearMember, Model: m})
	}
	for _, member := range f.members {
		m, err := loadWithContext(f.Context.Context, filepath.Join(f.out, member.name))
		if err != nil {
			return nil, err
		}
		members = append(members, train.Member{Name: member.name, Kind: member.kind.name, Model: m})
	}
	d, err := openDevice(f.Context)
	if err != nil {
		return nil, err
	}
	defer closeDevice(f.Context, d)
	p := newProgress(int64(rows.Len()), "fitting weights", "rows")
	fusion, err := train.FitFusion(f.Context.Context, members, rows, d, p.Add)
	p.Finish()
	return fusion, err
}

// loadOrFitLinear returns the linear model that was trained on the training split only. It trains
// this model again if the saved model was also trained on the validation split.
func (f *fusedRun) loadOrFitLinear() (*sft.Model, error) {
	if linearRecord(f.out).TrainedOn == nil {
		return loadWithContext(f.Context.Context, f.linearDir())
	}
	dir, err := os.MkdirTemp("", "sftseq-linear-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	fit, err := newLinearFit(f.Context, f.set, dir)
	if err != nil {
		return nil, err
	}
	m, _, err := fit.fit()
	if err == nil {
		err = fit.save(m)
	}
	if err != nil {
		return nil, err
	}
	return loadWithContext(f.Context.Context, dir)
}

// refitLinear trains the linear model on the training and the validation split. It does nothing without
// a linear model, or if [linearFit.refits] returns false. config.json records the splits and is written
// before the weights, so it never describes refitted weights as weights of the training split. If the
// program is killed in between, a resumed run writes both again.
func (f *fusedRun) refitLinear() error {
	if !f.kinds[0].linear {
		return nil
	}
	fit, err := newLinearFit(f.Context, f.set, f.linearDir())
	if err != nil || !fit.refits() {
		return err
	}
	fit.record = f.addTo(fit.record)
	m, err := fit.refit(linearRecord(f.out).Linear)
	if err != nil {
		return err
	}
	if m.Config.Extra, err = fit.record.JSON(); err == nil {
		err = m.SaveConfig(f.linearDir())
	}
	if err != nil {
		return err
	}
	return fit.save(m)
}
