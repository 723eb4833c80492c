package requests

// Bounds of a batch. Its last row may exceed BatchTokens.
const (
	BatchRows   = 256
	BatchTokens = 1 << 16
)
