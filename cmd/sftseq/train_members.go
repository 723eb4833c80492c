package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// trainAlone trains a single model with layers in --out, or one per seed of --seeds.
func trainAlone(c *cli.Context, m *seq.Manifest, kind *memberKind) error {
	if err := checkTime(c); err != nil {
		return err
	}
	if kind.flags != nil && m.Splits != nil && !c.Bool("resume") { // a checkpoint records the flags
		if err := setUnset(c, kind.flags(m)); err != nil {
			return err
		}
	}
	if m.Splits != nil && !c.Bool("resume") {
		if out := filepath.Clean(c.String("out")); isRun(out) && !c.IsSet("seeds") {
			return alreadyRun(out)
		}
		seeds, err := seedsOf(c)
		if err != nil {
			return err
		}
		within, err := chooseChunks(c, m, seeds[0], kind.name, c.Duration("time"))
		if err != nil {
			return err
		}
		if c.IsSet("time") {
			if err := planSteps(c, m, seeds[0], kind.name, within/time.Duration(len(seeds))); err != nil {
				return err
			}
		}
	}
	return trainTask(c, lra.CustomRun(m, runFlagsOf(c)))
}

// member is a model with layers in a fusion, with the seed of its run.
type member struct {
	kind *memberKind
	name string // name of its folder in --out
	seed uint64
	c    *cli.Context // context with the flags of the kind
}

// fusedRun is a run of several models whose logits are summed.
type fusedRun struct {
	*cli.Context
	kinds    []*memberKind
	out      string
	set      *seq.Dataset
	members  []*member
	flags    []provenance.Flag // flags of the whole run
	deadline time.Time         // time by which the training of the models with layers should end
	kernels  string            // sentence on the kernels of the last model with layers
	printed  []string          // lines that [fusedRun.isNew] has received
}

// isNew reports whether a line about a member is not empty and differs from the lines of earlier members. A nil
// fusedRun has no earlier members.
func (f *fusedRun) isNew(line string) bool {
	if f == nil || line == "" {
		return line != ""
	}
	if slices.Contains(f.printed, line) {
		return false
	}
	f.printed = append(f.printed, line)
	return true
}

// trainMembers trains models in folders of --out, the linear model first, and fits the weights of
// their summed logits. --resume continues a stopped run.
func trainMembers(c *cli.Context, m *seq.Manifest, kinds []*memberKind) error {
	f := &fusedRun{Context: c, kinds: kinds, out: filepath.Clean(c.String("out"))}
	start := time.Now()
	err := f.check(m)
	if err == nil {
		err = f.restoreFlags()
	}
	f.flags = setFlags(c)
	if err == nil {
		err = f.setDefaultSeeds(m)
	}
	if err == nil {
		err = f.plan(m)
	}
	if err = ranksOf(c).agree(err); err != nil { // no rank writes before all have checked --out
		return err
	}
	if err := f.prepareAll(m); err != nil {
		return err
	}
	if err := f.trainLinear(); err != nil {
		return err
	}
	within := defaultTime
	if c.IsSet("time") {
		within = c.Duration("time")
	}
	f.deadline = time.Now().Add(layersTime(within, time.Since(start)))
	for i, member := range f.members {
		if finished, err := f.trainMember(m, i, member); err != nil || !finished {
			return err
		}
	}
	return ranksOf(c).runOnFirst(f.fuse)
}

// layersTime returns the time for the models with layers: the rest of the limit of --time, but at least
// half of the limit. A linear model of many long rows, such as images, can take longer than the whole
// limit.
func layersTime(limit, elapsed time.Duration) time.Duration { return max(limit-elapsed, limit/2) }

