package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/graph"
	"github.com/sftseq/sftseq/internal/molecule"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/lra"
)

// moleculesHeader is the first line of rdkit-data's file, which does not name its columns.
var moleculesHeader = table.Header{
	Line:    "# TPSA data calculated using Daylight tools and Ertl's contrib program tpsa.c",
	Columns: append([]string{"smiles"}, lra.Molecules.Numbers...),
}

// moleculesSplit are the parts of the splits.
const moleculesSplit = "0.8,0.1,0.1"

// convertMoleculesCommand makes graphs of rdkit-data's molecules.
func convertMoleculesCommand() *cli.Command {
	return &cli.Command{
		Name: lra.Molecules.Name, Usage: "from rdkit-data's molecules with their polar surface areas",
		UsageText: "sftseq data convert molecules --from FILE --to DIR [flags]\n\nExample: " + lra.Molecules.Import.Example,
		Description: `Reads usr/share/RDKit/Data/NCI/first_5k.tpsa.csv of Debian's rdkit-data, plain or compressed: a
comment, then a molecule a line, in SMILES, and its topological polar surface area. Atoms are the
nodes, with the features
   ` + strings.Join(molecule.AtomFeatureNames, ", ") + `
and bonds the edges, with
   ` + strings.Join(molecule.BondFeatureNames, ", ") + `
A molecule and --seed decide its split: eight tenths are for training, a tenth is for
validation. Rows that cannot be used are left out and listed by reason. Other tables of molecules
are read by sftseq data convert graph --smiles.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "`FILE` of the molecules (required)", TakesFile: true},
			&cli.StringFlag{Name: "to", Usage: "`DIR` of the data set (required)", TakesFile: true},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of the splits"},
			noBaselinesFlag(),
			&cli.BoolFlag{Name: "force", Usage: "replace a complete data set"},
		},
		Action: convertMolecules,
	}
}

func convertMolecules(c *cli.Context) error {
	if err := noFlagsBefore(c); err != nil {
		return err
	}
	if err := noArguments(c); err != nil {
		return err
	}
	if err := needFlags(c, "from", "to"); err != nil {
		return err
	}
	from, another := c.String("from"), "other molecules: sftseq data convert graph --smiles COLUMN"
	if table.ReadOnce(from) {
		return usage(c, "--from %s: expected a file, which is read several times; standard input and other pipes can be read once only", from)
	}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return fmt.Errorf("%s: expected rdkit-data's file first_5k.tpsa.csv, found a directory (%s)", from, another)
	}
	if _, err := table.FormatOf(from); err != nil {
		return fmt.Errorf("%s: expected rdkit-data's file first_5k.tpsa.csv, found one of another name (%s)", from, another)
	}
	shares, err := parseShares(moleculesSplit)
	if err != nil {
		return err
	}
	d, left, err := graph.Convert(c.Context, c.String("to"), graph.Options{From: []string{from}, Name: lra.Molecules.Name, Header: &moleculesHeader,
		SMILES: moleculesHeader.Columns[0], Numbers: lra.Molecules.Numbers, Shares: shares, Seed: c.Uint64("seed"), Replace: c.Bool("force")})
	if wrong := (*table.HeaderError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("%w (%s)", err, another)
	}
	if err == nil {
		fmt.Fprint(c.App.ErrWriter, left)
		if text := emptyWarning(d.Manifest, shares, "more molecules or another --seed help"); text != "" {
			fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", text)
		}
	}
	return reportTask(c, lra.Molecules, d, err)
}
