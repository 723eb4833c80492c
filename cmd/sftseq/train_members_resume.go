package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// fusionRecord returns the provenance of a member of the fusion in dir. It chooses the first member
// whose provenance names the members of the fusion, and returns an empty provenance if there is none.
func fusionRecord(dir string) provenance.Provenance {
	for _, k := range memberKinds {
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(dir), k.name+"*", "config.json"))
		for _, path := range paths {
			cfg, err := config.Read(path)
			if err != nil {
				continue
			}
			if p, err := provenance.Of(cfg); err == nil && p.Members != "" {
				return p
			}
		}
	}
	return provenance.Provenance{}
}

// fusionFlagNames returns the names of the flags that determine the members of a fusion.
func fusionFlagNames(c *cli.Context) []string {
	return append([]string{"seeds", "time", "init-from"}, settingsFlagNames(c)...)
}

// setFlags returns the flags of a fusion that are set.
func setFlags(c *cli.Context) (flags []provenance.Flag) {
	for _, name := range fusionFlagNames(c) {
		if c.IsSet(name) {
			flags = append(flags, provenance.Flag{Name: name, Value: provenance.Path(fmt.Sprint(c.Value(name)))})
		}
	}
	return flags
}

// excludedFlags maps a flag to the flags that a resumed run may set in its place.
var excludedFlags = map[string][]string{"seed": {"seeds"}, "seeds": {"seed"}, "time": {"steps", "epochs"},
	"steps": {"epochs", "time"}, "epochs": {"steps", "time"}}

// restoreFlags sets the flags with which a resumed run was started, unless they are set. Members that
// have not started therefore get the same settings, and the printed command has all flags. The
// length is taken from the first started model with layers, because an earlier --resume may have
// changed it.
func (f *fusedRun) restoreFlags() error {
	if !f.Bool("resume") {
		return nil
	}
	var restored [][2]string
	for _, flag := range fusionRecord(f.out).Flags {
		if !slices.ContainsFunc(excludedFlags[flag.Name], f.IsSet) {
			restored = append(restored, [2]string{flag.Name, string(flag.Value)})
		}
	}
	isLength := func(flag [2]string) bool { return flag[0] == "steps" || flag[0] == "epochs" }
	if slices.ContainsFunc(restored, isLength) {
		settings, err := f.startedSettings()
		if err != nil {
			return err
		}
		if settings != nil {
			restored = append(slices.DeleteFunc(restored, isLength), recordedFlags(settings)[0])
		}
	}
	return setUnset(f.Context, restored)
}

// startedSettings returns the settings of the first started model with layers, or nil.
func (f *fusedRun) startedSettings() (*train.Settings, error) {
	for _, k := range f.kinds {
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(f.out), k.name+"*"))
		for _, path := range paths {
			from, err := train.LoadCheckpoint(path)
			switch {
			case err == nil:
				return &from.Settings, nil
			case !errors.Is(err, os.ErrNotExist):
				return nil, err
			}
		}
	}
	return nil, nil
}

// addTo adds the entries of the fusion to the provenance of a member. The fusion may be nil.
func (f *fusedRun) addTo(p provenance.Provenance) provenance.Provenance {
	if f != nil {
		p.Members, p.Flags = joinKinds(f.kinds), f.flags
	}
	return p
}
