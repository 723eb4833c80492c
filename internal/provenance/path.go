package provenance

import (
	"encoding/json"
	"unicode/utf8"
)

// A Path is a file path. In JSON, a path in valid UTF-8 is a string, and any other path is the object
// {"base64": …} with the bytes of the path.
type Path string

type pathBytes struct {
	Bytes []byte `json:"base64"`
}

// MarshalJSON implements json.Marshaler.
func (p Path) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal(pathBytes{[]byte(p)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Path) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		var b pathBytes
		err := json.Unmarshal(text, &b)
		*p = Path(b.Bytes)
		return err
	}
	return json.Unmarshal(text, (*string)(p))
}
