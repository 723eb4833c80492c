package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/internal/bench"
	"github.com/sftseq/sftseq/internal/tensor/conformance"
	"github.com/sftseq/sftseq/internal/testenv"
	"github.com/sftseq/sftseq/vk"
)

func TestDevices(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	status, out, _ := program(nil, "devices") // standard error may name slow steps
	rows := strings.Split(out, "\n")
	if status != exitOK || !strings.HasPrefix(rows[0], "device ") ||
		!strings.HasSuffix(rows[0], "  float32 multiply-add  mixed product") {
		t.Fatalf("got status %d, output\n%s\nwant status %d and a header from device to float32 multiply-add and "+
			"mixed product", status, out, exitOK)
	}
	list, unavailable := device.List()
	for i, d := range list {
		if !strings.HasPrefix(rows[i+1], d.Device+" ") || !strings.Contains(rows[i+1], d.Name) {
			t.Errorf("row %q does not name the device %v", rows[i+1], d)
		}
	}
	if unavailable != nil && !strings.Contains(out, unavailable.Error()) {
		t.Errorf("%q is missing in %s", unavailable, out)
	}
	refuse(t, exitUsage, `"extra"`, "", "devices", "extra")
}

func TestDevicesJSON(t *testing.T) {
	list, unavailable := device.List()
	lines := strings.Split(strings.TrimSpace(succeed(t, "", "devices", "--quick", "--json")), "\n")
	if unavailable != nil {
		var last struct{ Unavailable string }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil ||
			last.Unavailable != unavailable.Error() {
			t.Errorf("got the last line %s, error %v; want unavailable: %q", lines[len(lines)-1], err, unavailable)
		}
		lines = lines[:len(lines)-1]
	}
	results := decodeLines[bench.DeviceResult](t, strings.Join(lines, "\n"))
	if len(results) != len(list) {
		t.Fatalf("%d lines, want a line for each of %d devices", len(results), len(list))
	}
	for i, r := range results {
		if r.Device != list[i].Device || r.Name != list[i].Name || r.Kind == "" || r.Copy != 0 || r.FMA != 0 ||
			r.Product != 0 || r.Failure != "" {
			t.Errorf("got result %+v, want %s without measurements", r, list[i].Device)
		}
		if r.Device != "cpu" && (r.API == "" || r.Driver == "" || r.Memory <= 0 || r.SubgroupSize <= 0 ||
			r.Limits.SharedBytes <= 0) {
			t.Errorf("got result %+v, want API, driver, memory, subgroup size and shared memory", r)
		}
	}
}

func TestCheck(t *testing.T) {
	testenv.NoRace(t, "compares with slow loops in float64")
	out := succeed(t, "", "check", "--device", "cpu", "--only", "gelu")
	rows := strings.Split(out, "\n")
	if !strings.HasPrefix(rows[0], "kernel ") || !strings.HasPrefix(rows[1], "gelu ") ||
		!strings.HasSuffix(rows[1], " pass") || !strings.HasPrefix(rows[2], "gelu_backward ") ||
		!strings.HasPrefix(rows[4], "cpu (") || !strings.HasPrefix(rows[5], "sftseq ") {
		t.Errorf("got output\n%swant gelu and gelu_backward, then the device and the version", out)
	}
	results := decodeLines[conformance.Summary](t, succeed(t, "", "check", "--device", "cpu", "--json"))
	if len(results) < 30 {
		t.Errorf("%d kernels, want at least 30", len(results))
	}
	cases := 0
	for _, k := range results {
		cases += k.Cases
		if k.Kernel == "" || k.Failed != 0 || k.Worst < 0 || k.Worst > 1 || len(k.Errors) != 0 {
			t.Errorf("got kernel %+v, want a name, no failures, and the worst error from 0 to 1", k)
		}
	}
	all := 0
	for _, s := range conformance.Select("") {
		all += len(s.Cases)
	}
	equal(t, cases, all)
	if out := succeed(t, "", "check", "--device", "cpu", "--only", "sumsquares"); strings.Count(out, " pass\n") != 1 ||
		!strings.Contains(out, "\nsumsquares ") {
		t.Errorf("got output\n%swant that only sumsquares passes", out)
	}
	refuse(t, exitUsage, `--only "abacus": no kernel has this text in its name: expected a part of `+
		strings.Join(conformance.Kernels(), ", ")+"; see", "", "check", "--only", "abacus")
	refuse(t, exitUsage, "--device \"abacus\": expected one of", "", "check", "--device", "abacus")
}

func TestCheckVulkan(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	testenv.NeedVulkan(t, vk.Open, vk.Options{}) // the validation layer also checks the calls of the program
	out := succeed(t, "", "check", "--device", "vulkan", "--only", "gelu")
	if !strings.Contains(out, "\nvulkan:0 (") || strings.Count(out, " pass\n") != 2 {
		t.Errorf("got output\n%swant that two kernels pass on vulkan:0", out)
	}
}

// TestValidationFails checks that a command fails if the validation layer reports a message about
// its devices, including messages while a device is closed. The test enables best-practice advice, which
// these commands trigger.
func TestValidationFails(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	testenv.NeedVulkan(t, vk.Open, vk.Options{})
	t.Setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT")
	out, errs := exits(t, exitError, `{"tokens":[1,2,3]}`, "predict", "--model",
		goldenPath("pre"), "--device", "vulkan")
	contains(t, out, `"logits"`)
	contains(t, errs, "\nvalidation: ", "sftseq: closing vulkan:0 (")
	if status, _, errs := program(nil, "devices"); status != exitError || !strings.Contains(errs, "validation: ") {
		t.Errorf("devices: got status %d, standard error\n%s\nwant status %d and a validation message", status, errs,
			exitError)
	}
}

