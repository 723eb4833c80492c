package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
)

// shownShare is the minimum fraction of the kernels' total time for a row of its own in the profile.
const shownShare = 0.005

// markdown returns the report as Markdown.
func (r *results) markdown() string {
	p := &page{}
	r.header(p)
	p.add(r.partsTable())
	p.add(r.failuresTable())
	p.add(r.devicesTable())
	p.add(r.checkTable())
	p.add(r.goldenTable())
	p.add(r.listOpsTable())
	for i := range r.profiles {
		p.add(profileTable(&r.profiles[i]))
	}
	p.add(r.kernelsTable())
	p.add(r.presetsTable())
	p.add(r.lengthsTable())
	p.add(r.lossTable())
	return p.String()
}

// header adds the date, the versions, the system and the measured devices. It warns of reduced sizes and
// unreadable lines.
func (r *results) header(p *page) {
	for _, a := range r.systems {
		switch {
		case a.Says != "":
			p.line("%s", a.Says)
		default:
			p.line("%s, %s, %s", a.Date, a.Version, a.System)
		}
		if a.Quick {
			p.line("**Reduced sizes, to check that everything works: ignore the figures.**")
		}
	}
	var named []string
	for _, m := range r.listops {
		if !slices.Contains(named, m.Device) {
			named = append(named, m.Device)
			p.line("%s", m.Device)
		}
	}
	if r.truncated > 0 {
		p.line("Lines that could not be read: %d.", r.truncated)
	}
}

func (r *results) partsTable() *mdTable {
	t := newMDTable("Parts", "part", "result", "seconds", "planned", "at most", "note")
	for _, x := range r.parts {
		t.add(x.Name, x.Result, strconv.Itoa(x.Seconds), strconv.Itoa(x.Planned), strconv.Itoa(x.Limit), x.Note)
	}
	return t
}

func (r *results) failuresTable() *mdTable {
	t := newMDTable("Failed commands", "part", "command", "status", "error")
	for _, x := range r.failures {
		t.add(x.Part, "`"+x.Command+"`", strconv.Itoa(x.Status), x.Error)
	}
	return t
}

func (r *results) devicesTable() *mdTable {
	t := newMDTable("Devices", "device", "name", "kind", "driver", "API", "memory", "subgroup", "copy",
		"float32 multiply-add", "mixed product")
	for _, x := range r.devices {
		if x.Device == "" { // the line has the reason instead of a device
			continue
		}
		t.add(x.Row()...)
		if note := x.Note(); note != "" {
			t.notes = append(t.notes, note)
		}
	}
	return t
}

// checkTable returns a table with a row for all kernels and a row for each failed kernel.
func (r *results) checkTable() *mdTable {
	t := newMDTable("Every kernel compared with double precision", "kernel", "cases", "of the tolerance", "result")
	all := conformance.Summary{Kernel: fmt.Sprintf("all %d", len(r.checks))}
	for _, k := range r.checks {
		all.Cases += k.Cases
		all.Failed += k.Failed
		all.Worst = max(all.Worst, k.Worst)
		if k.Failed > 0 {
			t.add(k.Kernel, strconv.Itoa(k.Cases), fmt.Sprintf("%.0f%%", 100*k.Worst), k.Verdict())
			t.notes = append(t.notes, k.Notes()...)
		}
	}
	if all.Cases > 0 {
		t.add(all.Kernel, strconv.Itoa(all.Cases), fmt.Sprintf("%.0f%%", 100*all.Worst), all.Verdict())
	}
	return t
}

func (r *results) goldenTable() *mdTable {
	t := newMDTable("Models compared with double precision", "precision", "model", "lines", "logits", "gradient",
		"worst tensor", "losses", "of the tolerance", "result")
	flips := 0
	for _, g := range r.golden {
		t.add(append([]string{string(g.Precision)}, g.Row()...)...)
		if g.Error != "" {
			t.notes = append(t.notes, g.Golden+": "+g.Error)
		}
		flips += g.Flips
	}
	if flips > 0 {
		t.notes = append(t.notes, fmt.Sprintf(
			"In mixed precision the sampled tokens differed from the CPU's %d times, and were replaced by the CPU's.", flips))
	}
	return t
}

