package device

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/vk"
)

func TestOpenCPU(t *testing.T) {
	for _, p := range []Precision{"", FP32, Fastest} {
		d := must.Get(Open(Options{Name: "cpu", Threads: 3, Precision: p}))(t)
		if d.Slots() != 3 || !strings.HasPrefix(d.Name(), "cpu ") {
			t.Errorf("device %q: %d slots, want a CPU with 3 slots for 3 threads", d.Name(), d.Slots())
		}
		must.Check(t, d.Close())
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    string // a part of the error
	}{
		{Options{}, ""},
		{Options{Name: "vulkan", Precision: Mixed}, ""},
		{Options{Name: "vulkan:12"}, ""},
		{Options{Name: "tpu"}, "expected one of: auto, cpu, vulkan, vulkan:N"},
		{Options{Name: "vulkan:"}, `expected one of: auto`},
		{Options{Name: "vulkan:-1"}, `expected one of: auto`},
		{Options{Name: "vulkan:one"}, `expected one of: auto`},
		{Options{Threads: -1}, "threads -1: expected"},
		{Options{Precision: "fp64"}, "expected one of: fp32, mixed, auto"},
		{Options{Name: "cpu", Precision: Mixed}, "because the CPU computes in fp32"},
	} {
		err := c.options.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v, want %q", c.options, err, c.want)
		}
		if c.want == "" {
			continue
		}
		must.Fail(t, c.want, "opened", c.options)(Open(c.options))
	}
}

func TestLost(t *testing.T) {
	if err := error(&vk.LostError{Device: "card"}); !Lost(fmt.Errorf("step 3: %w", err)) ||
		Lost(vk.ErrUnavailable) || Lost(nil) {
		t.Error("Lost: want true for a wrapped LostError, and false for ErrUnavailable and nil")
	}
}

// TestRefusal checks that the error has a hint to use the CPU only if the user did not name a device.
func TestRefusal(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name, want string
	}{{"", "broken (use --device cpu to compute on the CPU)"},
		{"auto", "broken (use --device cpu to compute on the CPU)"},
		{"vulkan", "broken"}, {"vulkan:0", "broken"}} {
		if err := (Options{Name: c.name}).openError(broken); err.Error() != c.want || !errors.Is(err, broken) {
			t.Errorf("%q: error %v, want %s", c.name, err, c.want)
		}
	}
}

func TestFull(t *testing.T) {
	if err := error(&vk.MemoryError{Device: "card"}); !Full(fmt.Errorf("step 3: %w", err)) ||
		Full(vk.ErrUnavailable) || Full(nil) {
		t.Error("Full: want true for a wrapped MemoryError, and false for ErrUnavailable and nil")
	}
}

func TestChoose(t *testing.T) {
	const none = -1
	discrete := vk.Info{Name: "card", Kind: "discrete"}
	old := vk.Info{Name: "old card", Kind: "discrete", Missing: "it is old"}
	integrated := vk.Info{Name: "graphics", Kind: "integrated"}
	virtual := vk.Info{Name: "guest", Kind: "virtual"}
	software := vk.Info{Name: "driver", Kind: "cpu"}
	for _, c := range []struct {
		name    string
		offered []vk.Info
		want    int // index of the device; the constant none means the CPU
		failure string
	}{
		{"auto", nil, none, ""},
		{"", []vk.Info{discrete, integrated, software}, 0, ""},
		{"auto", []vk.Info{old, integrated}, 1, ""},
		{"auto", []vk.Info{virtual, software}, none, ""},
		{"auto", []vk.Info{old}, none, ""},
		{"vulkan", []vk.Info{discrete, software}, 0, ""},
		{"vulkan", []vk.Info{old, virtual, software}, 1, ""},
		{"vulkan", []vk.Info{old, software}, 1, ""},
		{"vulkan", []vk.Info{old}, none, "none can be used; old card: it is old"},
		{"vulkan:1", []vk.Info{discrete, software}, 1, ""},
		{"vulkan:0", []vk.Info{old}, 0, ""}, // Open reports why the device cannot be used
		{"vulkan:2", []vk.Info{discrete, software}, none, "expected vulkan:0 to vulkan:1, the Vulkan devices found"},
	} {
		for at := range c.offered {
			c.offered[at].Index = at
		}
		info, err := Options{Name: c.name}.choose(c.offered, nil)
		got := none
		if info != nil {
			got = info.Index
		}
		if got != c.want || (err == nil) != (c.failure == "") || err != nil &&
			!strings.Contains(err.Error(), c.failure) {
			t.Errorf("%q of %v: device %d, error %v; want device %d, error %q", c.name, c.offered, got, err, c.want,
				c.failure)
		}
	}
	many := []vk.Info{integrated, software, discrete, old, discrete}
	for at := range many {
		many[at].Index = at
	}
	for _, name := range []string{"auto", "vulkan"} {
		for turn, want := range []int{0, 2, 4, 0, 2} {
			if info, err := (Options{Name: name, Turn: turn}).choose(many, nil); err != nil || info.Index != want {
				t.Errorf("%s, turn %d: device %v, error %v; want device %d", name, turn, info, err, want)
			}
		}
	}
	if info, err := (Options{Name: "vulkan:4", Turn: 1}).choose(many, nil); err != nil || info.Index != 4 {
		t.Errorf("vulkan:4, turn 1: device %v, error %v; want device 4", info, err)
	}
	missing := errors.New("no driver")
	if info, err := (Options{Name: "auto"}).choose(nil, missing); info != nil || err != nil {
		t.Errorf("auto without Vulkan: device %v, error %v; want the CPU", info, err)
	}
	for _, name := range []string{"vulkan", "vulkan:0"} {
		must.FailWith(t, missing, name, "without Vulkan")((Options{Name: name}).choose(nil, missing))
	}
}

// TestList checks that every listed device can be opened, or states why not.
func TestList(t *testing.T) {
	devices, unavailable := List()
	if n := len(devices); n == 0 || devices[n-1].Device != "cpu" || (n == 1) != (unavailable != nil) {
		t.Fatalf("devices %v, unavailable %v; want cpu at the end, and a reason if there are no others", devices,
			unavailable)
	}
	if unavailable != nil {
		if _, err := Open(Options{Name: "vulkan"}); !errors.Is(err, vk.ErrUnavailable) {
			t.Errorf("vulkan: error %v, want %v", err, unavailable)
		}
	}
	for _, i := range devices {
		d, err := Open(Options{Name: i.Device})
		if i.Missing != "" {
			must.Fail(t, i.Missing, i.Device)(err)
			continue
		}
		if err != nil {
			t.Errorf("opening %s: %v", i.Device, err)
			continue
		}
		if !strings.HasPrefix(d.Name(), i.Device) {
			t.Errorf("Open(%s): got the device %q, want a name that begins with %q", i.Device, d.Name(), i.Device)
		}
		must.Check(t, d.Close())
		d, err = Open(Options{Name: i.Device, Precision: Mixed})
		if (err == nil) != i.Mixed {
			t.Errorf("%s: List reports mixed precision %v, but Open returned %v", i.Device, i.Mixed, err)
		}
		if err == nil {
			must.Check(t, d.Close())
		}
	}
}
