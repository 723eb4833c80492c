package simd

// Peaks are what the arithmetic units and the memory can do.
type Peaks struct {
}

var peaksGo = Peaks{}