// pass returns the measured pass under its name in sftseq bench.
func (x *torchResult) pass() string {
	if x.What == "infer" {
		return bench.Forward
	}
	return x.What
}

func (x *torchResult) program() string {
	text := "PyTorch"
	if x.Model == "transformer" {
		text += ", full attention"
	}
	if x.Compiled {
		text += ", compiled"
	} else {
		text += ", eager"
	}
	if x.Device == "cpu" {
		text += ", on the CPU"
	}
	return text
}

// listOpsTable returns a table that compares sftseq with PyTorch on ListOps.
func (r *results) listOpsTable() *mdTable {
	t := newMDTable("The preset of ListOps", "what", "program", "precision", "tokens/s", "time", "memory",
		"sftseq fp32 is", "sftseq mixed is")
	for _, pass := range []string{bench.Train, bench.Forward} {
		ours := map[device.Precision]float64{}
		for _, m := range r.listops {
			if m.What == pass {
				ours[m.Precision] = m.TokensPerSec
				t.add(pass, "sftseq", string(m.Precision), bench.FormatDigits(m.TokensPerSec),
					bench.FormatSeconds(m.Seconds), bench.FormatBytes(m.PeakBytes), "", "")
			}
		}
		for _, x := range r.torch {
			if x.pass() == pass {
				t.add(pass, x.program(), x.Type, bench.FormatDigits(x.TokensPerSec),
					bench.FormatSeconds(x.Seconds), x.peak(),
					ratio(ours[device.FP32], x.TokensPerSec), ratio(ours[device.Mixed], x.TokensPerSec))
			}
		}
	}
	for _, m := range r.listops[:min(1, len(r.listops))] {
		t.notes = append(t.notes,
			fmt.Sprintf("Batches of %d sequences of %d tokens. The last columns: 2× in a row of PyTorch means that sftseq has twice the tokens/s.", m.Batch, m.Length))
	}
	return t
}

func (x *torchResult) peak() string {
	const giga = 1 << 30
	if x.PeakGiB == 0 {
		return "–"
	}
	return bench.FormatBytes(int64(x.PeakGiB * giga))
}

// ratio returns the quotient of two rates, such as "2.00×"; a dash if a rate is missing.
func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return "–"
	}
	return bench.FormatDigits(a/b) + "×"
}

// presetsTable returns a table of the five tasks of the Long Range Arena, with PyTorch's best result for
// the same task and pass if it was measured.
func (r *results) presetsTable() *mdTable {
	const none = "–"
	type measurement struct{ task, what string }
	best := map[measurement]torchResult{}
	var tasks []measurement // measured with PyTorch, in the order of the results
	for _, x := range slices.Concat(r.torch, r.taskTorch) {
		key := measurement{x.Task, x.pass()}
		if x.Model != "sft" || x.TokensPerSec <= best[key].TokensPerSec {
			continue
		}
		if _, known := best[key]; !known {
			tasks = append(tasks, key)
		}
		best[key] = x
	}
	figure := func(x torchResult) string {
		if x.TokensPerSec == 0 {
			return none
		}
		return fmt.Sprintf("%s (%s, %s)", bench.FormatDigits(x.TokensPerSec),
			strings.TrimPrefix(x.program(), "PyTorch, "), x.Type)
	}
	t := newMDTable("The presets of the Long Range Arena", "task", "what", "precision", "length", "batch", "tokens/s",
		"time", "memory", "PyTorch tokens/s", "sftseq is")
	measured := map[measurement]bool{}
	for _, m := range slices.Concat(r.listops, r.presets) {
		key := measurement{strings.TrimSuffix(filepath.Base(m.Config), ".json"), m.What}
		measured[key] = true
		t.add(key.task, key.what, string(m.Precision), strconv.Itoa(m.Length), strconv.Itoa(m.Batch),
			bench.FormatDigits(m.TokensPerSec), bench.FormatSeconds(m.Seconds), bench.FormatBytes(m.PeakBytes),
			figure(best[key]), ratio(m.TokensPerSec, best[key].TokensPerSec))
	}
	for _, key := range tasks {
		if x := best[key]; !measured[key] {
			t.add(key.task, key.what, none, strconv.Itoa(x.Length), strconv.Itoa(x.Batch), none,
				none, none, figure(x), none)
		}
	}
	return t
}

