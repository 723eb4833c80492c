package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/distributed"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/sft"
)

// maxRanks is the maximum number of ranks of --cluster.
const maxRanks = 1024

// defaultLatency is the approximate latency of an MPI message over TCP within a data centre.
const defaultLatency = 50 * time.Microsecond

// clusterFlags returns the flags of the cluster simulation.
func clusterFlags() []cli.Flag {
	return append(deviceFlags(device.FP32), advancedGroup(deviceGroup,
		&cli.StringFlag{Name: "cluster",
			Usage: fmt.Sprintf("simulate 1 to W ranks (at most %d) for `W,BANDWIDTH`, such as 64,10Gbit; "+
				",LATENCY may follow (default %v)", maxRanks, defaultLatency)},
		&cli.IntFlag{Name: "batch", Usage: "simulate steps of `ROWS`", DefaultText: "batch of the model's training"},
		&cli.IntFlag{Name: "length", Usage: "simulate rows of `TOKENS`",
			DefaultText: fmt.Sprintf("%d, or the maximum length of the model", bench.DefaultLength)},
		&cli.StringFlag{Name: "memory", Value: "4GiB", Usage: "limit the memory of the measurement to `SIZE`"})...)
}

// cluster is the parsed value of --cluster.
type cluster struct {
	ranks   int
	network distributed.Network
}

// parseCluster parses a value such as "64,10Gbit,20us".
func parseCluster(text string) (*cluster, error) {
	words := strings.Split(text, ",")
	if len(words) < 2 || len(words) > 3 {
		return nil, fmt.Errorf("expected W,BANDWIDTH or W,BANDWIDTH,LATENCY, such as 64,10Gbit,50us")
	}
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > maxRanks {
		return nil, fmt.Errorf("ranks %q: expected a number from 1 to %d", words[0], maxRanks)
	}
	out := &cluster{ranks: n, network: distributed.Network{Latency: defaultLatency.Seconds()}}
	if out.network.Bandwidth, err = parseBandwidth(words[1]); err != nil {
		return nil, err
	}
	if len(words) == 3 {
		latency, err := time.ParseDuration(words[2])
		if err != nil || latency < 0 || latency > time.Second {
			return nil, fmt.Errorf("latency %q: expected a time from 0s to 1s, such as 2us or 50us", words[2])
		}
		out.network.Latency = latency.Seconds()
	}
	return out, nil
}

