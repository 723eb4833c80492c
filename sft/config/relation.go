package config

// Values of [Config.Relative].
const (
	SinusoidRelation = "sinusoid_hadamard" // positions in a sequence
	DistanceRelation = "distance"          // distances between points
	EdgeRelation     = "edges"             // edges of a graph
	NoRelation       = "none"
)

// Relations lists the values of [Config.Relative].
var Relations = []string{SinusoidRelation, DistanceRelation, EdgeRelation, NoRelation}
