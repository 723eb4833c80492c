//go:build cgo

package vk

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

var updateTables = flag.Bool("update", false, "rewrite the tables of Mesa's compiler for AMD GPUs")

// radvFamilies are GPUs of GCN 4, GCN 5, RDNA 2 and RDNA 3.
var radvFamilies = []string{"polaris10", "vega10", "navi21", "gfx1100"}

// radvResult is the environment variable that names the result file of the process for a family.
const radvResult = "SFTSEQ_TEST_RADV_RESULT"

// compilation holds the statistics of all pipelines of a GPU family.
type compilation struct {
	Device, Driver string
	SharedBytes    int
	Pipelines      map[string]pipelineStatistics
	Failures       []string
	Unavailable    string // reason why the machine has no Vulkan, or ""
}

// pipelineStatistics are the compiler's statistics of a pipeline: numbers of registers and
// instructions, and bytes of shared memory and scratch.
type pipelineStatistics struct {
	VGPRs, SGPRs, SpilledVGPRs, SpilledSGPRs, LDS, Scratch, Instructions uint64
}

func (s pipelineStatistics) String() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d", s.VGPRs, s.SGPRs, s.SpilledVGPRs, s.SpilledSGPRs, s.LDS, s.Scratch,
		s.Instructions)
}

const statisticsHeader = "pipeline\tVGPRs\tSGPRs\tspilled VGPRs\tspilled SGPRs\tLDS\tscratch\tinstructions"

// TestRADV compiles every pipeline with Mesa's compiler for AMD GPUs, which does not need the
// hardware. It fails if a pipeline does not compile, spills registers or exceeds the shared memory.
// It also fails if a shader has no pipeline, or if the statistics differ from a table in testdata/radv that
// was written with the same version of Mesa.
func TestRADV(t *testing.T) {
	if path := os.Getenv(radvResult); path != "" {
		text := must.Get(json.Marshal(compileAll(t)))(t)
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		return
	}
	skipInReruns(t)
	testenv.Long(t, "it compiles every pipeline for each family of GPUs")
	drivers, _ := filepath.Glob("/usr/share/vulkan/icd.d/radeon_icd*.json")
	if len(drivers) == 0 {
		testenv.Missing(t, "Mesa's RADV", errors.New("/usr/share/vulkan/icd.d has no radeon_icd*.json"))
	}
	for _, family := range radvFamilies {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			got := compileFamily(t, family, drivers[0])
			if got.Unavailable != "" {
				testenv.Missing(t, "Vulkan's loader", errors.New(got.Unavailable))
			}
			got.check(t, family)
			path := filepath.Join("testdata", "radv", family+".txt")
			if *updateTables {
				must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o777))
				must.Succeed(t, atomicfile.WriteBytes(path, []byte(got.table())))
			}
			got.compare(t, string(must.Get(os.ReadFile(path))(t)))
		})
	}
}

// compileFamily runs TestRADV in a separate process, whose driver compiles for the family, and
// returns its result.
func compileFamily(t *testing.T, family, driver string) *compilation {
	path := filepath.Join(t.TempDir(), "result.json")
	c := exec.Command(os.Args[0], "-test.run=^TestRADV$")
	c.Env = append(os.Environ(), radvResult+"="+path, "RADV_FORCE_FAMILY="+family, "VK_ICD_FILENAMES="+driver,
		"VK_DRIVER_FILES="+driver, "MESA_SHADER_CACHE_DISABLE=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r compilation
	must.Succeed(t, json.Unmarshal(must.Get(os.ReadFile(path))(t), &r))
	if want := strings.ToUpper(family); r.Unavailable == "" && !strings.Contains(r.Device, want) {
		t.Fatalf("the device is %s, want %s", r.Device, want)
	}
	return &r
}

// compileAll compiles the pipelines for the best device, in float32 and, if possible, in mixed
// precision.
func compileAll(t *testing.T) *compilation {
	r := &compilation{Pipelines: map[string]pipelineStatistics{}}
	for _, mixed := range []bool{false, true} {
		c, err := openCompiler(mixed)
		if errors.Is(err, ErrUnavailable) {
			r.Unavailable = err.Error()
			return r
		}
		if err != nil && mixed { // the family has no cooperative matrices
			t.Log(err)
			return r
		}
		must.Succeed(t, err)
		r.Device, r.Driver, r.SharedBytes = c.physical.info.Name, c.physical.info.Driver, c.limits.sharedBytes
		for _, d := range radvPipelines(t, c.gpu) {
			r.add(c, d)
			// The shaders must also compile with subgroups of 32, which another driver may choose.
			if c.limits.subgroupMin <= 32 && c.limits.subgroupMax > 32 && d.subgroup == 0 {
				d.subgroup = 32
				r.add(c, d)
			}
		}
		must.Succeed(t, c.Close())
	}
	return r
}

func (r *compilation) add(c *compiler, d dispatch) {
	key := pipelineKey(d)
	if _, known := r.Pipelines[key]; known {
		return
	}
	m, err := c.compile(d)
	if err != nil {
		r.Failures = append(r.Failures, fmt.Sprintf("%s: %v", key, err))
		return
	}
	var s pipelineStatistics
	for name, field := range map[string]*uint64{"VGPRs": &s.VGPRs, "SGPRs": &s.SGPRs, "Spilled VGPRs": &s.SpilledVGPRs,
		"Spilled SGPRs": &s.SpilledSGPRs, "LDS size": &s.LDS, "Scratch size": &s.Scratch,
		"Instructions": &s.Instructions} {
		value, ok := m[name]
		if !ok {
			r.Failures = append(r.Failures, fmt.Sprintf("%s: the compiler reports no %q", key, name))
		}
		*field = value
	}
	r.Pipelines[key] = s
}

// check reports failures, spilled registers, too much shared memory, and shaders without a pipeline,
// except shaders with cooperative matrices. These checks apply to every version of the compiler.
func (r *compilation) check(t *testing.T, family string) {
	for _, f := range r.Failures {
		t.Error(f)
	}
	shaders, spilling := map[string]bool{}, map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(r.Pipelines)) {
		name, _, _ := strings.Cut(key, " ")
		shaders[name] = true
		s := r.Pipelines[key]
		if s.LDS > uint64(r.SharedBytes) {
			t.Errorf("%s: %d bytes of shared memory, want at most %d", key, s.LDS, r.SharedBytes)
		}
		if s.SpilledVGPRs+s.SpilledSGPRs+s.Scratch > 0 {
			spilling[name] = append(spilling[name],
				fmt.Sprintf("%s: %d vector and %d scalar registers, %d bytes of scratch",
					key, s.SpilledVGPRs, s.SpilledSGPRs, s.Scratch))
		}
	}
	for name, found := range spilling {
		t.Errorf("%d pipelines of %s spill registers, want none:\n\t%s", len(found), name,
			strings.Join(found, "\n\t"))
	}
	sources := must.Get(filepath.Glob("../shaders/*.comp"))(t)
	for _, path := range sources {
		name := strings.TrimSuffix(filepath.Base(path), ".comp")
		if !shaders[name] && !strings.Contains(name, "coopmat") {
			t.Errorf("no pipeline of %s was compiled", name)
		}
	}
}

