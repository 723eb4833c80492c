package requests

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/internal/jsonlines"
)

// smilesField has a molecule in SMILES, of a model of molecules: in place of features and edges.
const smilesField = "smiles"

// readsMolecule reports whether a molecule is the sequence of a line: beside another sequence the
// field means nothing to a model that reads no molecules.
func (p *Parser) readsMolecule(fields map[string]json.RawMessage) bool {
	if fields[smilesField] == nil || p.molecules != nil {
		return fields[smilesField] != nil
	}
	for _, name := range sequenceFields {
		if fields[name] != nil {
			return false
		}
	}
	return true
}

// sequenceFields have a sequence, or a part of one.
var sequenceFields = []string{"features", "edges", "tokens", "text", "tokens_a", "text_a", "tokens_b", "text_b"}

// fillMolecule reads the molecule of a line:
//
//	{"smiles": "CC(=O)O"}
func (p *Parser) fillMolecule(r *Request, fields map[string]json.RawMessage) error {
	if p.noMolecules != nil {
		return Fail(CodeRequest, "%s, but %v", smilesField, p.noMolecules)
	}
	for _, name := range sequenceFields {
		if fields[name] != nil {
			return Fail(CodeRequest, "both %s and %s, expected one of them", smilesField, name)
		}
	}
	if err := p.ReadMolecule(r, fields[smilesField]); err != nil {
		return Fail(CodeParams, "%s: %v", smilesField, err)
	}
	return nil
}

// OrMolecule says, behind what an error expects, that the model takes a molecule in its place; of another
// model it is "".
func (p *Parser) OrMolecule() string {
	if p.noMolecules != nil {
		return ""
	}
	return ", or " + smilesField + ", a molecule in SMILES"
}

// ReadsMolecules reports why the model takes no molecules.
func (p *Parser) ReadsMolecules() error { return p.noMolecules }

// SetMolecule makes a molecule in SMILES the sequence of a request.
func (p *Parser) SetMolecule(r *Request, text string) error {
	if p.noMolecules != nil {
		return p.noMolecules
	}
	features, edges, err := p.molecules.Read(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	if field, err := p.setGraph(r, features, edges); err != nil {
		return fmt.Errorf("the %s of its graph: %w", field, err)
	}
	return nil
}

// ReadMolecule makes the value of the field smiles the sequence of a request.
func (p *Parser) ReadMolecule(r *Request, value json.RawMessage) error {
	text, err := jsonlines.Text(value)
	if err != nil {
		return err
	}
	return p.SetMolecule(r, text)
}
