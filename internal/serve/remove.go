package serve

import (
	"encoding/json"
	"fmt"
)

// Progress may be requested everywhere; here there is none to report.
var removeFields = fieldsOf(nil, append(manyFields, "id", "ids")...)

// removed answers retrieval/remove.
type removed struct {
	Removed int      `json:"removed"`
	Unknown []string `json:"unknown"`
}

// removedBytes is what removing an item takes, beside its id and its row's vector.
const removedBytes = 256

// remove is retrieval/remove: the items of one id or of many.
func (c *call) remove() (any, error) {
	fields, err := object("", c.params, removeFields)
	if err != nil {
		return nil, err
	}
	if fields["id"] != nil && fields["ids"] != nil {
		return nil, badParam("ids", "id is there, too: expected one of them")
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
	return removed{len(ids) - len(unknown), unknown}, nil
}