// bandwidthPattern matches a number and its unit. Bytes need a capital B, because many readers take
// Gb for bits.
var bandwidthPattern = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(?:([kKMGT]?)(bit)|([kKMGT]?i?)(B))(?:/s)?$`)

// parseBandwidth parses a bandwidth such as 10Gbit, 1.2GB or 900MiB/s, and returns bytes per
// second.
func parseBandwidth(text string) (float64, error) {
	invalid := fmt.Errorf("bandwidth %q: expected the rate at which a rank sends, "+
		"such as 10Gbit (bits) or 1GB (bytes)", text)
	m := bandwidthPattern.FindStringSubmatch(text)
	if m == nil {
		return 0, invalid
	}
	unit, scale := m[2]+m[4], 1.
	if m[3] != "" {
		scale = 1. / 8
	}
	prefix, binary := strings.CutSuffix(unit, "i")
	step := 1000.
	if binary {
		step = 1024
	}
	for range strings.Index(" KMGT", cmp.Or(strings.ToUpper(prefix), " ")) {
		scale *= step
	}
	number, err := strconv.ParseFloat(m[1], 64)
	if bytes := number * scale; err == nil && bytes >= 1 && bytes <= 1e15 {
		return bytes, nil
	}
	return 0, fmt.Errorf("bandwidth %q: expected at least 1 byte and at most 1,000 TB per second", text)
}

// clusterInfo is the output of info --cluster.
type clusterInfo struct {
	Device       string                     `json:"device"` // measured device
	Batch        int                        `json:"batch"`
	Length       int                        `json:"length"`
	MicroBatches int                        `json:"micro_batches"`
	Bandwidth    float64                    `json:"bytes_per_s"` // bytes per second per rank
	Latency      float64                    `json:"latency_s"`
	Measured     distributed.ClusterFigures `json:"measured"`
	Steps        []distributed.ClusterStep  `json:"steps"`
}

// infoEdges is the number of edges per node in the graphs of the measurement.
const infoEdges = 8

// clusterWorkload returns the workload of a training step, according to the flags and the model.
func clusterWorkload(c *cli.Context, m *sft.Model) (*bench.Workload, error) {
	from, _ := provenance.Of(m.Config) // empty for a model of another program
	w := &bench.Workload{Config: m.Config, Settings: from.Settings, EdgesPerNode: infoEdges}
	if w.Settings.Validate() != nil { // a model of another program; the preset's values do not change the time
		w.Settings = lra.ListOps.Presets[0].Settings
		if !c.IsSet("batch") {
			return nil, usage(c, "--batch is missing: expected rows per step, because the model does not record its "+
				"batch size")
		}
	}
	w.Settings.ClassWeights = nil
	if c.IsSet("batch") {
		w.Settings.Batch = c.Int("batch")
	}
	if err := w.Settings.Validate(); err != nil {
		return nil, usage(c, "--%w", err)
	}
	minLength := m.Config.Sequences() // one token per sequence
	maxLength := minLength * m.Config.MaxLength
	w.Length = min(bench.DefaultLength, maxLength)
	if c.IsSet("length") {
		w.Length = c.Int("length")
	}
	if w.Length < minLength || w.Length > maxLength {
		return nil, usage(c, "--length %d: expected %d to %d tokens, the limits of the model", w.Length, minLength,
			maxLength)
	}
	var err error
	w.Memory, err = memoryLimit(c)
	return w, err
}

// simulate measures this machine and predicts the step time on several such machines.
func simulate(c *cli.Context, m *sft.Model) (*clusterInfo, error) {
	simulated, err := parseCluster(c.String("cluster"))
	if err != nil {
		return nil, invalidFlag(c, "cluster", err)
	}
	w, err := clusterWorkload(c, m)
	if err != nil {
		return nil, err
	}
	d, err := openDevice(c)
	if err != nil {
		return nil, err
	}
	defer closeDevice(c, d)
	w.Device, w.Memory = d, deviceMemoryLimit(c, d, w.Memory)
	measurement := bench.ClusterMeasurement{Workload: w}
	figures, err := measureFigures(c.Context, c.App.ErrWriter, measurement)
	if err != nil {
		return nil, err
	}
	batch := measurement.Batch()
	return &clusterInfo{Device: d.Name(), Batch: w.Settings.Batch, Length: w.Length,
		MicroBatches: len(batch.MicroBatches),
		Bandwidth:    simulated.network.Bandwidth, Latency: simulated.network.Latency, Measured: figures,
		Steps: distributed.PredictSteps(batch, figures, simulated.network, distributed.Doubling(simulated.ranks))}, nil
}

// measureFigures runs a measurement. It prints a line if the measurement takes longer than
// benchLineDelay.
func measureFigures(ctx context.Context, out io.Writer,
	m bench.ClusterMeasurement) (f distributed.ClusterFigures, err error) {
	err = newBenchProgress(out, 1).measure("steps of training", func() error {
		f, err = m.Figures(ctx)
		return err
	})
	return f, err
}

// write formats the simulation as text.
func (i *clusterInfo) write(w io.Writer) error {
	t := &lineWriter{w: w}
	t.add("\na step of training on several machines, simulated from one: %s", i.Device)
	t.add("batch %d of %d tokens, %d micro-batches; each rank sends %s/s, a message takes %s", i.Batch,
		i.Length, i.MicroBatches,
		decimalBytes(i.Bandwidth), bench.FormatSeconds(i.Latency))
	t.add("measured: %s per token of a single micro-batch, %s with a micro-batch in every slot, %s per update\n",
		bench.FormatSeconds(i.Measured.Alone), bench.FormatSeconds(i.Measured.Together),
		bench.FormatSeconds(i.Measured.Update))
	if t.err != nil {
		return t.err
	}
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	t = &lineWriter{w: tabs}
	t.add("ranks\tbusy\tstep\tsent by a rank\texchange\tefficiency\t")
	for _, s := range i.Steps {
		t.add("%d\t%d\t%s\t%s\t%.1f%%\t%.1f%%\t", s.Ranks, s.Busy, bench.FormatSeconds(s.Seconds),
			decimalBytes(s.SentBytes), 100*s.Exchange, 100*s.Efficiency)
	}
	if t.err != nil {
		return t.err
	}
	return tabs.Flush()
}

// decimalBytes formats a size in decimal units, such as "1.25 GB".
func decimalBytes(n float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= u.size {
			return bench.FormatDigits(n/u.size) + " " + u.name
		}
	}
	return fmt.Sprintf("%.0f B", n)
}
