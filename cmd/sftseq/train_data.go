package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// trainData is an open data set and its fingerprint.
type trainData struct {
	set         *seq.Dataset
	fingerprint string
}

// missingData returns the error for a missing --data, with a command that converts the task's data.
func missingData(c *cli.Context, task *lra.Task) error {
	return usage(c, "--data is missing: expected a data set directory: create one, for example with\n  %s\nand pass "+
		"that directory", task.Import.Example)
}

// trainingData opens --data or, without the flag, the preset's data set, which it generates on first use.
// A task without a generator requires --data.
func trainingData(c *cli.Context, task *lra.Task, p *lra.Preset) (*trainData, error) {
	dir := c.String("data")
	if dir == "" && task.Generator == nil {
		return nil, missingData(c, task)
	}
	if dir == "" {
		var err error
		if dir, err = cachedData(p); err != nil {
			return nil, err
		}
		if err := generateOnce(c, task, p, dir); err != nil {
			return nil, fmt.Errorf("generating %s in %s: %w", task.Name, dir, err)
		}
	}
	err := refuseTable(dir)
	if info, failed := os.Stat(dir); err == nil && failed == nil && !info.IsDir() {
		found := "a file"
		if format, _ := table.FormatOf(dir); format == "arrow" {
			found = "an Arrow file"
		}
		err = fmt.Errorf("%s: expected the folder of a data set, found %s: pass the folder of a data set "+
			"(sftseq data convert --from %s makes one from a table)", dir, found, shellQuote(dir))
	}
	if err != nil {
		if task.Import != nil {
			err = fmt.Errorf("%s: expected a data set of the task %s: create one, for example with\n  %s\nand pass "+
				"that directory", dir, task.Name, task.Import.Example)
		}
		return nil, fmt.Errorf("--data %w", err)
	}
	set, err := seq.OpenDataset(dir)
	if err != nil {
		return nil, err
	}
	return &trainData{set, set.Fingerprint()}, nil
}

// generateOnce generates the data set of a preset and measures its baselines, unless the data set exists.
func generateOnce(c *cli.Context, task *lra.Task, p *lra.Preset, dir string) error {
	o := p.Data
	set, err := makeOnce(c, task.Name, dir, o.Train+o.Val+o.Test,
		func(progress func(rows int64)) (*seq.Dataset, error) {
			o.Progress = progress
			return task.Generate(c.Context, dir, o)
		})
	if err == nil && set != nil {
		_, err = storeBaselines(c, set, "")
	}
	return err
}

