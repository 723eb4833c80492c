package lra

import (
	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/train"
)

// PeptidesFunc is the task of predicting the functions of a peptide (Dwivedi et al. 2022) from the
// graph of its atoms.
var PeptidesFunc = &Task{
	Name:         "peptides-func",
	Description:  "Which of ten functions a peptide has (Peptides-func), predicted from the graph of its atoms.",
	Kind:         seq.MultiLabel,
	Labels:       peptideFunctions,
	Features:     graphlines.Indicators(atomCategories),
	EdgeFeatures: graphlines.Indicators(bondCategories),
	Rows:         peptideRows,
	Presets:      peptidesPresets(8e-4, 0.17, "map"),
	Import: &Importer{
		Usage: "convert PyTorch Geometric's Peptides-func, written as JSON lines",
		Description: `Reads train.jsonl, val.jsonl and test.jsonl of a directory, or a single file, plain or
compressed. Each line is a graph in the format of docs/published-clouds-graphs.md, with the
nine numbers of each atom and the three of each bond. The field label lists the peptide's
functions, by number or name. The atoms' and bonds' numbers are categories and become
one-hot features, so that a linear layer on these features adds up embeddings.
--random-walk 24 adds the return probabilities of a random walk of 1 to 24 steps (RWPE).`,
		Example: "sftseq data convert peptides-func --from peptides-func --to data/peptides-func",
		Walks:   true,
		convert: convertPeptides,
	},
}

// PeptidesStruct is the task of predicting properties of a peptide's shape (Dwivedi et al. 2022)
// from the graph of its atoms.
var PeptidesStruct = &Task{
	Name:         "peptides-struct",
	Description:  "Eleven numbers of a peptide's shape (Peptides-struct), predicted from the graph of its atoms.",
	Kind:         seq.Regression,
	Numbers:      peptideNumbers,
	Features:     graphlines.Indicators(atomCategories),
	EdgeFeatures: graphlines.Indicators(bondCategories),
	Rows:         peptideRows,
	Presets:      peptidesPresets(3e-4, 0.12, "mae"),
	Import: &Importer{
		Usage: "convert PyTorch Geometric's Peptides-struct, written as JSON lines",
		Description: `Reads train.jsonl, val.jsonl and test.jsonl of a directory, or a single file, plain or
compressed. Each line is a graph in the format of docs/published-clouds-graphs.md, with the
nine numbers of each atom, the three of each bond, and a field for each target. The
numbers of atoms and bonds are categories and become one-hot features, so that a linear
layer on these features adds up embeddings.
--random-walk 24 adds the return probabilities of a random walk of 1 to 24 steps (RWPE).`,
		Example: "sftseq data convert peptides-struct --from peptides-struct --to data/peptides-struct",
		Walks:   true,
		convert: convertPeptides,
	},
}

// peptideRows are the sizes of the splits of both tasks.
var peptideRows = []PublishedRows{{[]string{"train"}, 10873}, {[]string{"val"}, 2331}, {[]string{"test"}, 2331}}

// peptideFunctions lists the functions in the order of their labels.
var peptideFunctions = []string{
	"antifungal", "cell_cell_communication", "anticancer", "drug_delivery_vehicle", "antimicrobial",
	"antiviral", "antihypertensive", "antibacterial", "antiparasitic", "toxic",
}

// peptideNumbers lists the targets in their order. They have mean 0 and standard deviation 1 over all
// peptides.
var peptideNumbers = []string{
	"Inertia_mass_a", "Inertia_mass_b", "Inertia_mass_c", "Inertia_valence_a", "Inertia_valence_b", "Inertia_valence_c",
	"length_a", "length_b", "length_c", "Spherocity", "Plane_best_fit",
}

// atomCategories and bondCategories are the categorical features of atoms and bonds, with the
// number of values of each. The last value of most features means any other value.
//
// Source: Hu et al., "Open Graph Benchmark: Datasets for Machine Learning on Graphs", NeurIPS 2020.
var (
	atomCategories = []graphlines.Category{
		{Name: "atomic_num", Kinds: 119}, {Name: "chirality", Kinds: 5}, {Name: "degree", Kinds: 12},
		{Name: "formal_charge", Kinds: 12}, {Name: "num_h", Kinds: 10},
		{Name: "num_radical_e", Kinds: 6}, {Name: "hybridization", Kinds: 6}, {Name: "is_aromatic", Kinds: 2},
		{Name: "is_in_ring", Kinds: 2},
	}
	bondCategories = []graphlines.Category{{Name: "bond_type", Kinds: 5}, {Name: "bond_stereo", Kinds: 6},
		{Name: "is_conjugated", Kinds: 2}}
)

// peptidesPresets returns the presets of a peptide task. The published configurations differ in the
// learning rate and the weight decay. The task's metric selects the saved model.
func peptidesPresets(rate, weightDecay float64, metric string) []*Preset {
	setSelect := func(s *train.Settings) { s.Select = metric }
	return []*Preset{{
		Name:        "quick",
		Description: "a small model",
		Config:      cloudQuickConfig(2, 64),
		Settings:    modified(cosineSettings(30, 0.01), setSelect),
	}, {
		Name:        "paper",
		Description: "published: 4 layers of 144 channels, 600 epochs",
		Config:      cloudConfig(4, 144, 75, 0.3, 0),
		Settings: modified(modified(paperCloudSettings(600, rate, weightDecay, 0.8), setSelect),
			func(s *train.Settings) { s.MaxGradNorm = 16 }),
	}}
}
