// Package provenance records the origin of a run and its model: data, settings, the command that
// repeats the run, the device and the time. It also finds the run to resume and lists the
// differences between a run and a new start.
package provenance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// Provenance is the origin of a model, stored in "extra" of its config.json.
type Provenance struct {
	Sftseq    string         `json:"sftseq"`
	Command   string         `json:"command"` // command that repeats the run
	Preset    string         `json:"preset"`
	DataDir   Path           `json:"data_dir,omitempty"` // value of --data
	DataName  string         `json:"data_name"`
	Data      string         `json:"data_sha256"`            // hash of the splits' checksums
	InitFrom  Path           `json:"init_from,omitempty"`    // value of --init-from
	Members   string         `json:"members,omitempty"`      // kinds of all members of a fusion, stored in each member
	Flags     []Flag         `json:"flags,omitempty"`        // flags that started a fusion, stored in each member
	Linear    linear.Choice  `json:"linear,omitzero"`        // options that validation selected for a linear model
	TrainedOn []string       `json:"trained_on,omitempty"`   // splits, if more than the training split
	Precision string         `json:"precision,omitempty"`    // value of --precision
	Kernels   string         `json:"kernels,omitempty"`      // kernels at the start of the run, such as avx2
	Longest   int64          `json:"longest_row,omitempty"`  // length in tokens of the longest training row
	Shortest  int64          `json:"shortest_row,omitempty"` // length in tokens of the shortest training row
	Settings  train.Settings `json:"settings"`
}

// Flag is a flag of a command, with its value as text.
type Flag struct {
	Name  string `json:"name"`
	Value Path   `json:"value"`
}

// Of returns the provenance of a model. It returns an error if "extra" is missing or malformed, as in
// models of other programs.
func Of(config *sft.Config) (Provenance, error) {
	var p Provenance
	if err := json.Unmarshal(config.Extra, &p); err != nil {
		return Provenance{}, err
	}
	return p, nil
}

// Store writes the provenance to a configuration.
func (p *Provenance) Store(config *sft.Config) (err error) {
	config.Extra, err = p.JSON()
	return err
}

// JSON returns the value of "extra".
func (p *Provenance) JSON() (json.RawMessage, error) { return json.Marshal(p) }

// endFlags matches the flags for the length of a run, at the end of a command.
var endFlags = regexp.MustCompile(`( --(epochs|steps)[ =][0-9]+)+$`)

// MoveEnd changes the end of a resumed run and makes its command repeat the whole run. It stores the
// result in from.Config, the configuration of the checkpoint. The parameter resume is the command that
// resumes the run. There are three cases:
//
//   - If the run had already reached its end, it was evaluated there. The new command runs to the
//     old end and then resumes.
//   - If the learning rate depends on the end and the run has made steps, these steps followed the
//     old end. The new command stops at the step of the checkpoint and then resumes.
//   - Otherwise the new command has the new end and pinned, the flags for settings that a run of the
//     new length would choose differently.
func (p *Provenance) MoveEnd(from *train.Checkpoint, settings *train.Settings, resume, pinned string) error {
	end := fmt.Sprintf(" --epochs %d", settings.Epochs)
	if settings.Steps > 0 {
		end = fmt.Sprintf(" --steps %d", settings.Steps)
	}
	switch at, old := &from.State, &from.Settings; {
	case madeAllSteps(at, old):
		p.Command += " && " + resume + end
	case old.FollowsEnd() && at.Step > 0:
		p.Command += fmt.Sprintf(" --stop-at %d && %s%s", at.Step, resume, end)
	default:
		p.Command = strings.TrimSuffix(endFlags.ReplaceAllString(p.Command, ""), pinned) + pinned + end
	}
	p.Settings = *settings
	return p.Store(from.Config)
}
