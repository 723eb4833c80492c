//go:build cgo

package vk

/*
#include "shim.h"
*/
import "C"

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/shaders"
)

// pushWords is the number of words of push constants that every device supports.
const pushWords = 32

// layout holds the Vulkan layouts for shaders with a given number of buffers.
type layout struct{ set, pipeline C.handle }

// pipelines holds the compiled shaders. It compiles them on first use, and stores them on disk for
// the next start.
type pipelines struct {
	device  *gpu
	mu      sync.Mutex
	cache   C.handle
	file    string       // path of the file on disk; "" without a cache directory
	stored  []byte       // content of the file at the start, without the checksum
	changed bool         // true if a pipeline was compiled since the start
	notice  func(string) // receives the message about the first compilation; may be nil
	layouts map[int]layout
	built   map[string]*pipeline
}

// pipeline is a shader compiled with its specialisation constants.
type pipeline struct {
	mu     sync.Mutex
	handle C.handle // 0 before the compilation
	layout layout
}

func (p *pipelines) open(d *gpu) error {
	p.device, p.layouts, p.built = d, map[int]layout{}, map[string]*pipeline{}
	if dir, err := os.UserCacheDir(); err == nil {
		p.file = filepath.Join(dir, "sftseq", "pipelines-"+d.physical.cache+".bin")
		if file, err := os.ReadFile(p.file); err == nil {
			p.stored = unseal(file)
		}
	}
	return d.check("create a pipeline cache", C.shim_cache_create(d.shim, unsafe.Pointer(unsafe.SliceData(p.stored)),
		C.size_t(len(p.stored)), &p.cache))
}

// seal returns the data with a checksum in front. Drivers must check that a cache was written by the
// same driver, but need not check that it is undamaged.
func seal(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(sum[:], data...)
}

// unseal returns the data of a sealed file, or nil if the checksum does not match.
func unseal(file []byte) []byte {
	if len(file) < sha256.Size {
		return nil
	}
	data := file[sha256.Size:]
	if sum := sha256.Sum256(data); string(sum[:]) != string(file[:sha256.Size]) {
		return nil
	}
	return data
}

// save writes the compiled pipelines to the file. It ignores errors, and other processes may
// overwrite the file, because a missing cache only costs compilation time.
func (p *pipelines) save() {
	if !p.changed || p.file == "" {
		return
	}
	var n C.size_t
	if C.shim_cache_read(p.device.shim, p.cache, nil, &n) != 0 || n == 0 {
		return
	}
	data := make([]byte, n)
	if C.shim_cache_read(p.device.shim, p.cache, unsafe.Pointer(&data[0]), &n) != 0 {
		return
	}
	if data = data[:n]; !bytes.Equal(data, p.stored) && os.MkdirAll(filepath.Dir(p.file), 0o755) == nil {
		_ = atomicfile.WriteBytes(p.file, seal(data))
	}
}

func (p *pipelines) close() {
	p.save()
	for _, b := range p.built {
		if b.handle != 0 {
			C.shim_pipeline_destroy(p.device.shim, b.handle)
		}
	}
	for _, l := range p.layouts {
		C.shim_layouts_destroy(p.device.shim, l.set, l.pipeline)
	}
	if p.cache != 0 {
		C.shim_cache_destroy(p.device.shim, p.cache)
	}
}

// get returns the pipeline of a shader with the given constants, required subgroup size and number of
// buffers. It compiles the pipeline on first use.
func (p *pipelines) get(shader string, constants []uint32, subgroup uint32, buffers int) (*pipeline, error) {
	key := fmt.Sprint(shader, constants, subgroup)
	p.mu.Lock()
	b := p.built[key]
	if b == nil {
		b = &pipeline{}
		p.built[key] = b
	}
	l, err := p.layout(buffers)
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	// Compilation may take seconds, so it holds only this pipeline's lock. The next call retries a
	// failed compilation, as memory may be available then.
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handle == 0 {
		err = p.build(b, l, shader, constants, subgroup)
	}
	return b, err
}

// announce sends the notice about the first compilation, unless pipelines were read from the file.
func (p *pipelines) announce() {
	p.mu.Lock()
	notice := p.notice
	p.notice = nil
	p.mu.Unlock()
	if notice != nil && len(p.stored) == 0 {
		notice("compiling kernels for " + p.device.physical.info.Name + ": the first run on a device takes longer")
	}
}

func (p *pipelines) build(b *pipeline, l layout, shader string, constants []uint32, subgroup uint32) error {
	code, err := shaders.Words(shader)
	if err != nil {
		return err
	}
	b.layout = l
	d := p.device
	p.announce()
	r := C.shim_pipeline_create(d.shim, p.cache, l.pipeline, (*C.uint32_t)(unsafe.SliceData(code)), C.size_t(len(code)),
		(*C.uint32_t)(unsafe.SliceData(constants)), C.uint32_t(len(constants)), C.uint32_t(subgroup), &b.handle)
	p.mu.Lock()
	p.changed = true
	p.mu.Unlock()
	return d.check("compile "+shader, r)
}

// layout returns the layout for the given number of buffers. The caller must hold p.mu.
func (p *pipelines) layout(buffers int) (layout, error) {
	if l, ok := p.layouts[buffers]; ok {
		return l, nil
	}
	var l layout
	d := p.device
	err := d.check("create a layout", C.shim_set_layout_create(d.shim, C.uint32_t(buffers), &l.set))
	if err == nil {
		err = d.check("create a layout", C.shim_pipeline_layout_create(d.shim, l.set, 4*pushWords, &l.pipeline))
	}
	if err != nil {
		C.shim_layouts_destroy(d.shim, l.set, l.pipeline)
		return l, err
	}
	p.layouts[buffers] = l
	return l, nil
}
