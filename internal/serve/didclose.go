package serve

import "encoding/json"

// didClose is sequence/didClose.
func (s *session) didClose(params json.RawMessage) error {
	var p struct {
		URI string `json:"uri"`
	}
	if err := unmarshal(wholeParams, params, &p, "an object with uri"); err != nil {
		return err
	}
	s.edits++
	if !s.closeDocument(p.URI) {
		return unknownDocument(p.URI)
	}
	return nil
}
