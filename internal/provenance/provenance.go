// Package provenance says where a run and its model come from: data, settings, the command
// that repeats it, what computed it and when. It also finds the run to go on with, and what
// another start of it would change.
package provenance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// Provenance is what a model's config.json says, in "extra", of where the model
// comes from.
type Provenance struct {
	Sftseq    string         `json:"sftseq"`
	Command   string         `json:"command"` // repeats the run
	Preset    string         `json:"preset"`
	DataDir   Path           `json:"data_dir,omitempty"` // as given by --data
	DataName  string         `json:"data_name"`
	Data      string         `json:"data_sha256"` // of the splits' checksums
	InitFrom  Path           `json:"init_from,omitempty"`
	Precision string         `json:"precision,omitempty"`   // as given by --precision
	Kernels   string         `json:"kernels,omitempty"`     // what the run began with, such as avx2
	Longest   int64          `json:"longest_row,omitempty"` // tokens of the longest row of the training split
	Settings  train.Settings `json:"settings"`
}

// Of is what a model says of where it comes from. One from elsewhere says nothing that
// could be read, which is an error.
func Of(config *sft.Config) (Provenance, error) {
	var p Provenance
	if err := json.Unmarshal(config.Extra, &p); err != nil {
		return Provenance{}, err
	}
	return p, nil
}

// Store has a model say it.
func (p *Provenance) Store(config *sft.Config) (err error) {
	config.Extra, err = json.Marshal(p)
	return err
}

// endFlags are how long a run is, at the end of a command.
var endFlags = regexp.MustCompile(`( --(epochs|steps)[ =][0-9]+)+$`)

// MoveEnd gives a run that is resumed settings with another end, and has its command
// repeat the whole; goOn is the command that goes on with what this one began. A run that
// has been at its end was judged there, and goes on with what it had then: so does one that
// repeats it. Where the learning rate follows the end, the steps so far were made on the
// way to the old one. Otherwise the command gets pinned: flags for settings that a run of the new
// length would choose differently.
func (p *Provenance) MoveEnd(from *train.Checkpoint, settings *train.Settings, goOn, pinned string) error {
	end := fmt.Sprintf(" --epochs %d", settings.Epochs)
	if settings.Steps > 0 {
		end = fmt.Sprintf(" --steps %d", settings.Steps)
	}
	switch at, old := &from.State, &from.Settings; {
	case madeAllSteps(at, old):
		p.Command += " && " + goOn + end
	case old.FollowsEnd() && at.Step > 0:
		p.Command += fmt.Sprintf(" --stop-at %d && %s%s", at.Step, goOn, end)
	default:
		p.Command = strings.TrimSuffix(endFlags.ReplaceAllString(p.Command, ""), pinned) + pinned + end
	}
	p.Settings = *settings
	return p.Store(from.Config)
}
