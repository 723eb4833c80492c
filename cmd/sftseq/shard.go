package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/inference"
	"github.com/sftseq/sftseq/internal/shard"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

func shardFlags(verify string) []cli.Flag {
	return advancedGroup(outputGroup,
		&cli.StringFlag{Name: "shard", Usage: "compute shard `I/N`, I from 0, or auto, or auto/N",
			DefaultText: "of the Slurm array or Kubernetes job, else 0/1"},
		&cli.StringFlag{Name: "on-error",
			Usage:       "on an invalid row of a shard: fail, or `column`, which keeps the row with its error",
			DefaultText: errorFail},
		&cli.BoolFlag{Name: "verify", Usage: verify},
	)
}

// Values of --on-error.
const (
	errorFail   = "fail"
	errorColumn = "column"
)

// sharded reports whether a shard is requested. If --output is a file or is not set, --shard 0/1 does
// not request a shard: it states that this task of a job processes the whole input.
func sharded(c *cli.Context) bool {
	out := c.String("output")
	info, err := os.Stat(out)
	if strings.HasSuffix(out, "/") || err == nil && info.IsDir() || c.IsSet("on-error") {
		return true
	}
	return c.IsSet("shard") && !(c.String("shard") == "0/1" && (out == "" || namesFile(out)))
}

// namesFile reports whether an output path has the extension of a file, even of an unsupported
// format.
func namesFile(out string) bool {
	_, err := table.FormatOf(out)
	return (err == nil || table.UnsupportedAdvice(out) != "") && !strings.HasSuffix(out, "/")
}

// checkJob returns an error if a scheduler runs the program as one of several tasks and the flags request
// no shard, because each task would then process the whole input. --shard 0/1 permits this.
func checkJob(c *cli.Context) error {
	if variable := shard.JobVariable(os.Getenv); variable != "" && !sharded(c) && !c.IsSet("shard") {
		return usage(c, "%s is set, but --output is not a directory, so each task would process the whole input: "+
			"expected --output DIR/ for parts, or --shard 0/1", variable)
	}
	return nil
}

// shardJob is the shard selected by the flags.
type shardJob struct {
	shard.Shard
	dir    string // "" for a stream
	strict bool   // an invalid row is an error
}

func newShardJob(c *cli.Context) (j *shardJob, err error) {
	j = &shardJob{strict: true}
	if c.IsSet(csvSafe) {
		return nil, usage(c, "--%s: the parts of a shard are Arrow files, expected CSV or TSV output: omit --%[1]s, "+
			"or write a .csv file with --output", csvSafe)
	}
	if c.IsSet("shard") && c.String("shard") == "" {
		return nil, usage(c, "--shard \"\": expected I/N such as 0/8, auto or auto/N")
	}
	switch c.String("on-error") {
	case "", errorFail:
	case errorColumn:
		j.strict = false
	default:
		return nil, badFlag(c, "on-error", "fail or column")
	}
	switch out := c.String("output"); out {
	case "":
		return nil, usage(c, "--output is missing: expected a directory of parts, or - for a stream of Arrow")
	case "-":
	default:
		j.dir = out
		info, err := os.Stat(out)
		switch {
		case err == nil && !info.IsDir():
			return nil, usage(c, "--output %s: expected a directory of parts, found a file", out)
		case err != nil && namesFile(out):
			return nil, usage(c, "--output %s: expected a directory of parts, "+
				"found the name of a file (write %s/ for a directory)", out, out)
		}
	}
	if j.Shard, err = shard.Parse(c.String("shard"), os.Getenv); err != nil {
		return nil, usage(c, "--shard: %w", err)
	}
	return j, nil
}

