package serve

import (
	"encoding/json"
	"fmt"
)

// Progress may be asked for everywhere; here there is none to tell.
var removeFields = fieldsOf(nil, append(manyFields, "id", "ids")...)

// removed answers retrieval/remove.
type removed struct {
	Removed int      `json:"removed"`
	Unknown []string `json:"unknown"`
}

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
	if fields["ids"] == nil {
		id, err := itemID("id", fields["id"])
		if err != nil {
			return nil, err
		}
		ids = []string{id}
	} else {
		var values []json.RawMessage
		if err := unmarshal("ids", fields["ids"], &values, "a list"); err != nil {
			return nil, err
		}
		for n, value := range values {
			id, err := itemID(fmt.Sprintf("ids[%d]", n), value)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
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
