package bench

import (
	"fmt"
	"strings"

	"github.com/sftseq/sftseq/device"
)

// DeviceResult is a device and its speed.
type DeviceResult struct {
	device.Info
	Copy    float64 `json:"copy_bytes_per_s,omitempty"`
	FMA     float64 `json:"fma_flop_per_s,omitempty"`           // in float32
	Product float64 `json:"mixed_product_flop_per_s,omitempty"` // on cooperative matrices
	Failure string  `json:"error,omitempty"`                    // reason why it was not measured
}

// Row returns the device's row in a table.
func (l *DeviceResult) Row() []string {
	const none = "–"
	row := []string{l.Device, l.Name, l.Kind, l.Driver, l.API, none, none, none, none, none}
	for i, cell := range row {
		if cell == "" {
			row[i] = none
		}
	}
	if l.Memory > 0 {
		row[5] = FormatBytes(l.Memory)
	}
	if l.SubgroupSize > 0 {
		if row[6] = fmt.Sprint(l.SubgroupSize); l.SubgroupMin != l.SubgroupMax {
			row[6] += fmt.Sprintf(" (%d to %d)", l.SubgroupMin, l.SubgroupMax)
		}
	}
	if l.Copy > 0 {
		row[7] = FormatDigits(l.Copy/giga) + " GB/s"
	}
	if l.FMA > 0 {
		row[8] = FormatDigits(l.FMA/giga) + " GFLOP/s"
	}
	if l.Product > 0 {
		row[9] = FormatDigits(l.Product/giga) + " GFLOP/s"
	}
	return row
}

// Note returns a remark to print below the table, or "".
func (l *DeviceResult) Note() string {
	switch {
	case l.Missing != "":
		return fmt.Sprintf("%s cannot be used: %s", l.Device, l.Missing)
	case l.Failure != "":
		return fmt.Sprintf("%s was not measured: %s", l.Device, l.Failure)
	case l.Device == "cpu":
		return ""
	case len(l.Cooperative) == 0:
		return fmt.Sprintf("%s has no cooperative matrices", l.Device)
	}
	var shapes []string
	for _, s := range l.Cooperative {
		shapes = append(shapes, s.String())
	}
	return fmt.Sprintf("%s has cooperative matrices: %s", l.Device, strings.Join(shapes, ", "))
}
