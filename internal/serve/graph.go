package serve

import (
	"encoding/json"

	"github.com/sftseq/sftseq/internal/requests"
)

// featured is why a model of features reads no text.
const featured = "the tokens of the model have features, and no ids"

// graph reads the point cloud or the graph among fields; path goes before their names in
// errors.
func (c *call) graph(path string, fields map[string]json.RawMessage, suffix string) (*sequence, error) {
	for _, source := range append(sources, "version") {
		if name := source + suffix; fields[name] != nil {
			return nil, badParam(path+name, featured+": expected features%s", c.model.parser.OrMolecule())
		}
	}
	if fields[smilesField] != nil {
		return c.molecule(path, fields)
	}
	q := &sequence{field: path + featuresField, graph: &requests.Request{}}
	features, edges, parser := fields[featuresField], fields[edgesField], c.model.parser
	switch edged := c.model.config.Edged(); {
	case features == nil:
		return nil, badParam(q.field, "it is missing: expected %s%s", parser.FeatureList(), parser.OrMolecule())
	case edged && edges == nil:
		return nil, badParam(path+edgesField, "it is missing: expected %s%s", parser.EdgeList(), parser.OrMolecule())
	case !edged && edges != nil:
		return nil, badParam(path+edgesField, "the model knows no edges")
	}
	most := parser.MemoryOf(featuresField, features) + parser.MemoryOf(edgesField, edges)
	return c.readGraph(path, q, len(features)+len(edges), most, func() (string, error) { return parser.ReadGraph(q.graph, features, edges) })
}

// readGraph has read make the graph of so many bytes, which takes at most that much memory. What the
// graph does not take is given back. An error is of the field that read names.
func (c *call) readGraph(path string, q *sequence, bytes int, most int64, read func() (field string, err error)) (*sequence, error) {
	if err := c.reserve(most); err != nil {
		return nil, err
	}
	var field string
	var bad error
	if stopped := c.do(bytes, func() { field, bad = read() }); stopped != nil {
		c.free(most)
		return nil, stopped
	}
	c.free(most - q.graph.Bytes())
	if bad != nil {
		return nil, badParam(path+field, "%v", bad)
	}
	return q, nil
}

// molecule reads the molecule among fields.
func (c *call) molecule(path string, fields map[string]json.RawMessage) (*sequence, error) {
	q, parser, value := &sequence{field: path + smilesField, graph: &requests.Request{}}, c.model.parser, fields[smilesField]
	for _, name := range []string{featuresField, edgesField} {
		if fields[name] != nil {
			return nil, badParam(path+name, "%s is there, too: expected one of them", smilesField)
		}
	}
	if err := parser.ReadsMolecules(); err != nil {
		return nil, badParam(q.field, "%v", err)
	}
	return c.readGraph(path, q, len(value), parser.MemoryOf(smilesField, value), func() (string, error) { return smilesField, parser.ReadMolecule(q.graph, value) })
}
