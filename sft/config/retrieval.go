package config

// retrieval has the configuration of its task.
type retrieval struct{ classification }

func (retrieval) sequences() int { return 2 }

func (retrieval) takesFeatures() bool { return false }
