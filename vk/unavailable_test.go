//go:build cgo

package vk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// TestUnavailable checks that the errors without a Vulkan loader or driver name the missing
// component and the package to install. A process loads Vulkan once, so each case runs in its own
// process.
func TestUnavailable(t *testing.T) {
	const child = "SFTSEQ_VK_UNAVAILABLE"
	if os.Getenv(child) == "1" {
		list, err := Devices()
		fmt.Println("devices:", list, errors.Is(err, ErrUnavailable), err)
		d, err := Open(Options{})
		fmt.Println("open:", d == nil, errors.Is(err, ErrUnavailable), err)
		return
	}
	if err := load(); err != nil {
		skipWithoutVulkan(t, err)
	}
	noDriver := []string{"the loader found no driver", "apt install mesa-vulkan-drivers"}
	broken := filepath.Join(t.TempDir(), "icd.json")
	must.Succeed(t, os.WriteFile(broken,
		[]byte(`{"file_format_version": "1.0.0", "ICD": {"library_path": "/nowhere/driver.so", "api_version": "1.3.0"}}`), 0o666))
	drivers := func(path string) []string { return []string{"VK_DRIVER_FILES=" + path, "VK_ICD_FILENAMES=" + path} }
	for name, c := range map[string]struct{ environment, want []string }{
		"no loader": {[]string{"SFTSEQ_VK_LOADER=/nowhere/libvulkan.so.1"},
			[]string{"cannot open the loader /nowhere/libvulkan.so.1, set by SFTSEQ_VK_LOADER: ", "No such file",
				"apt install libvulkan1"}},
		"another library": {[]string{"SFTSEQ_VK_LOADER=libm.so.6"},
			[]string{"cannot open the loader libm.so.6", "vkGetInstanceProcAddr", "apt install libvulkan1"}},
		"no driver":               {drivers("/nowhere/icd.json"), noDriver},
		"missing driver library":  {drivers(broken), noDriver},
		"driver without hardware": {drivers("/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"), noDriver},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestUnavailable$")
			command.Env = append(append(os.Environ(), child+"=1", "SFTSEQ_VK_VALIDATE="), c.environment...)
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text := string(out)
			for _, want := range append(c.want, "devices: [] true no Vulkan device is available: ",
				"open: true true no Vulkan device is available: ") {
				if !strings.Contains(text, want) {
					t.Errorf("the output does not contain %q:\n%s", want, text)
				}
			}
		})
	}
}
