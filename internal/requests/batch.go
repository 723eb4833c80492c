package requests

// Limits of a batch in rows and in tokens. The last row may take the batch above BatchTokens.
const (
	BatchRows   = 256
	BatchTokens = 1 << 16
)
