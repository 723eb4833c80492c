package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/linear"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// Names of member kinds.
const (
	sftMember     = "sft"
	linearMember  = "linear"
	lexicalMember = "lexical"
)

// memberKind is a kind of model that train custom trains, as a single model or as a member of a
// fusion.
type memberKind struct {
	name, usage string
	linear      bool // the model has no layers
	// isDefault reports whether the default of --members for a data set includes this kind, if its
	// models can be trained on the data and summed.
	isDefault func(*seq.Manifest) bool
	// check returns an error if the kind cannot be trained on the data. If check is nil, the kind
	// can be trained on all data.
	check func(*seq.Spec) error
	// flags returns flags of train custom and their values, for a model with layers. Explicit flags
	// take precedence.
	flags func(*seq.Manifest) [][2]string
	// seeds returns the default of --seeds for members of a fusion, or "" for one member with the
	// seed of --seed. It may be nil, which means "".
	seeds func(*seq.Manifest) string
}

// memberKinds lists the kinds in the order in which they are trained.
var memberKinds = []*memberKind{
	{name: linearMember, usage: "n-gram counts", linear: true, check: linear.Suited,
		isDefault: func(*seq.Manifest) bool { return true }},
	{name: lexicalMember, usage: "SFT with n-gram embeddings, for text", check: checkLexicalData, flags: lexicalFlags,
		seeds: lexicalSeeds, isDefault: isText},
	{name: sftMember, usage: "SFT alone", isDefault: func(m *seq.Manifest) bool { return !isText(m) }},
}

// isText reports whether the tokens are text. A few n-grams of text often determine the class,
// whereas n-grams of sound, images and DNA need more rows than most data sets have.
func isText(m *seq.Manifest) bool {
	return slices.Contains([]string{"byte", "hf", "words"}, tokenizers.TypeOf(m.Tokenizer))
}

// checkLexicalData returns an error if the tokens have no ids, and therefore no n-grams.
func checkLexicalData(s *seq.Spec) error {
	if s.FeatureNames != nil {
		return errors.New("a lexical model needs token ids, found tokens with features")
	}
	return nil
}

// Epochs of a lexical model. On many rows, a second epoch overfits.
const (
	lexicalRows   = 8000 // minimum training rows for which one epoch is enough
	lexicalEpochs = "3"  // epochs for fewer rows
)

// lexicalFlags returns the flags of a model with embeddings of n-grams. On words, attention does not
// increase the accuracy: docs/experiments/2026-11-28-texts.md.
func lexicalFlags(m *seq.Manifest) [][2]string {
	ngrams, sampled := "tokens:1-2:2^18", "0"
	if isBytes(m) {
		ngrams, sampled = "bytes:3-6+2:2^20", "16"
	}
	flags := [][2]string{{"ngrams", ngrams}, {"batch", "16"}, {"lr", "0.002"}, {"schedule", "linear"},
		{"final-rate", "0.02"}, {"convolutions", "7"}, {"k", sampled}}
	if m.Splits["train"].Rows >= lexicalRows {
		return append(flags, [2]string{"epochs", "1"})
	}
	// On few rows, accuracy often increases again after some evaluations.
	return append(flags, [2]string{"epochs", lexicalEpochs}, [2]string{"patience", "0"})
}

// isBytes reports whether the tokens are bytes.
func isBytes(m *seq.Manifest) bool {
	return tokenizers.TypeOf(m.Tokenizer) == (tokenizers.Byte{}).Type()
}

// maxSeedTokens is the maximum number of training tokens for which members with three seeds fit into
// half of defaultTime on two cores.
const maxSeedTokens = 1_500_000

