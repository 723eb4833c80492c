// Package testenv skips tests that this machine cannot run, or that this kind of run does not need.
//
// A test that is skipped because the machine lacks a requirement is listed in the file that the
// variable SFTSEQ_LEFT_OUT names. make test prints this list at its end. With CI=true the test fails
// instead, unless make deps cannot install the requirement. Long and NoRace depend on the kind of run
// and skip even with CI=true.
//
// FuzzLimits limits the time and memory for an input of a fuzz target.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// Python is Debian's interpreter, which has the packages that make deps installs.
const Python = "/usr/bin/python3"

// Long skips a test if -short is set. With -short every package takes only seconds.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: " + why)
	}
}

// NoRace skips a test that is not useful under the race detector.
func NoRace(t testing.TB, why string) {
	t.Helper()
	if Race {
		t.Skip("left out under the race detector: " + why)
	}
}

// Missing skips a test because the machine lacks a requirement. With CI=true it fails the test.
func Missing(t testing.TB, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v; with CI=true no test may be left out", what, err)
	}
	Unavailable(t, what, err)
}

// Unavailable skips a test because the machine lacks a requirement that make deps cannot install.
// Unlike Missing it skips even with CI=true.
func Unavailable(t testing.TB, what string, err error) {
	t.Helper()
	// The cache of go test depends on the variables that a test reads. With a new file name, go test
	// therefore runs the skipped tests again: they are listed again, or executed if their requirements
	// were installed meanwhile.
	if list := os.Getenv("SFTSEQ_LEFT_OUT"); list != "" {
		line := what + "\t" + packageName() + "\t" + t.Name() + "\n"
		f, openErr := os.OpenFile(list, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666)
		if openErr != nil {
			t.Fatal(openErr)
		}
		defer f.Close()
		if _, writeErr := f.WriteString(line); writeErr != nil {
			t.Fatal(writeErr)
		}
	}
	t.Skipf("left out, needs %s: %v", what, err)
}

// packageName returns the path of the tested package within the module.
func packageName() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return path.Base(filepath.ToSlash(os.Args[0]))
	}
	return strings.TrimSuffix(strings.TrimPrefix(info.Path, info.Main.Path+"/"), ".test")
}

// NeedPrograms requires programs in PATH.
func NeedPrograms(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Missing(t, name, err)
		}
	}
}

// NeedFile requires a file or folder that make deps creates, such as an npm package.
func NeedFile(t testing.TB, what, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		Missing(t, what, err)
	}
}

// NeedRoot requires root privileges for the given reason.
func NeedRoot(t testing.TB, why string) {
	t.Helper()
	if os.Getuid() != 0 {
		Missing(t, "root", errors.New(why))
	}
}

// NeedData requires the variable SFTSEQ_DATA, a directory of published data sets. It returns the path of
// the given folder in it.
func NeedData(t testing.TB, folder string) string {
	t.Helper()
	data := os.Getenv("SFTSEQ_DATA")
	if data == "" {
		Missing(t, "SFTSEQ_DATA, the folder with "+folder+"/", errors.New("the variable is not set"))
	}
	return filepath.Join(data, folder)
}

// NeedTorch requires PyTorch and NumPy in [Python].
func NeedTorch(t testing.TB) {
	t.Helper()
	if err := importTorch(); err != nil {
		Missing(t, "python3-torch", err)
	}
}

var importTorch = sync.OnceValue(func() error {
	if out, err := exec.Command(Python, "-c", "import numpy, torch").CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot import numpy and torch: %w\n%s", Python, err, out)
	}
	return nil
})

// VulkanDevice is a device of package vk. The interface avoids an import cycle, because the tests of
// vk use this package.
type VulkanDevice interface {
	Close() error
	Messages() []string
}

// NeedVulkan opens a device of package vk under the validation layer, or calls Missing. Messages of
// the layer fail the test.
func NeedVulkan[Options any, Device VulkanDevice](t testing.TB, open func(Options) (Device, error), o Options) Device {
	t.Helper()
	return openVulkan(t, open, o, func(err error) { Missing(t, "Vulkan and its validation layer", err) })
}

// NeedMixed is like NeedVulkan for devices with cooperative matrices. Without such a device it skips
// the test even with CI=true, because older versions of lavapipe have no cooperative matrices.
func NeedMixed[Options any, Device VulkanDevice](t testing.TB, open func(Options) (Device, error), o Options) Device {
	t.Helper()
	return openVulkan(t, open, o, func(err error) { Unavailable(t, "a GPU with cooperative matrices", err) })
}

func openVulkan[Options any, Device VulkanDevice](t testing.TB, open func(Options) (Device, error), o Options,
	leaveOut func(error)) Device {
	t.Helper()
	t.Setenv("SFTSEQ_VK_VALIDATE", "1")
	d, err := open(o)
	if err != nil {
		leaveOut(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range d.Messages() {
			t.Error("validation: ", m)
		}
	})
	return d
}