// makeOnce makes a data set, or returns nil if the data set exists. If two programs make it
// concurrently, one waits for the other.
func makeOnce(c *cli.Context, name, dir string, rows int, generate func(progress func(rows int64)) (*seq.Dataset,
	error)) (*seq.Dataset, error) {
	for waiting := false; ; {
		if _, err := os.Stat(filepath.Join(dir, seq.ManifestName)); err == nil {
			return nil, nil
		}
		progress := newProgress(int64(rows), "generating", "rows")
		if !waiting {
			fmt.Fprintf(c.App.ErrWriter, "generating %s in %s\n", name, dir)
		}
		set, err := generate(progress.Add)
		progress.Finish()
		if errors.Is(err, seq.ErrExists) {
			return nil, nil
		}
		if !errors.Is(err, seq.ErrBusy) {
			return set, err
		}
		if !waiting {
			fmt.Fprintln(c.App.ErrWriter, "waiting for another program that is generating this data set")
		}
		waiting = true
		select {
		case <-c.Context.Done():
			return nil, c.Context.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// cachedData returns the path of a preset's data set in the cache.
func cachedData(p *lra.Preset) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for the data set (choose a data set with --data): %w", err)
	}
	return filepath.Join(cache, "sftseq", p.DataName), nil
}

// describeData sets the data-dependent parts of a model's configuration.
func describeData(m *sft.Config, set *seq.Dataset) error {
	err := m.DescribeDataset(set)
	if errors.Is(err, config.ErrNoNumbers) {
		return fmt.Errorf("%s has no numbers (number_names in dataset.json) to predict: convert the data with "+
			"--numbers COLUMN,…", set.Dir)
	}
	if errors.Is(err, config.ErrNoLabels) {
		return fmt.Errorf("%s has no labels (label_names in dataset.json), so there are no classes to learn: "+
			"convert the data again with --label and a column that contains labels", set.Dir)
	}
	var bad *config.Error
	if err != nil && !errors.As(err, &bad) {
		return fmt.Errorf("%s: %w", set.Dir, err)
	}
	return err
}

// redrawFunction returns the function that draws training rows anew, or nil without --fresh.
func redrawFunction(set *seq.Dataset, s *train.Settings) (func(epoch, row uint32) seq.Example, error) {
	if !s.Fresh {
		return nil, nil
	}
	redraw, err := lra.Redraw(set.Manifest, s.Seed)
	if err != nil {
		return nil, fmt.Errorf("--fresh: %s: %w", set.Dir, err)
	}
	return redraw, nil
}

// checkTask returns an error if the data do not fit a published task. The presets would train on
// any labelled data, but results would not be comparable. Data with a different name and equal
// properties cause a warning.
func checkTask(c *cli.Context, task *lra.Task, set *seq.Dataset) error {
	if !published(task) {
		return nil
	}
	want, err := task.Spec()
	if err != nil {
		return err
	}
	d := set.Spec()
	if !task.Matches(&d) || checkTokenizer(d.Tokenizer, want.Tokenizer) != nil {
		return fmt.Errorf("--data %s: expected data of the task %s, %s; found %q, %s\ntrain on your own data "+
			"with sftseq train custom --data %s",
			set.Dir, task.Name, describeSpec(&want), d.Name, describeSpec(&d), shellQuote(set.Dir))
	}
	if d.Name != task.Name {
		targets := ""
		switch {
		case task.Labels != nil:
			targets = " and the classes"
		case task.Numbers != nil:
			targets = " and the numbers"
		}
		fmt.Fprintf(c.App.ErrWriter, "warning: %s has the name %q, but the %s%s of %s: training it as that task\n",
			set.Dir, d.Name, readAs(&d), targets, task.Name)
	}
	return nil
}

// isRun reports whether a directory contains a run. A run that was killed before its first checkpoint does not count,
// because it begins again.
func isRun(dir string) bool {
	for _, name := range []string{"config.json", train.CheckpointFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// published reports whether a task is bound to particular data.
func published(task *lra.Task) bool {
	return task.Name != lra.CustomName && task.Name != lra.PretrainName
}

// describeSpec returns a summary of a data set's properties.
func describeSpec(s *seq.Spec) string {
	read := "the tokenizer " + cmp.Or(tokenizers.TypeOf(s.Tokenizer), "unknown")
	if s.FeatureNames != nil {
		read = fmt.Sprintf("the %d features %q", len(s.FeatureNames), shortList(s.FeatureNames, 12))
	}
	if s.Edged() {
		read += fmt.Sprintf(", edges with the %d features %q", len(s.EdgeFeatureNames),
			shortList(s.EdgeFeatureNames, 12))
	}
	if s.NumberNames != nil {
		return fmt.Sprintf("%s with %s and the numbers %q", s.Task, read, shortList(s.NumberNames, 12))
	}
	if s.LabelNames == nil {
		return fmt.Sprintf("%s with %s", s.Task, read)
	}
	return fmt.Sprintf("%s with %s and the classes %q", s.Task, read, shortList(s.LabelNames, 12))
}

// readAs returns the name of the property that defines the tokens: tokenizer or features.
func readAs(s *seq.Spec) string {
	if s.FeatureNames != nil {
		return "features"
	}
	return "tokenizer"
}

// chosenPrecision returns the value of --precision, or "" if it is not set.
func chosenPrecision(c *cli.Context) string {
	if !c.IsSet("precision") {
		return ""
	}
	return c.String("precision")
}

// resumeFlags sets --preset, and --data and --precision unless they are set, to the run's original
// values. It returns the provenance of the run.
func resumeFlags(c *cli.Context, task *lra.Task, dir string, from *train.Checkpoint) (*provenance.Provenance, error) {
	p, err := provenance.Of(from.Config)
	if err != nil {
		return nil, fmt.Errorf("cannot read the start command of the run from its checkpoint: %w", err)
	}
	if began, ok := strings.CutPrefix(p.Command, "sftseq "); ok && !strings.HasPrefix(began, commandOf(task)+" ") {
		command, _, _ := strings.Cut(began, " --")
		return nil, fmt.Errorf("%s contains a run of sftseq %s, which sftseq %s cannot resume: use sftseq %[2]s "+
			"--out %[4]s --resume, or choose another --out", dir, command, commandOf(task), shellQuote(dir))
	}
	if c.IsSet("preset") && c.String("preset") != p.Preset {
		return nil, fmt.Errorf("--preset %s: the run was started with %s, and a resumed run cannot change it",
			c.String("preset"), p.Preset)
	}
	if err := c.Set("preset", p.Preset); err != nil {
		return nil, err
	}
	if p.Precision != "" && !c.IsSet("precision") {
		if err := c.Set("precision", p.Precision); err != nil {
			return nil, err
		}
	}
	if c.String("data") == "" && p.DataDir != "" {
		return &p, c.Set("data", string(p.DataDir))
	}
	return &p, nil
}

// initConfig replaces the preset's architecture by the architecture of the model in --init-from, if
// set. Dropout, token dropping, mask rate and span, input window and training settings stay the preset's,
// but the initialisation of embeddings is cleared. Mask targets stay the preset's unless the model has
// some and the run predicts masked tokens; pooling stays the preset's if the task's head does not pool.
// The caller applies other flags later. kind is the task of the data.
func initConfig(c *cli.Context, kind string, cfg *sft.Config, settings *train.Settings) error {
	dir := c.String("init-from")
	if dir == "" {
		return nil
	}
	if c.IsSet("embedding-init") {
		return usage(c, "--embedding-init and --init-from exclude each other: the initial model already has embeddings")
	}
	source, err := sft.ReadModelConfig(dir)
	if runs := describeRuns(dir, "--init-from "); err != nil && runs != "" {
		err = errors.New(runs)
		if !slices.ContainsFunc(membersOf(dir), canStart) {
			err = fmt.Errorf("%s: none of its %d models can start another model: expected a model of sftseq pretrain "+
				"or of sftseq train custom --members %s", dir, len(membersOf(dir)), sftMember)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("--init-from: %w", err)
	case source.IsLinear():
		return fmt.Errorf("--init-from %s: a linear model has no layers to start from", dir)
	case source.NGrams != nil:
		return fmt.Errorf("--init-from %s: the initial model has embeddings of n-grams, which cannot be copied: "+
			"expected a model of sftseq pretrain or of sftseq train custom --members %s", dir, sftMember)
	}
	source.Task, source.Extra = cfg.Task, nil
	source.InputWindow, source.InputWindowTail = cfg.InputWindow, cfg.InputWindowTail
	source.DropToken, source.AttentionDropout = cfg.DropToken, cfg.AttentionDropout
	source.EmbeddingDropout, source.FeedForward = cfg.EmbeddingDropout, cfg.FeedForward
	source.MaskRate, source.MaskSpan = cfg.MaskRate, cfg.MaskSpan
	if source.MaskTargets == nil || cfg.Task != config.FillMask { // otherwise the head keeps the source's targets
		source.MaskTargets = cfg.MaskTargets
	}
	if of := (sft.Config{Task: cmp.Or(cfg.Task, kind)}); !of.Pools() {
		source.Pooling, source.PoolingSamples = cfg.Pooling, cfg.PoolingSamples
	}
	*cfg = *source
	settings.EmbeddingInit = ""
	return nil
}

// relationFlags returns an error for --relative or --sinusoid-dim if the model does not support it. On
// tokens with features, models have a sinusoid dimension only if they use sinusoids, not distances or edges.
func relationFlags(c *cli.Context, cfg *sft.Config) error {
	switch relative := c.String("relative"); {
	case c.IsSet("relative") && relative != cfg.Relative && cfg.Relative == config.EdgeRelation:
		return usage(c, "--relative %s: the data have edges: expected %s or %s, or %s where nodes have positions",
			relative, config.EdgeRelation, config.NoRelation, config.DistanceRelation)
	case c.IsSet("relative") && relative != cfg.Relative:
		return usage(c, "--relative %s: the tokens are an unordered set with positions (%s): expected %s or %s",
			relative, strings.Join(seq.PositionNames, ", "), config.DistanceRelation, config.NoRelation)
	case c.IsSet("sinusoid-dim") && cfg.HasFeatures() && cfg.Relative != config.SinusoidRelation:
		return usage(c, "--sinusoid-dim: expected a model with sinusoids, found the relation %s", cfg.Relative)
	}
	return nil
}

// startingModel returns a new model, with the weights of --init-from if set.
func startingModel(c *cli.Context, cfg *sft.Config, p provenance.Provenance) (*sft.Model, error) {
	if err := p.Store(cfg); err != nil {
		return nil, err
	}
	init := p.Settings.EmbeddingInit
	if cfg.HasFeatures() && (init == config.FourierInit || init == config.CodebookInit) {
		return nil, fmt.Errorf("--embedding-init %s: expected tokens with ids, found tokens with features, "+
			"which are not embedded", init)
	}
	m, err := callWithContext(c.Context, func() (*sft.Model, error) { return sft.NewModel(cfg, p.Settings.Seed), nil })
	if err != nil {
		return nil, err
	}
	switch p.Settings.EmbeddingInit {
	case config.FourierInit:
		m.FourierEmbeddings()
	case config.CodebookInit:
		if kind := tokenizers.TypeOf(cfg.Tokenizer); kind != new(tokenizers.AudioVQ).Type() {
			return nil, fmt.Errorf("--embedding-init codebook: expected tokens that stand for vectors "+
				"(--tokenizer audio-vq), found the tokenizer %s", kind)
		}
		t, err := tokenizers.New(cfg.Tokenizer)
		if err != nil {
			return nil, err
		}
		book := t.(*tokenizers.AudioVQ)
		if err := m.CodebookEmbeddings(book.Codebook(), p.Settings.Seed); err != nil {
			return nil, err
		}
	}
	if p.InitFrom == "" {
		return m, nil
	}
	source, err := loadWithContext(c.Context, string(p.InitFrom))
	if err != nil {
		return nil, err
	}
	if err := checkTokenizer(cfg.Tokenizer, source.Config.Tokenizer); err != nil {
		return nil, fmt.Errorf("--init-from %s: data set %s: %w", p.InitFrom, p.DataName, err)
	}
	fresh, err := m.CopyFrom(source)
	if err != nil {
		return nil, fmt.Errorf("--init-from %s: %w", p.InitFrom, err)
	}
	fmt.Fprintln(c.App.ErrWriter, describeStart(string(p.InitFrom), m, source, fresh))
	return m, nil
}

// describeStart describes which parameters were copied from another model and which are new, and
// why.
func describeStart(from string, m, source *sft.Model, fresh []config.Parameter) string {
	size := func(list []config.Parameter) (n int) {
		for _, p := range list {
			n += p.Size()
		}
		return n
	}
	all := m.Parameters.List
	text := fmt.Sprintf("%d of %d parameters from %s", size(all)-size(fresh), size(all), from)
	var names []string
	for _, p := range fresh {
		names = append(names, p.Name)
	}
	if names != nil {
		text += ", fresh: " + strings.Join(names, ", ") + headReason(m.Config, source.Config)
	}
	return text
}

// headReason returns the reason why a model cannot use the head of its initial model.
func headReason(c, source *sft.Config) string {
	if c.Task != source.Task {
		return fmt.Sprintf(" (its task is %s, the initial model's is %s)", c.Task, source.Task)
	}
	_, kind, here := task.Of(c).Outputs()
	_, _, there := task.Of(source).Outputs()
	if len(here) == 0 || len(there) == 0 {
		return fmt.Sprintf(" (it has %d %s, the initial model has %d)", c.NumLabels, kind, source.NumLabels)
	}
	known := 0
	for _, name := range here {
		if slices.Contains(there, name) {
			known++
		}
	}
	if known == len(here) && c.LabelNames != nil {
		return fmt.Sprintf(" (its %d %s are among the initial model's %d: to keep the head, convert the data with "+
			"--labels %s)",
			known, kind, len(there), shellQuote(joinLabels(there)))
	}
	return fmt.Sprintf(" (of its %d %s, %d are among the initial model's %d)", len(here), kind, known, len(there))
}

// resumeSettings replaces settings by the checkpoint's settings. Flags may change only the end of
// the run; any other difference is an error.
func resumeSettings(c *cli.Context, settings *train.Settings, from *train.Checkpoint) error {
	stored := from.Settings
	for _, name := range settingsFlagNames(c) {
		if !c.IsSet(name) || name == "steps" || name == "epochs" || name == "preset" {
			continue
		}
		s, m := stored, *from.Config
		if name == "seed" {
			s.Seed = c.Uint64("seed")
		}
		if err := cmp.Or(applyTrainFlag(c, name, &s, &m), applyChunkFlag(c, name, &m)); err != nil {
			return err
		}
		if !provenance.Same(s, stored) || !provenance.Same(&m, from.Config) {
			changes := strings.Join(slices.DeleteFunc([]string{provenance.Changed(stored, s),
				provenance.Changed(from.Config, &m)}, func(text string) bool { return text == "" }), ", ")
			return fmt.Errorf("--%s %v: the run was started with other settings (%s), and a resumed run "+
				"cannot change them: omit the flag, or start another run with another --out", name, c.Value(name), changes)
		}
	}
	end := *settings
	*settings = stored
	if c.IsSet("steps") {
		settings.Steps = end.Steps
	}
	if c.IsSet("epochs") {
		settings.Epochs = end.Epochs
		if !c.IsSet("steps") {
			settings.Steps = 0
		}
	}
	return nil
}

// moveEnd records the new end of a resumed run in its provenance, and returns the command that
// repeats the whole run.
func moveEnd(c *cli.Context, task *lra.Task, dir string, settings *train.Settings, from *train.Checkpoint,
	p *provenance.Provenance) (string, error) {
	if provenance.Same(settings, &from.Settings) {
		return p.Command, nil
	}
	if settings.Steps > 0 && settings.Steps < from.State.Step {
		return "", badFlag(c, "steps", "at least %d, the finished steps of the run", from.State.Step)
	}
	pinned := ""
	if task.Name == lra.CustomName {
		if pinned = fmt.Sprintf(" --eval-every %d", settings.EvalEvery); !settings.FollowsEnd() {
			pinned += fmt.Sprintf(" --step-size %d --decay-rate %v", settings.StepSize, settings.DecayRate)
		}
	}
	err := p.MoveEnd(from, settings, fmt.Sprintf("sftseq %s --out %s --resume%s", commandOf(task), repeatDir(c, dir),
		formatSetFlags(c, "device", "precision")), pinned)
	return p.Command, err
}

// otherData returns the error for a run that is resumed on data that differ from the data of its start.
func otherData(run, recorded, found string) error {
	if recorded == "" || sameFile(recorded, found) {
		return fmt.Errorf("%s was not trained on the rows that are now in %s: restore the data set, or start a new "+
			"run "+
			"with another --out", run, found)
	}
	return fmt.Errorf("%s was trained on %s, found other rows in %s: resume with --data %s, or start a new run with "+
		"another --out", run, recorded, found, shellQuote(recorded))
}
