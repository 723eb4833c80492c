package tokenizers

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Differ is nil if two tokenizers give the same ids for the same text, as far as their
// JSON tells, or if one of them is not known; otherwise it says how they differ.
func Differ(theirs, ours json.RawMessage) error {
	if theirs == nil || ours == nil {
		return nil
	}
	var a, b map[string]any
	if err := json.Unmarshal(theirs, &a); err != nil {
		return err
	}
	if err := json.Unmarshal(ours, &b); err != nil {
		return err
	}
	switch {
	case a["type"] != b["type"]:
		return fmt.Errorf("its tokenizer is %v, the model's is %v", a["type"], b["type"])
	case !reflect.DeepEqual(a, b):
		return fmt.Errorf("its tokenizer, %v, was learned from other rows than the model's, or is set otherwise: the same ids mean other things (data convert --tokenizer from:MODEL takes the model's)", a["type"])
	}
	return nil
}
