package serve

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/sftseq/sftseq/internal/requests"
)

// schema is a JSON Schema (2020-12), the dialect of OpenAPI 3.1.
type schema map[string]any

// ofType, listOf, anyOf and textSchema return schemas of JSON values.

func ofType(name string) schema  { return schema{"type": name} }
func listOf(items schema) schema { return schema{"type": "array", "items": items} }
func anyOf(all ...schema) schema { return schema{"anyOf": all} }
func textSchema() schema         { return ofType("string") }

// schemaOf returns the schema of the JSON that encoding/json writes for a type. Fields without
// omitempty are required.
func schemaOf(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return schema{}
	case reflect.TypeFor[requests.NamedNumbers]():
		return schema{"type": "object", "additionalProperties": ofType("number")}
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return textSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Interface:
		return schema{}
	case reflect.String:
		return textSchema()
	case reflect.Bool:
		return ofType("boolean")
	case reflect.Int, reflect.Int32, reflect.Int64:
		return ofType("integer")
	case reflect.Float32, reflect.Float64:
		return ofType("number")
	case reflect.Slice, reflect.Array:
		return listOf(schemaOf(t.Elem()))
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return objectOf(t)
	}
	panic(fmt.Sprintf("no schema of %v", t))
}

// objectOf returns the schema of one object with the fields of several structs.
func objectOf(types ...reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, t := range types {
		addFieldsOf(t, properties, &required)
	}
	out := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func addFieldsOf(t reflect.Type, properties schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			addFieldsOf(f.Type, properties, required)
			continue
		case name == "-" || !f.IsExported():
			continue
		}
		s := schemaOf(f.Type)
		if optional := strings.Contains(rest, "omitempty"); !optional {
			*required = append(*required, name)
			if f.Type.Kind() == reflect.Pointer {
				s = anyOf(s, ofType("null"))
			}
		}
		properties[name] = s
	}
}
