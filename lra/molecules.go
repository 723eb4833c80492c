package lra

import (
	"github.com/sftseq/sftseq/internal/molecule"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Molecules asks for a number of a molecule that its structure tells, read as the graph of its atoms. The
// molecules are those of Debian's rdkit-data, which stand in for peptides.
var Molecules = &Task{
	Name:         "molecules",
	Description:  "The topological polar surface area of a molecule (NCI, of rdkit-data), read as the graph of its atoms.",
	Kind:         seq.Regression,
	Numbers:      []string{"tpsa"},
	Features:     molecule.AtomFeatureNames,
	EdgeFeatures: molecule.BondFeatureNames,
	Rows:         []PublishedRows{{[]string{"train", "val", "test"}, 4999}},
	Presets: []*Preset{
		moleculesPreset("quick", "a small model, trained for 30 epochs", 30, "MAE 0.99 on 499 test molecules (sums and moments: 6.36)"),
		moleculesPreset("hour", "the same model, trained for 100 epochs", 100, "MAE 0.69 on 499 test molecules (sums and moments: 6.36), some 10 minutes of a busy core with AVX-512"),
	},
	Import: &Importer{Example: "sftseq data convert molecules --from rdkit/usr/share/RDKit/Data/NCI/first_5k.tpsa.csv --to data/molecules"},
}

// moleculesPreset is what train custom chooses for these molecules, for some epochs; the kept model is the
// one with the least error, as of peptides.
func moleculesPreset(name, description string, epochs int, measured string) *Preset {
	data := described(seq.Spec{Task: seq.Regression, FeatureNames: molecule.AtomFeatureNames, EdgeFeatureNames: molecule.BondFeatureNames}, 4051, seq.Quantiles{P50: 15, P95: 31, Mean: 16.6})
	p := chosen(data, name, description, func(_ *sft.Config, s *sft.Settings) { s.Epochs, s.Select = epochs, "mae" })
	p.Measured = measured
	return p
}
