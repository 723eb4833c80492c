package shaders

import (
	"embed"
	"encoding/binary"
	"fmt"
)

//go:embed *.spv
var files embed.FS

// Words returns the SPIR-V words of a shader. name is the base name of its source, without .comp.
func Words(name string) ([]uint32, error) {
	data, err := files.ReadFile(name + ".spv")
	if err != nil {
		return nil, fmt.Errorf("unknown shader %q", name)
	}
	words := make([]uint32, len(data)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return words, nil
}