func (r *results) lengthsTable() *mdTable {
	t := newMDTable("Over length, one sequence at a time", "what", "precision", "length", "tokens/s", "time", "memory")
	for _, m := range r.lengths {
		t.add(m.What, string(m.Precision), strconv.Itoa(m.Length), bench.FormatDigits(m.TokensPerSec),
			bench.FormatSeconds(m.Seconds), bench.FormatBytes(m.PeakBytes))
	}
	return t
}

// profileTable returns a table with a row for each kernel with at least shownShare of the time, and a row
// for all other kernels together.
func profileTable(m *bench.ModelResult) *mdTable {
	t := newMDTable(fmt.Sprintf("Kernels of %s, %s", m.What, m.Precision), bench.ProfileColumns...)
	rest := bench.KernelShare{}
	total, others := 0.0, 0
	for _, k := range m.Kernels {
		total += k.Seconds
		if k.Share < shownShare {
			rest.Launches, rest.Seconds, rest.Share = rest.Launches+k.Launches,
				rest.Seconds+k.Seconds, rest.Share+k.Share
			others++
			continue
		}
		t.add(k.Row()...)
	}
	if others > 0 {
		rest.Kernel = fmt.Sprintf("%d others", others)
		t.add(rest.Row()...)
	}
	t.notes = append(t.notes, fmt.Sprintf("Kernels, run one at a time: %s. A run of batch %d, length %d: %s.",
		bench.FormatSeconds(total), m.Batch, m.Length, bench.FormatSeconds(m.Seconds)))
	return t
}

func (r *results) kernelsTable() *mdTable {
	t := newMDTable("Kernels alone", "precision", "kernel", "size", "time", "rate", "of peak")
	for _, k := range r.kernels {
		t.add(append([]string{string(k.Precision)}, k.Row()...)...)
	}
	for _, c := range r.ceilings {
		t.notes = append(t.notes, fmt.Sprintf("Measured with the kernels in %s: %s", c.Precision,
			bench.DescribeCeilings(c.Ceilings, 1)))
	}
	return t
}

func (r *results) lossTable() *mdTable {
	t := newMDTable("Training on ListOps", "precision", "batch", "steps", "seconds",
		"mean loss at the end", "difference from fp32")
	exact := 0.0
	for _, l := range r.losses {
		if l.Precision == device.FP32 {
			exact = l.Loss
		}
	}
	for _, l := range r.losses {
		difference := "–"
		if l.Precision != device.FP32 && exact > 0 {
			difference = fmt.Sprintf("%+.2f%%", 100*(l.Loss/exact-1))
		}
		t.add(string(l.Precision), strconv.Itoa(l.Batch), strconv.Itoa(l.Steps), bench.FormatDigits(l.Seconds),
			fmt.Sprintf("%.4f over %d steps", l.Loss, l.Last), difference)
	}
	return t
}

// page is a Markdown document.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"  \n", args...) }

// add prints a table unless it is empty.
func (p *page) add(t *mdTable) {
	if len(t.rows) > 1 || len(t.notes) > 0 {
		fmt.Fprintf(&p.Builder, "\n## %s\n", t.title)
	}
	if len(t.rows) > 1 {
		p.rows(t)
	}
	for _, note := range t.notes {
		p.WriteString("\n" + note + "\n")
	}
}

func (p *page) rows(t *mdTable) {
	p.WriteString("\n")
	width := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for n, row := range t.rows {
		for i, cell := range row {
			p.WriteString("| " + cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+1))
		}
		p.WriteString("|\n")
		if n == 0 {
			for _, w := range width {
				p.WriteString("|" + strings.Repeat("-", w+2))
			}
			p.WriteString("|\n")
		}
	}
}

// mdTable is a Markdown table, with notes below.
type mdTable struct {
	title string
	rows  [][]string
	notes []string
}

func newMDTable(title string, columns ...string) *mdTable {
	return &mdTable{title: title, rows: [][]string{columns}}
}

// add adds a row. Characters that would end a cell are replaced.
func (t *mdTable) add(row ...string) {
	for i := range row {
		row[i] = strings.NewReplacer("|", "/", "\n", " ").Replace(row[i])
	}
	t.rows = append(t.rows, row)
}