// table returns the statistics in the format of the files in testdata/radv.
func (r *compilation) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by go test ./vk -run RADV -update\n# driver: %s\n%s\n", r.Driver, statisticsHeader)
	for _, key := range slices.Sorted(maps.Keys(r.Pipelines)) {
		fmt.Fprintf(&b, "%s\t%v\n", key, r.Pipelines[key])
	}
	return b.String()
}

// compare reports differences from a committed table. Differences fail the test only if the
// same driver compiled the pipelines of the table.
func (r *compilation) compare(t *testing.T, text string) {
	report := t.Errorf
	if _, driver, _ := strings.Cut(text, "# driver: "); !strings.HasPrefix(driver, r.Driver+"\n") {
		driver, _, _ = strings.Cut(driver, "\n")
		t.Logf("the driver is %s, but the table was written with %s: differences do not fail the test", r.Driver,
			driver)
		report = t.Logf
	}
	before := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if key, statistics, ok := strings.Cut(lines.Text(), "\t"); ok && lines.Text() != statisticsHeader {
			before[key] = statistics
		}
	}
	const next = "run go test ./vk -run RADV -update"
	differ := 0
	for _, key := range slices.Sorted(maps.Keys(r.Pipelines)) {
		now, old := r.Pipelines[key].String(), before[key]
		delete(before, key)
		if now == old {
			continue
		}
		if differ++; old == "" {
			report("%s is new: %s", key, now)
		} else {
			report("%s:\n\twas %s\n\tis  %s", key, old, now)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		differ++
		report("%s is no longer compiled", key)
	}
	if differ > 0 {
		report("%d pipelines differ from the table, whose columns are %s: %s", differ,
			strings.ReplaceAll(statisticsHeader, "\t", ", "), next)
	}
}

// TestRADVPage checks that docs/performance.md states the counts and maxima of the committed tables.
func TestRADVPage(t *testing.T) {
	skipInReruns(t)
	page := string(must.Get(os.ReadFile("../docs/performance.md"))(t))
	for _, family := range radvFamilies {
		text := string(must.Get(os.ReadFile(filepath.Join("testdata", "radv", family+".txt")))(t))
		var pipelines, backward, forward, others, shared, spills int
		for line := range strings.Lines(text) {
			key, numbers, _ := strings.Cut(line, "\t")
			var vgprs, sgprs, spilled, spilledSGPRs, lds, scratch, instructions int
			if n, _ := fmt.Sscan(numbers, &vgprs, &sgprs, &spilled, &spilledSGPRs, &lds,
				&scratch, &instructions); n != 7 {
				continue // skip the header
			}
			pipelines++
			maxVGPRs := &others
			switch name, _, _ := strings.Cut(key, " "); name {
			case "attention":
				maxVGPRs = &forward
			case "attention_backward_keys", "attention_backward_queries":
				maxVGPRs = &backward
			}
			*maxVGPRs, shared, spills = max(*maxVGPRs, vgprs), max(shared, lds), spills+spilled+spilledSGPRs
		}
		want := fmt.Sprintf(" | %d | %d | %d | %d | %d,%03d | %d |\n", pipelines, backward, forward, others,
			shared/1000, shared%1000, spills)
		if _, row, ok := strings.Cut(page, "\n| "+family+" ("); pipelines == 0 || !ok ||
			!strings.Contains(row[:strings.Index(row, "\n")+1], want) {
			t.Errorf("docs/performance.md: the row of %s differs, want%s", family, want)
		}
	}
}