// lexicalSeeds returns three seeds for fewer than lexicalRows rows with at most maxSeedTokens tokens in total,
// unless the tokens are bytes. Otherwise it returns "". On few rows the predictions of lexical models differ
// with the seed, and their sum is more accurate: docs/experiments/2026-11-28-texts.md.
func lexicalSeeds(m *seq.Manifest) string {
	split := m.Splits["train"]
	if isBytes(m) || split.Rows >= lexicalRows || float64(split.Rows)*split.Lengths.Mean > maxSeedTokens {
		return ""
	}
	return "1,2,3"
}

// checkData returns an error if the kind cannot be trained on the data.
func (k *memberKind) checkData(s *seq.Spec) error {
	if k.check == nil {
		return nil
	}
	return k.check(s)
}

// defaultTime is the default of --time.
const defaultTime = 5 * time.Minute

// membersFlags returns the flags --members and --time of train custom, or nil for another task.
func membersFlags(task *lra.Task) []cli.Flag {
	if task.Name != lra.CustomName {
		return nil
	}
	var kinds []string
	for _, k := range memberKinds {
		kinds = append(kinds, fmt.Sprintf("%s (%s)", k.name, k.usage))
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "members", DefaultText: "by the data",
			Usage: "train `KIND,…` and sum their logits: " + strings.Join(kinds, ", ")},
		&cli.DurationFlag{Name: "time", DefaultText: "5m for several members",
			Usage: "choose the number of steps to finish within `TIME`"},
	}
}

// joinKinds formats kinds as a value of --members.
func joinKinds(kinds []*memberKind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return strings.Join(names, ",")
}

// selectKinds returns the kinds of --members. Without the flag, it returns the kinds of the models that
// --resume finds in --out, or the default kinds of the data, with sft in place of lexical if --init-from is set.
// A single kind is trained in --out itself.
func selectKinds(c *cli.Context, m *seq.Manifest) ([]*memberKind, error) {
	out := c.String("out")
	switch resumed := c.Bool("resume"); {
	case c.IsSet("members"):
		kinds, err := parseKinds(c, c.String("members"))
		if began := startedMembers(out); err == nil && resumed && began != "" && began != joinKinds(kinds) {
			err = fmt.Errorf("--members %s: the run was started with %s, and a resumed run cannot change it",
				c.String("members"), began)
		}
		return kinds, err
	case resumed && isPlainRun(out):
		return []*memberKind{findKind(sftMember)}, nil
	case resumed && fusionRecord(out).Members != "":
		return parseKinds(c, fusionRecord(out).Members)
	case resumed && startedKinds(out) != nil:
		return startedKinds(out), nil
	}
	spec := m.Spec("")
	kinds := slices.DeleteFunc(slices.Clone(memberKinds), func(k *memberKind) bool {
		return !k.isDefault(m) || k.checkData(&spec) != nil
	})
	if m.Splits == nil || !kinds[0].linear || !canFuse(m.Task) {
		return []*memberKind{findKind(sftMember)}, nil
	}
	if c.IsSet("init-from") {
		kinds = replaceLexical(kinds)
	}
	return kinds, nil
}

// replaceLexical replaces the lexical kind by sft, because embeddings of n-grams cannot come from an initial model.
func replaceLexical(kinds []*memberKind) []*memberKind {
	kinds = slices.Clone(kinds)
	for i, k := range kinds {
		if k.name == lexicalMember {
			kinds[i] = findKind(sftMember)
		}
	}
	return slices.Compact(kinds) // sft follows lexical
}

// checkInitial returns an error if --init-from is set for a new run with lexical models, which cannot start from
// another model.
func checkInitial(c *cli.Context, kinds []*memberKind) error {
	lexical := slices.ContainsFunc(kinds, func(k *memberKind) bool { return k.name == lexicalMember })
	if !lexical || !c.IsSet("init-from") || c.Bool("resume") {
		return nil
	}
	return usage(c,
		"--members %s: the embeddings of n-grams of a lexical model cannot come from --init-from: expected "+
			"--members %s", joinKinds(kinds), joinKinds(replaceLexical(kinds)))
}

