package config

// retrieval is the task of predicting one class for a pair of sequences.
type retrieval struct{ classification }

func (retrieval) sequences() int { return 2 }

func (retrieval) takesFeatures() bool { return false }
