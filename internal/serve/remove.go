package serve

import (
	"encoding/json"
	"fmt"
)

// removeFields are the fields of retrieval/remove. They include listFields, because a client may
// request progress for every method, although retrieval/remove reports no progress.
var removeFields = fieldsOf(nil, append(listFields, "id", "ids")...)

// removeResult is the result of retrieval/remove.
type removeResult struct {
	Removed int      `json:"removed"`
	Unknown []string `json:"unknown"`
}

// removedBytes is the memory for removing an item, besides its id and its row's vector.
const removedBytes = 256

// remove implements retrieval/remove for one id or a list of ids.
func (c *call) remove() (any, error) {
	fields, err := object("", c.params, removeFields)
	if err != nil {
		return nil, err
	}
	if fields["id"] != nil && fields["ids"] != nil {
		return nil, badParam("ids", "expected either id or ids, found both")
	}
	var ids []string
	add := func(path string, value json.RawMessage) error {
		id, err := itemID(path, value)
		if err != nil {
			return err
		}
		ids = append(ids, id)
		return c.reserve(int64(len(value)) + removedBytes + tokenBytes*int64(c.model.config.HiddenSize))
	}
	if list := fields["ids"]; list != nil {
		err = elements("ids", list,
			func(n int, value json.RawMessage) error { return add(fmt.Sprintf("ids[%d]", n), value) })
	} else {
		err = add("id", fields["id"])
	}
	if err != nil {
		return nil, err
	}
	unknown, err := c.session.server.index.Remove(ids)
	if err != nil {
		return nil, indexFailed(err)
	}
	if unknown == nil {
		unknown = []string{}
	}
	return removeResult{len(ids) - len(unknown), unknown}, nil
}