// canFuse reports whether the logits of a task's models can be summed.
func canFuse(task string) bool {
	return slices.Contains([]string{seq.Classification, seq.Retrieval, seq.MultiLabel, seq.Regression}, task)
}

// linearRecord returns the provenance of the linear model of the fusion in the directory out, or an
// empty provenance if there is no such model.
func linearRecord(out string) (p provenance.Provenance) {
	if cfg, err := config.Read(filepath.Join(out, linearMember, "config.json")); err == nil {
		p, _ = provenance.Of(cfg)
	}
	return p
}

// parseKinds reads a value of --members.
func parseKinds(c *cli.Context, text string) ([]*memberKind, error) {
	words := strings.Split(text, ",")
	kinds := slices.DeleteFunc(slices.Clone(memberKinds), func(k *memberKind) bool {
		return !slices.Contains(words, k.name)
	})
	if len(kinds) != len(words) {
		return nil, usage(c, "--members %q: expected one or more of %s, without repeats", text, joinKinds(memberKinds))
	}
	return kinds, nil
}

// findKind returns the kind with the given name. It panics if memberKinds has no such kind.
func findKind(name string) *memberKind {
	return memberKinds[slices.IndexFunc(memberKinds, func(k *memberKind) bool { return k.name == name })]
}

// isPlainRun reports whether a directory has the run of a single model with layers, or the folders
// of its seeds.
func isPlainRun(dir string) bool {
	for _, pattern := range []string{"last", "seed-*/last"} {
		if paths, _ := filepath.Glob(filepath.Join(escapeGlob(dir), pattern)); paths != nil {
			return true
		}
	}
	return false
}

// startedKinds returns the kinds of the models in a directory's folders, or nil unless at least
// one of the models has layers.
func startedKinds(dir string) []*memberKind {
	kinds := slices.DeleteFunc(slices.Clone(memberKinds), func(k *memberKind) bool {
		paths, _ := filepath.Glob(filepath.Join(escapeGlob(dir), k.name+"*"))
		return !slices.ContainsFunc(paths, func(path string) bool {
			kind, _, _ := strings.Cut(filepath.Base(path), "-")
			return kind == k.name && isRun(path)
		})
	})
	if !slices.ContainsFunc(kinds, func(k *memberKind) bool { return !k.linear }) {
		return nil
	}
	return kinds
}

// membersInCommand matches the flag --members in a recorded command.
var membersInCommand = regexp.MustCompile(` --members (\S+)`)

// startedMembers returns the members of the run of train custom in dir, or of its first seed, or "" if dir has no such
// run.
func startedMembers(dir string) string {
	if members := fusionRecord(dir).Members; members != "" {
		return members
	}
	seeds, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "seed-*"))
	for _, dir := range append([]string{dir}, seeds...) {
		from, err := train.LoadCheckpoint(dir)
		if err != nil {
			continue
		}
		p, err := provenance.Of(from.Config)
		if err != nil || !strings.HasPrefix(p.Command, "sftseq train custom ") {
			return ""
		}
		if found := membersInCommand.FindStringSubmatch(p.Command); found != nil {
			return found[1]
		}
		return sftMember // the default kind of a single model
	}
	return ""
}

// memberContext returns a copy of the context of train custom. Setting flags of the copy does not
// change the original.
func memberContext(c *cli.Context) (*cli.Context, error) {
	set := flag.NewFlagSet(c.Command.Name, flag.ContinueOnError)
	out := cli.NewContext(c.App, set, c)
	out.Command = c.Command
	for _, f := range c.Command.Flags {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
	}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) {
			if err := out.Set(name, fmt.Sprint(c.Value(name))); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// setUnset sets each of the flags, pairs of a name and a value, unless it is set already.
func setUnset(c *cli.Context, flags [][2]string) error {
	for _, f := range flags {
		if c.IsSet(f[0]) {
			continue
		}
		if err := c.Set(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}