func TestPrecision(t *testing.T) {
	predict := []string{"predict", "--model", goldenPath("pre")}
	refuse(t, exitUsage, "expected one of: fp32, mixed, auto", "", append(predict, "--precision", "fp64")...)
	refuse(t, exitUsage, "because the CPU computes in fp32", "",
		append(predict, "--precision", "mixed", "--device", "cpu")...)
	t.Setenv(deviceVariable, "cpu")
	refuse(t, exitUsage, deviceVariable+`=cpu: --precision "mixed": expected fp32 or auto`, "",
		append(predict, "--precision", "mixed")...)
	line := `{"tokens":[1,2,3]}`
	want := succeed(t, line, append(predict, "--device", "cpu")...)
	equal(t, succeed(t, line, append(predict, "--device", "cpu", "--precision", "auto")...), want)
}

// TestWithoutVulkan checks that the program works on the CPU without Vulkan's loader, without
// drivers, and if it was built without cgo. The error of --device vulkan names the missing part.
func TestWithoutVulkan(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	testenv.Long(t, "builds the program without cgo")
	t.Parallel()
	pure := filepath.Join(t.TempDir(), "sftseq")
	build := exec.Command("go", "build", "-o", pure, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	type missing struct {
		program, variable string
		want              []string
	}
	withoutCgo := missing{pure, "", []string{"built without cgo", "CGO_ENABLED=1"}}
	cases := []missing{withoutCgo}
	_, err := device.List()
	if err == nil || !strings.Contains(err.Error(), withoutCgo.want[0]) {
		cases = append(cases, missing{built(t), "SFTSEQ_VK_LOADER=/absent/libvulkan.so.1",
			[]string{"libvulkan.so.1", "apt install libvulkan1"}})
	}
	if err == nil { // the loader exists
		cases = append(cases, missing{cases[1].program, "VK_ICD_FILENAMES=/absent.json",
			[]string{"no driver", "apt install mesa-vulkan-drivers"}})
	}
	for _, c := range cases {
		run := func(args ...string) (string, error) {
			command := exec.Command(c.program, args...)
			command.Env = append(os.Environ(), deviceVariable+"=", c.variable)
			command.Stdin = strings.NewReader(`{"tokens":[1,2,3]}`)
			out, err := command.CombinedOutput()
			return string(out), err
		}
		predict := []string{"predict", "--model", goldenPath("pre")}
		if out, err := run(predict...); err != nil || !strings.Contains(out, `"logits"`) {
			t.Errorf("%q: predict: got error %v, output %s; want error <nil> and logits", c.variable, err, out)
		}
		list, err := run("devices")
		if err != nil {
			t.Errorf("%q: devices: %v: %s", c.variable, err, list)
		}
		for _, name := range []string{"vulkan", "vulkan:0"} {
			out, err := run(append(predict, "--device", name)...)
			if err == nil || strings.Contains(out, `"logits"`) {
				t.Errorf("%q: predict --device %s: got error %v, output %s; want an error and no logits", c.variable,
					name, err, out)
			}
			for _, want := range append(c.want, "no Vulkan device is available") {
				contains(t, out, want)
				contains(t, list, want)
			}
		}
	}
}

// TestResumeOnAnotherDevice checks that a run on the CPU can resume on Vulkan and then on the CPU
// again. Each resumed run prints exactly one warning.
func TestResumeOnAnotherDevice(t *testing.T) {
	testenv.NoRace(t, "the tests of package vk stress its calls")
	testenv.NeedVulkan(t, vk.Open, vk.Options{})
	dir := t.TempDir()
	data, run := filepath.Join(dir, "data"), filepath.Join(dir, "run")
	succeed(t, "", "data", "generate", "listops", "--out", data, "--train", "20", "--val", "5", "--test", "5",
		"--min-length", "20", "--max-length", "40")
	for i, device := range []string{"cpu", "vulkan", "cpu"} {
		args := []string{"train", "listops", "--data", data, "--out", run, "--batch", "4", "--hidden", "16",
			"--layers", "1", "--k", "4",
			"--eval-every", "100", "--schedule", "step", "--device", device, "--precision", "fp32", "--steps",
			[]string{"2", "4", "6"}[i]}
		if i > 0 {
			args = append(args, "--resume")
		}
		status, out, errs := program(nil, args...)
		if status != exitOK || !strings.Contains(out, "validation accuracy") || !strings.Contains(errs, device) ||
			strings.Count(errs, "warning: ") != min(i, 1) {
			t.Fatalf("got status %d, output\n%s\nand standard error\n%s\nwant status %d, a validation accuracy in "+
				"the output, and %s and %d warnings in standard error", status, out, errs, exitOK, device, min(i, 1))
		}
	}
	contains(t, readText(t, filepath.Join(run, "config.json")), `"precision": "fp32"`, "--device cpu --precision fp32")
	// Resuming a finished run computes nothing and changes nothing.
	checkpoint := readText(t, filepath.Join(run, "last", "checkpoint.safetensors"))
	out, errs := exits(t, exitOK, "", "train", "listops", "--data", data, "--out", run,
		"--resume", "--device", "vulkan")
	contains(t, out, "validation accuracy")
	notContains(t, errs, "warning: ")
	equal(t, readText(t, filepath.Join(run, "last", "checkpoint.safetensors")), checkpoint)
}