// prepareAll prepares a run of each kind of model with layers, and discards it. Errors in flags such
// as --device, --memory or --init-from are therefore reported before any model is trained.
func (f *fusedRun) prepareAll(m *seq.Manifest) error {
	if f.Bool("resume") && f.hasStarted() {
		return nil // the first attempt prepared all kinds
	}
	for _, k := range f.kinds {
		if k.linear {
			continue
		}
		first := f.members[slices.IndexFunc(f.members, func(m *member) bool { return m.kind == k })]
		c, err := memberContext(first.c)
		if err == nil {
			err = c.Set("resume", "false")
		}
		if err == nil {
			err = prepareChoice(c, m, first.seed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns an error for flags, folders or data that cannot be used. Otherwise it opens the data set.
func (f *fusedRun) check(m *seq.Manifest) error {
	c, text := f.Context, joinKinds(f.kinds)
	if err := checkOut(f.out); err != nil {
		return err
	}
	fusion, err := sft.ReadFusion(f.out)
	switch {
	case err != nil:
		return err
	case c.NArg() > 0:
		return noArguments(c)
	case c.String("out") == "":
		return usage(c, "--out is empty: expected a directory")
	case c.IsSet("stop-at") && c.Int("stop-at") < 1:
		return badFlag(c, "stop-at", "a step from 1")
	case c.IsSet("seed") && c.IsSet("seeds"):
		return usage(c, "--seed and --seeds exclude each other")
	case isRun(f.out) && c.Bool("resume") && fusion == nil:
		return resumesOneModel(f.out, text)
	case isRun(f.out) && !c.Bool("resume"):
		return alreadyRun(f.out)
	case !c.Bool("resume") && f.hasStarted():
		return fmt.Errorf("%s already contains a run of --members %s: continue it with --resume, or choose another "+
			"--out",
			shellQuote(f.out), text)
	case c.Bool("resume") && !f.hasFolder():
		return provenance.NothingToResume(f.out, "a folder of one of the models "+strings.ReplaceAll(text, ",", ", "),
			func(dir string) bool { return provenance.HasRuns(dir, strings.Split(text, ",")...) })
	case c.String("data") == "":
		return usage(c, "--data is missing: expected a data set directory (create one with sftseq data convert)")
	case !canFuse(m.Task):
		return usage(c, "--members %s: expected one prediction for each row, found the task %s: --members %s",
			text, m.Task, sftMember)
	case m.Splits["val"].Rows == 0:
		return fmt.Errorf("%s: expected a validation split to fit the weights of the models (convert more rows of each "+
			"class, or name the splits with data convert --split-column, or use --members %s)", c.String("data"),
			linearMember)
	}
	spec := m.Spec("")
	for _, k := range f.kinds {
		if err := k.checkData(&spec); err != nil {
			return fmt.Errorf("%s: %w (train with --members %s)", c.String("data"), err, sftMember)
		}
	}
	if err := checkTime(c); err != nil {
		return err
	}
	if f.set, err = seq.OpenDataset(c.String("data")); err != nil {
		return err
	}
	if dir := f.linearDir(); isRun(dir) {
		return checkLinearRun(dir, f.set)
	}
	return nil
}

func (f *fusedRun) linearDir() string { return filepath.Join(f.out, linearMember) }

// hasStarted reports whether a folder in --out has a model or a checkpoint of a member.
func (f *fusedRun) hasStarted() bool { return isRun(f.linearDir()) || startedKinds(f.out) != nil }

// hasFolder reports whether --out has a folder of one of the kinds. The folder may have no model yet,
// because the run may have been stopped before it wrote the first model.
func (f *fusedRun) hasFolder() bool {
	return slices.ContainsFunc(f.kinds, func(k *memberKind) bool {
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(f.out), k.name+"*"))
		return paths != nil
	})
}

// setDefaultSeeds sets --seeds to the default of the kind, if a single kind has layers and neither
// --seed nor --seeds is set. A run that was started with one seed continues with this seed.
func (f *fusedRun) setDefaultSeeds(m *seq.Manifest) error {
	kinds := slices.DeleteFunc(slices.Clone(f.kinds), func(k *memberKind) bool { return k.linear })
	if len(kinds) != 1 || kinds[0].seeds == nil || f.IsSet("seed") || f.IsSet("seeds") ||
		isRun(filepath.Join(f.out, kinds[0].name)) {
		return nil
	}
	if seeds := kinds[0].seeds(m); seeds != "" {
		return f.Set("seeds", seeds)
	}
	return nil
}

// plan lists the models with layers, and sets the flags of each kind. A kind with a started run
// uses the recorded flags.
func (f *fusedRun) plan(m *seq.Manifest) error {
	seeds, err := seedsOf(f.Context)
	if err != nil {
		return err
	}
	for _, k := range f.kinds {
		if k.linear {
			continue
		}
		c, err := memberContext(f.Context)
		if err == nil {
			err = errors.Join(c.Set("members", k.name), c.Set("seeds", ""))
		}
		// The checkpoints of a started kind record the flags.
		if err == nil && !(f.Bool("resume") && slices.Contains(startedKinds(f.out), k)) {
			err = f.kindFlags(c, m, k)
		}
		if err != nil {
			return err
		}
		t := lra.CustomRun(m, runFlagsOf(c)) // reports flag errors before the first model is trained
		if _, _, err := flaggedSettings(c, t, t.Presets[0], seeds[0]); err != nil {
			return err
		}
		for _, seed := range seeds {
			name := k.name
			if f.String("seeds") != "" {
				name = fmt.Sprintf("%s-%d", k.name, seed)
			}
			f.members = append(f.members, &member{kind: k, name: name, seed: seed, c: c})
		}
	}
	return nil
}

// trainLinear trains the linear model, unless its folder already has a model.
func (f *fusedRun) trainLinear() error {
	if !f.kinds[0].linear {
		return nil
	}
	return ranksOf(f.Context).runOnFirst(func() error {
		dir := f.linearDir()
		if isRun(dir) {
			return nil
		}
		fit, err := newLinearFit(f.Context, f.set, dir)
		if err != nil {
			return err
		}
		fit.record = f.addTo(fit.record)
		m, report, err := fit.fit()
		if err == nil {
			err = fit.save(m)
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f.App.Writer, "%s: %s, model in %s\n", linearMember, describeLinear(report), dir)
		return err
	})
}

// trainMember trains a model with layers to its end, or continues its run. finished is false if
// --stop-at ended the run.
func (f *fusedRun) trainMember(m *seq.Manifest, i int, next *member) (finished bool, err error) {
	c, dir := next.c, filepath.Join(f.out, next.name)
	started, err := f.startedCheckpoint(next.kind)
	if err != nil {
		return false, err
	}
	resumed := f.Bool("resume") && isRun(dir)
	if err := c.Set("resume", fmt.Sprint(resumed)); err != nil {
		return false, err
	}
	if !resumed {
		if err := f.kindFlags(c, m, next.kind); err != nil {
			return false, err
		}
	}
	switch {
	case resumed:
	case started != nil:
		err = setUnset(c, recordedFlags(&started.Settings))
		if err == nil && measuresChunks(c, m) {
			err = c.Set("chunks", formatChunks(started.Config.Chunks))
		}
	default:
		err = f.planMember(c, m, i, next)
	}
	if err != nil {
		return false, err
	}
	r, err := newTrainRun(c, lra.CustomRun(m, runFlagsOf(c)), dir, next.seed, started, f)
	if err != nil {
		return false, err
	}
	r.member, r.resume = next.name, f.resumeCommand()
	if err := r.run(c); err != nil {
		return false, err
	}
	f.kernels = describeKernels(r.kernels, r.trainer.Kernels())
	return r.trainer.Finished(), nil
}

// kindFlags sets the flags of a new model's kind. It leaves out the epochs if --steps or --epochs is set.
func (f *fusedRun) kindFlags(c *cli.Context, m *seq.Manifest, k *memberKind) error {
	if k.flags == nil {
		return nil
	}
	flags := slices.DeleteFunc(k.flags(m), func(flag [2]string) bool {
		return flag[0] == "epochs" && (c.IsSet("steps") || c.IsSet("epochs"))
	})
	return setUnset(c, flags)
}

// planMember sets the flags that depend on the available time and on the fusion.
func (f *fusedRun) planMember(c *cli.Context, m *seq.Manifest, i int, next *member) error {
	if err := setUnset(c, [][2]string{{"select", memberSelection(&config.Config{Task: m.Task})}, {"patience", fmt.Sprint(memberPatience)}}); err != nil {
		return err
	}
	remaining := max(0, time.Until(f.deadline)) / time.Duration(len(f.members)-i)
	remaining, err := chooseChunks(c, m, next.seed, next.kind.name, remaining)
	if err != nil {
		return err
	}
	if plansSteps(f.Context) {
		if err := planSteps(c, m, next.seed, next.kind.name, remaining); err != nil {
			return err
		}
	}
	s := lra.CustomRun(m, runFlagsOf(c)).Presets[0].Settings
	rows := m.Splits["train"].Rows
	return setUnset(c, [][2]string{{"eval-every",
		fmt.Sprint(evalEvery(&s, rows, m.Splits["val"].Rows, stepsOf(&s, rows)))}})
}

// memberSelection returns the metric that selects the saved model of a member. The fusion scales
// logits, so the metric is the loss of scaled logits if the task measures it, otherwise the loss.
func memberSelection(c *config.Config) string {
	if train.Measures(c, train.ScaledLoss) {
		return train.ScaledLoss
	}
	return "loss"
}

// startedCheckpoint returns the checkpoint of a started run of the kind, with any seed, or nil.
func (f *fusedRun) startedCheckpoint(kind *memberKind) (*train.Checkpoint, error) {
	for _, other := range f.members {
		if other.kind != kind {
			continue
		}
		from, err := loadCheckpoint(f.Context, filepath.Join(f.out, other.name))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return from, err
		}
	}
	return nil, nil
}

// recordedFlags returns the flags for the length, selection, patience and evaluations of a run with
// these settings. The first one is the flag of the length.
func recordedFlags(s *train.Settings) [][2]string {
	length := [2]string{"epochs", fmt.Sprint(s.Epochs)}
	if s.Steps > 0 {
		length = [2]string{"steps", fmt.Sprint(s.Steps)}
	}
	return [][2]string{length, {"select", s.Select}, {"patience", fmt.Sprint(s.Patience)},
		{"eval-every", fmt.Sprint(s.EvalEvery)}}
}

// resumeCommand returns the command that resumes the run.
func (f *fusedRun) resumeCommand() string {
	names := append([]string{"seeds", "time", "data", "init-from"}, settingsFlagNames(f.Context)...)
	return fmt.Sprintf("sftseq train custom --members %s%s --out %s --resume%s", joinKinds(f.kinds),
		formatSetFlags(f.Context, names...), shellQuote(f.out),
		formatSetFlags(f.Context, "device", "precision", "threads", "memory", "tensorboard"))
}

// seedFlag matches the flag --seed in a command.
var seedFlag = regexp.MustCompile(` --seed \d+`)

// reproduceCommand returns the command that repeats the run, derived from the recorded command of the
// first model with layers. It returns "" if the models with layers are of different kinds, if the command
// cannot be read, or if the run's end was moved.
func (f *fusedRun) reproduceCommand() string {
	first := f.members[0]
	if slices.ContainsFunc(f.members, func(m *member) bool { return m.kind != first.kind }) {
		return ""
	}
	cfg, err := config.Read(filepath.Join(f.out, first.name, "config.json"))
	if err != nil {
		return ""
	}
	p, err := provenance.Of(cfg)
	before, after, ok := strings.Cut(p.Command, " --out ")
	if err != nil || !ok || strings.Contains(p.Command, "&&") { // a run whose end was moved has several commands
		return ""
	}
	before = strings.Replace(before, " --members "+first.kind.name, " --members "+joinKinds(f.kinds), 1)
	if seeds := f.String("seeds"); seeds != "" {
		before = seedFlag.ReplaceAllString(before, " --seeds "+shellQuote(seeds))
	}
	return before + " --out " + shellQuote(f.out+"-again") + shellWord.ReplaceAllString(after, "")
}

// setRecordedData sets --data of a resumed fusion to the path that a member recorded.
func setRecordedData(c *cli.Context) error {
	if !c.Bool("resume") || c.String("data") != "" || isPlainRun(c.String("out")) {
		return nil
	}
	for _, k := range memberKinds {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(c.String("out")), k.name+"*"))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if data := recordedData(path); data != "" {
				return c.Set("data", data)
			}
		}
	}
	return nil
}

// runOnFirst runs f on the first rank, while the other ranks wait.
func (r *ranks) runOnFirst(f func() error) (err error) {
	if r == nil {
		return f()
	}
	if r.first() {
		err = f()
	}
	return r.agree(err)
}

// agree waits for all ranks and returns the same error on each if any rank has one.
func (r *ranks) agree(err error) error {
	if r == nil {
		return err
	}
	_, err = distributed.Agree(r.World, err, 0)
	return err
}

// broadcast returns the first rank's value on all ranks.
func (r *ranks) broadcast(value uint64) (uint64, error) {
	if r == nil {
		return value, nil
	}
	values, err := distributed.Agree(r.World, nil, value)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}
