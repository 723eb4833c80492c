package serve

import (
	"cmp"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/requests"
)

// openAPIPath is the path of the API's OpenAPI description.
const openAPIPath = "/openapi.json"

// fieldSchemas has functions that return the schemas of request fields. The field names have no suffix
// _a or _b.
var fieldSchemas = map[string]func() schema{
	"text":   textSchema,
	"tokens": func() schema { return listOf(ofType("integer")) },
	"bytes":  func() schema { return schema{"type": "string", "contentEncoding": "base64"} },
	featuresField: func() schema {
		return listOf(listOf(ofType("number")))
	},
	edgesField: func() schema { return listOf(listOf(ofType("number"))) },
	idField:    func() schema { return schema{} },
	"window": func() schema {
		s := schemaOf(reflect.TypeFor[windowParams]())
		delete(s, "required")
		s["properties"].(schema)["policy"] = schema{"enum": windowPolicies}
		return s
	},
	"explain": func() schema { return ofType("boolean") },
	"k":       func() schema { return schema{"type": "integer", "minimum": 1, "maximum": maxFound} },
	"rescore": func() schema { return schema{"type": "integer", "minimum": 0, "maximum": maxFound} },
	"lexical": func() schema { return schema{"type": "number", "minimum": 0, "maximum": 1} },
	"ids":     func() schema { return listOf(anyOf(textSchema(), ofType("number"))) },
}

// notOverHTTP are the fields for documents and progress, which only JSON-RPC has.
var notOverHTTP = append([]string{"uri", "version"}, listFields...)

// requestSchema returns the schema of a request: an object with those fields of the set known that
// apply to the model, or an object with a list of such objects. many is the name of the list's field,
// or "" for no list.
func (c *call) requestSchema(known map[string]bool, many string) schema {
	config := c.model.config
	properties := schema{}
	for name := range known {
		plain := strings.TrimSuffix(strings.TrimSuffix(name, "_a"), "_b")
		isGraph := plain == featuresField || plain == edgesField
		isSequence := slices.Contains(sources, plain)
		isText := isSequence && plain != "tokens"
		switch {
		case name == many || slices.Contains(notOverHTTP, plain):
		case (isGraph || isSequence) && isGraph != config.HasFeatures():
		case plain == edgesField && !config.Edged():
		case isText && tokenizerOf(config) == nil:
		case plain == "window" && !c.model.task.HasWindows():
		default:
			properties[name] = fieldSchemas[plain]()
		}
	}
	one := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if many == "" || !known[many] {
		return one
	}
	return anyOf(one, schema{"type": "object", "properties": schema{many: listOf(one)}, "required": []string{many},
		"additionalProperties": false})
}

// responseSchema returns the schema of a response, given the schema of a single result. If many is
// true, the response may also be a list of results.
func responseSchema(one schema, many bool) schema {
	if !many {
		return one
	}
	element := schemaOf(reflect.TypeFor[elementResult]())
	element["properties"].(schema)["result"] = one
	return anyOf(one, schema{"type": "object", "properties": schema{"results": listOf(element)},
		"required": []string{"results"}})
}

// predictionSchema returns the schema of the task's prediction for a sequence or a pair.
func (c *call) predictionSchema() schema {
	var types []reflect.Type
	for _, part := range append(requests.Reply{Prediction: c.model.task.Shape()}.Parts(), extent{}) {
		types = append(types, reflect.TypeOf(part))
	}
	s := objectOf(types...)
	windows := objectOf(append(types[1:len(types):len(types)], reflect.TypeFor[windowRead]())...)
	properties := windows["properties"].(schema)
	for _, name := range []string{"windows", "window", "policy", "count", "length", "used", "uri", "version"} {
		delete(properties, name)
	}
	windows["required"] = slices.DeleteFunc(windows["required"].([]string), func(name string) bool {
		return properties[name] == nil
	})
	if s["properties"].(schema)["windows"] = listOf(windows); !c.model.task.HasWindows() {
		delete(s["properties"].(schema), "window")
		delete(s["properties"].(schema), "windows")
	}
	return s
}

// sequencesSchema returns the schema of the field input in OpenAI's API, which is also the schema of
// inputs in the API of Text Embeddings Inference.
func sequencesSchema() schema {
	tokens := listOf(ofType("integer"))
	return anyOf(textSchema(), listOf(textSchema()), tokens, listOf(tokens))
}

