package config

// Relations of [Config.Relative].
const (
	SinusoidRelation = "sinusoid_hadamard" // of places in a sequence
	DistanceRelation = "distance"          // of points in space
	EdgeRelation     = "edges"             // of the tokens of a graph
	NoRelation       = "none"
)

// Relations are the values of [Config.Relative].
var Relations = []string{SinusoidRelation, DistanceRelation, EdgeRelation, NoRelation}
