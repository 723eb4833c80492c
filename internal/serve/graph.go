package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
)

// featuresOnly is the reason why a model of features refuses texts, documents and windows.
const featuresOnly = "the model's tokens have features, not ids"

// graph parses the point cloud or graph in the given fields. path precedes the field names in errors.
// A field with the given suffix is an error if its name without the suffix is version or in [sources].
func (c *call) graph(path string, fields map[string]json.RawMessage, suffix string) (*sequence, error) {
	for _, source := range append(sources, "version") {
		if name := source + suffix; fields[name] != nil {
			return nil, badParam(path+name, featuresOnly+": expected features")
		}
	}
	q := &sequence{field: path + featuresField, graph: &requests.Request{}}
	features, edges, parser := fields[featuresField], fields[edgesField], c.model.parser
	switch edged := c.model.config.Edged(); {
	case features == nil:
		return nil, badParam(q.field, "expected %s, found none", parser.FeatureList())
	case edged && edges == nil:
		return nil, badParam(path+edgesField, "expected %s, found none", parser.EdgeList())
	case !edged && edges != nil:
		return nil, badParam(path+edgesField, "the model does not use edges")
	}
	maxBytes := parser.MemoryOf(featuresField, features) + parser.MemoryOf(edgesField, edges)
	if err := c.reserve(maxBytes); err != nil {
		return nil, err
	}
	var field string
	var bad error
	if stopped := c.do(len(features)+len(edges),
		func() { field, bad = parser.ReadGraph(q.graph, features, edges) }); stopped != nil {
		c.free(maxBytes)
		return nil, stopped
	}
	c.free(maxBytes - q.graph.Bytes()) // give back the estimate beyond the graph's size
	if bad != nil {
		return nil, badParam(path+field, "%v", bad)
	}
	return q, nil
}