// nullable returns the schema of an object whose optional fields may be null. Additional fields are
// allowed.
func nullable(properties schema, required ...string) schema {
	for name, s := range properties {
		if !slices.Contains(required, name) {
			properties[name] = anyOf(s.(schema), ofType("null"))
		}
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

// rerankSchemas returns the schemas of rerank requests and responses.
func rerankSchemas() (request, response schema) {
	text, boolean := textSchema(), ofType("boolean")
	document := anyOf(text, schema{"type": "object", "properties": schema{"text": text}, "required": []string{"text"}})
	request = anyOf(
		nullable(schema{"model": text, "query": text, "documents": listOf(document),
			"top_n": schema{"type": "integer", "minimum": 1}, "return_documents": boolean}, "query",
			"documents"),
		nullable(schema{"query": text, "texts": listOf(text), "raw_scores": boolean, "return_text": boolean}, "query",
			"texts"))
	return request, anyOf(schemaOf(reflect.TypeFor[rerankedDocuments]()),
		listOf(schemaOf(reflect.TypeFor[rerankedText]())))
}

// operation describes a path in /openapi.json.
type operation struct {
	summary           string
	request, response schema // request is nil for GET; a GET response of type string is plain text
}

// operations returns the operations of the paths that the model and the server support.
func (c *call) operations() map[string]operation {
	predictions := []string{"sequence/classify", "sequence/predict", "sequence/labels", "sequence/tag"}
	all := map[string]operation{
		"/v1/models": {"list the model", nil, schemaOf(reflect.TypeFor[modelList]())},
		"/v1/models/{id}": {"look up the model by its name", nil,
			schemaOf(reflect.TypeFor[modelObject]())},
		healthPath:  {"report whether the server is healthy", nil, textSchema()},
		healthAlias: {"report whether the server is healthy", nil, textSchema()},
		"/metrics":  {"report metrics for Prometheus", nil, textSchema()},
		openAPIPath: {"describe this API", nil, ofType("object")},
	}
	for name, m := range methods {
		probe := &call{session: c.session, model: c.model, method: name}
		if m.unsupported(probe) != "" {
			continue
		}
		route := "/" + path.Base(name)
		switch {
		case slices.Contains(predictions, name):
			all[route] = operation{"predict for a sequence, or for each sequence of a list",
				c.requestSchema(predictFields, "sequences"),
				responseSchema(c.predictionSchema(), true)}
		case name == scoreMethod:
			all[route] = operation{"predict for a pair, or for each pair of a list",
				c.requestSchema(scoreFields, "pairs"),
				responseSchema(c.predictionSchema(), true)}
		case name == embedMethod:
			inputs := nullable(schema{"inputs": sequencesSchema(), "normalize": ofType("boolean"),
				"dimensions": ofType("integer")}, "inputs")
			all[route] = operation{"embed a sequence, or each sequence of a list",
				anyOf(c.requestSchema(embedFields, "sequences"), inputs),
				anyOf(responseSchema(schemaOf(reflect.TypeFor[embeddingResult]()), true),
					listOf(listOf(ofType("number"))))}
		case name == "retrieval/add":
			all[route] = operation{"add one or more items to the index", c.requestSchema(addFields, "items"),
				responseSchema(schemaOf(reflect.TypeFor[addResult]()), true)}
		case name == "retrieval/remove":
			all[route] = operation{"remove items from the index", c.requestSchema(removeFields, ""),
				schemaOf(reflect.TypeFor[removeResult]())}
		case name == "retrieval/search":
			all[route] = operation{"find the nearest items of the index", c.requestSchema(searchFields, ""),
				schemaOf(reflect.TypeFor[searchResult]())}
		case name == "model/info":
			all[route] = operation{"describe the model", nil, schemaOf(reflect.TypeFor[modelInfo]())}
		case name == "server/stats":
			all[route] = operation{"report statistics of the server", nil, schemaOf(reflect.TypeFor[stats]())}
		}
	}
	canEmbed := needsSingleModel(c) == ""
	if text := textSchema(); canEmbed {
		all[embeddingsPath] = operation{"embed sequences (OpenAI's format)", nullable(schema{"model": text,
			"input": sequencesSchema(), "encoding_format": schema{"enum": []string{floatFormat, base64Format}},
			"dimensions": ofType("integer")}, "model", "input"), schemaOf(reflect.TypeFor[embeddingList]())}
	}
	if canEmbed || c.model.task.Method() == scoreMethod {
		for _, route := range rerankPaths {
			request, response := rerankSchemas()
			all[route] = operation{"order documents by their relevance to a query", request, response}
		}
	}
	return all
}

// openAPI implements GET /openapi.json for the served model. token reports whether the server
// requires a token.
func (c *call) openAPI(token bool) (any, error) {
	json := func(s schema) schema { return schema{"application/json": schema{"schema": s}} }
	failure := schema{"description": "an error", "content": json(schema{"$ref": "#/components/schemas/Error"})}
	paths := schema{}
	for route, o := range c.operations() {
		verb, content := "get", json(o.response)
		out := schema{"summary": o.summary, "operationId": operationID(route)}
		if o.request != nil {
			verb = "post"
			out["requestBody"] = schema{"required": true, "content": json(o.request)}
		}
		if o.request == nil && o.response["type"] == "string" {
			content = schema{"text/plain": schema{"schema": o.response}}
		}
		out["responses"] = schema{"200": schema{"description": "the result", "content": content}, "default": failure}
		if strings.Contains(route, "{id}") {
			out["parameters"] = []schema{{"name": "id", "in": "path", "required": true, "schema": textSchema()}}
		}
		if token && isHealth(route) {
			out["security"] = []schema{}
		}
		paths[route] = schema{verb: out}
	}
	components := schema{"schemas": schema{"Error": schemaOf(reflect.TypeFor[webErrorBody]())}}
	document := schema{"openapi": "3.1.0", "paths": paths, "components": components,
		"info": schema{"title": "sftseq serve, model " + c.model.loaded.Name,
			"version": cmp.Or(c.session.server.options.Version, "unknown")}}
	if token {
		components["securitySchemes"] = schema{"token": schema{"type": "http", "scheme": "bearer"}}
		document["security"] = []schema{{"token": []string{}}}
	}
	return document, nil
}

// operationID returns the name of a path's function in generated clients, such as v1_embeddings.
func operationID(route string) string {
	return strings.Trim(strings.NewReplacer("/", "_", ".", "_", "{", "", "}", "").Replace(route), "_")
}

// describe handles GET /openapi.json.
func (x *exchange) describe() {
	x.call("model/info", func(c *call) (any, error) { return c.openAPI(x.gateway.options.Tokens != nil) })
}