// key returns the key of the job's part: all inputs that determine its content. options are the
// command's options that affect the output.
func (j *shardJob) key(c *cli.Context, kernels string, in *shard.Input, options any) (key *shard.Key, err error) {
	key = &shard.Key{Kernels: kernels, Shard: j.Shard}
	if key.Model, err = modelHash(c.String("model")); err != nil {
		return nil, err
	}
	if key.Input, err = in.Fingerprint(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(options)
	key.Options = string(text)
	return key, err
}

// modelHash hashes the files that determine the predictions of a model or an ensemble. It returns the hash of
// a fusion's config.json, if any, and a hash for each member, separated by spaces.
func modelHash(dir string) (string, error) {
	var hashes []string
	if f, err := sft.ReadFusion(dir); err != nil {
		return "", err
	} else if f != nil {
		hash, err := shard.HashOf(dir, "config.json")
		if err != nil {
			return "", err
		}
		hashes = append(hashes, hash)
	}
	for _, member := range membersOf(dir) {
		hash, err := shard.HashOf(member, "config.json", "model.safetensors", tokenizers.FileName)
		if err != nil {
			return "", err
		}
		hashes = append(hashes, hash)
	}
	return strings.Join(hashes, " "), nil
}

// begin starts the part of the job. It returns nil if the part exists already. Input files in the
// output directory, and an output directory within an input folder, are errors, because new parts would
// change the input.
func (j *shardJob) begin(c *cli.Context, key *shard.Key, named []string, in *shard.Input) (*shard.Part, error) {
	for _, name := range named {
		if isInside(name, j.dir+"/"+j.File()) {
			return nil, fmt.Errorf("%s: --output would be in the folder %s, which is also the input: choose another "+
				"folder", j.dir, name)
		}
	}
	for _, f := range in.Files {
		if isInside(j.dir, f.Path) {
			return nil, fmt.Errorf("%s: this input file is in --output: choose another folder, or a pattern that "+
				"excludes it", f.Path)
		}
	}
	part, rows, err := shard.Begin(j.dir, key)
	if err == nil && part == nil {
		fmt.Fprintf(c.App.Writer, "%s exists: %s, nothing to do\n", j.File(), countRows(rows))
	}
	return part, err
}

// predictShard predicts or embeds the rows of a shard.
func predictShard(c *cli.Context, scorer *sft.Scorer, model *inference.Model) error {
	j, err := newShardJob(c)
	if err != nil {
		return err
	}
	named := append([]string{c.String("input")}, c.Args().Slice()...)
	if slices.Contains(named, table.StandardInput) {
		if len(named) > 1 || j.dir != "" || j.Count > 1 {
			return usage(c, "--input -: standard input cannot be split into shards: expected --shard 0/1 --output -")
		}
		return predictStream(c, scorer.Config(), model, j)
	}
	in, err := shard.Find(c.Context, named, c.String("format"))
	if err != nil {
		return err
	}
	from, err := newTableInput(c, scorer.Config(), model.Sequences, in.Files[0].Path)
	if err != nil {
		return err
	}
	warnMissingShards(c, named...)
	from.Named = in.Named
	parts := in.Cut(j.Shard)
	for _, p := range parts {
		from.Path, from.Options.Format = p.Path, p.Format
		if err := from.checkDeclared(c, scorer.Config()); err != nil {
			return err
		}
	}
	var paths []string
	for _, f := range in.Files { // the parts of all shards have the same types
		paths = append(paths, f.Path)
	}
	from.Options.Format = c.String("format")
	if err := from.keepTypes(c, paths, "arrow"); err != nil {
		return err
	}
	open := func() (table.Reader, error) { return table.OpenParts(c.Context, parts, from.Options) }
	if j.dir == "" {
		_, err := j.write(c, scorer.Config(), model, from, c.App.Writer, nil, open)
		return err
	}
	types := map[string]string{}
	for name, f := range from.Types {
		types[name] = f.Type.String()
	}
	key, err := j.key(c, scorer.Kernels(), in, shardOptions{c.Command.Name, from.Sources, from.Tokens, from.ID,
		from.Keep, types, c.Bool("truncate"), c.Int("max-line"), !j.strict})
	if err != nil {
		return err
	}
	part, err := j.begin(c, key, named, in)
	if part == nil || err != nil {
		return err
	}
	defer part.Abort()
	rows, err := j.write(c, scorer.Config(), model, from, part, key, open)
	if err != nil {
		return err
	}
	return j.commit(c, part, rows)
}

// commit makes the part visible, and prints its name and its number of rows.
func (j *shardJob) commit(c *cli.Context, part *shard.Part, rows int) error {
	err := part.Commit()
	if err == nil {
		fmt.Fprintf(c.App.Writer, "%s: %s\n", j.File(), countRows(rows))
	}
	return err
}

// shardOptions has the options of predict and embed that affect a part.
type shardOptions struct {
	Command  string            `json:"command"`
	Sources  []string          `json:"sources"`
	Tokens   bool              `json:"tokens"`
	ID       string            `json:"id"`
	Keep     []string          `json:"keep"`
	Types    map[string]string `json:"types,omitempty"` // types of kept columns
	Truncate bool              `json:"truncate"`
	MaxLine  int               `json:"max_line"`
	Errors   bool              `json:"errors"` // whether errors are written to a column
}

// predictStream predicts or embeds the rows of the table on standard input.
func predictStream(c *cli.Context, config *sft.Config, model *inference.Model, j *shardJob) error {
	from, err := newTableInput(c, config, model.Sequences, table.StandardInput)
	if err != nil {
		return err
	}
	from.Options.Typed = from.copied()
	_, err = j.write(c, config, model, from, c.App.Writer, nil, func() (table.Reader, error) {
		return table.Open(c.Context, from.Path, from.Options)
	})
	return err
}

// write writes predictions or embeddings as Arrow and returns the number of rows. It writes a file if
// key is set, else a stream.
func (j *shardJob) write(c *cli.Context, config *sft.Config, model *inference.Model, from *tableInput, to io.Writer,
	key *shard.Key, open func() (table.Reader, error)) (count int, err error) {
	parser := model.Parser(tokenizerDir(c), from.Path)
	if err := parser.ReadsText(); err != nil && !from.Tokens && !from.Points {
		return 0, err
	}
	absent := &absentColumns{}
	from.Options.MissingColumn = absent.add
	in, err := open()
	if err != nil {
		return 0, err
	}
	if key == nil && table.ReadOnce(from.Path) {
		from.Types = table.StreamTypes(in, from.Options.Typed, false)
	}
	done, finish := func(int64) {}, func() {}
	if key != nil {
		p := newProgress(0, "scoring shard "+j.String(), "rows")
		done, finish = p.Add, p.Finish
	}
	rows, err := model.NewPart(to, &from.Table, key.Metadata(), key == nil, j.strict)
	if err != nil {
		return 0, errors.Join(err, in.Close())
	}
	err = rows.Predict(c.Context, parser, in, done)
	finish()
	if err == nil {
		err = rows.Close()
	}
	if err != nil {
		return 0, err
	}
	absent.warn(c.App.ErrWriter)
	if rows.Failed > 0 {
		fmt.Fprintf(c.App.ErrWriter, "warning: %d of %d rows have an error, the first: %s\n",
			rows.Failed, rows.Count, rows.First)
	}
	return rows.Count, nil
}

// verifyShards checks the parts of a job and writes its manifest. Missing parts are an error.
func verifyShards(c *cli.Context) error {
	if err := checkVerify(c, "input"); err != nil {
		return err
	}
	m, err := verifyParts(c, c.String("input"), nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%d of %d parts, %s, %d of them with an error: %s\n", m.Shards, m.Shards,
		countRows(m.Rows), m.Failed, shard.ManifestName)
	return nil
}

// checkVerify returns an error for flags that --verify does not use, because users would expect it to
// compare their values. input is the name of the flag that selects the data.
func checkVerify(c *cli.Context, input string) error {
	// SFTSEQ_DEVICE may set --device.
	allowed := []string{"verify", "output", "o", "shard", "model", input, "format", "split", "json", "device"}
	for _, name := range c.LocalFlagNames() {
		if !slices.Contains(allowed, name) {
			return usage(c, "--%s does not apply to --verify, which compares --output with --shard, --model and "+
				"--%s: omit --%[1]s", name, input)
		}
	}
	if c.String(input) == "" {
		for _, name := range []string{"format", "split"} {
			if c.IsSet(name) {
				return usage(c, "--%s needs --%s", name, input)
			}
		}
		if c.Args().Present() {
			return usage(c, "%s: expected --%s before more files", c.Args().First(), input)
		}
	}
	return nil
}

// verifyParts compares the parts in --output with each other and with the flags' values, and writes the
// manifest. Unless seen is nil, verifyParts calls it with each record. input is the path of the data; ""
// omits the comparison with the data.
func verifyParts(c *cli.Context, input string, seen func(arrow.Record) error) (*shard.Manifest, error) {
	dir := c.String("output")
	if dir == "" || dir == "-" {
		return nil, usage(c, "--verify needs --output, the directory of the parts")
	}
	count := 0
	if text := c.String("shard"); c.IsSet("shard") {
		n, found := strings.CutPrefix(text, "auto/")
		var err error
		if count, err = strconv.Atoi(n); err != nil || count < 1 || !found {
			return nil, badFlag(c, "shard", "auto/N with the number of shards, because --verify checks "+
				"all of them")
		}
	}
	var key shard.Key
	var err error
	if c.IsSet("model") {
		if key.Model, err = modelHash(c.String("model")); err != nil {
			return nil, err
		}
	}
	if input != "" {
		in, err := shard.Find(c.Context, append([]string{input}, c.Args().Slice()...), c.String("format"))
		if err != nil {
			return nil, err
		}
		if key.Input, err = in.Fingerprint(); err != nil {
			return nil, err
		}
	}
	return shard.Verify(dir, count, key, seen)
}
