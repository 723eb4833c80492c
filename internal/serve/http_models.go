package serve

// modelObject is a model in OpenAI's format.
type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // Unix time in seconds when the server started
	OwnedBy string `json:"owned_by"`
}

// modelList is a list of models in OpenAI's format.
type modelList struct {
	Object string        `json:"object"`
	Data   []modelObject `json:"data"`
}

// models implements GET /v1/models.
func (c *call) models() (any, error) {
	return modelList{"list", []modelObject{c.modelObject()}}, nil
}

func (c *call) modelObject() modelObject {
	return modelObject{c.model.loaded.Name, "model", c.session.server.metrics.started.Unix(), "sftseq"}
}

// namedModel implements GET /v1/models/NAME.
func (c *call) namedModel(name string) (any, error) {
	if err := c.checkModelName("model", name); err != nil {
		return nil, err
	}
	return c.modelObject(), nil
}

// checkModelName returns an error unless name is the name of the served model.
func (c *call) checkModelName(field, name string) error {
	switch {
	case name == "":
		return badParam(field, "expected %q, found none", c.model.loaded.Name)
	case name != c.model.loaded.Name:
		return fail(codeNoModel, errorLocation{Field: field}, "no model %.80q: expected %q", name, c.model.loaded.Name)
	}
	return nil
}
