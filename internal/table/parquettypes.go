package table

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	parquetschema "github.com/apache/arrow/go/v15/parquet/schema"
)

// convertFields returns the fields of a schema. At any depth, it sets the types that Arrow's reader
// ignores: the extension type for UUIDs, timestamps without a time zone, times in UTC, and text for
// JSON and enumerations.
func (g *groups) convertFields(columns []pqarrow.SchemaField) []arrow.Field {
	var fields []arrow.Field
	for _, c := range columns {
		f, children := *c.Field, g.convertFields(c.Children)
		switch f.Type.(type) {
		case *arrow.StructType:
			f.Type = arrow.StructOf(children...)
		case *arrow.MapType: // its only child is the struct of key and item
			entry := children[0].Type.(*arrow.StructType)
			f.Type = arrow.MapOfWithMetadata(entry.Field(0).Type, entry.Field(0).Metadata,
				entry.Field(1).Type, entry.Field(1).Metadata)
		case *arrow.ListType:
			f.Type = arrow.ListOfField(children[0])
		default:
			if c.IsLeaf() {
				f = logicalField(f, g.metadata.Schema.Column(c.ColIndex).LogicalType())
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// logicalField returns a field with the Arrow type or the metadata for its logical type in Parquet.
func logicalField(f arrow.Field, logical parquetschema.LogicalType) arrow.Field {
	switch logical := logical.(type) {
	case parquetschema.UUIDLogicalType:
		f.Metadata = arrow.NewMetadata([]string{ipc.ExtensionTypeKeyName}, []string{extensionUUID})
	case *parquetschema.TimeLogicalType:
		if logical.IsAdjustedToUTC() {
			f.Metadata = arrow.NewMetadata([]string{keyUTC}, []string{"true"})
		}
	case *parquetschema.TimestampLogicalType:
		if t, ok := f.Type.(*arrow.TimestampType); ok {
			zone := ""
			if logical.IsAdjustedToUTC() || logical.IsFromConvertedType() { // older files lack the flag
				zone = "UTC"
			}
			f.Type = &arrow.TimestampType{Unit: t.Unit, TimeZone: zone}
		}
	case parquetschema.JSONLogicalType, parquetschema.EnumLogicalType:
		if f.Type.ID() == arrow.BINARY {
			f.Type = arrow.BinaryTypes.String
		}
	}
	return f
}
