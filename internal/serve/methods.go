package serve

import "fmt"

// method is a request that runs concurrently, as a call.
type method struct {
	run func(*call) (any, error)
	// unsupported returns the reason why the model or the server does not support the method, or "".
	unsupported func(*call) string
}

// embedMethod is supported by models of all tasks, except ensembles and linear models.
const embedMethod = "sequence/embed"

// methods has all concurrent requests by name.
var methods map[string]method

func init() {
	methods = map[string]method{
		"sequence/classify": {oneOrMany("sequences", predictFields, (*call).predictOne), needsTask},
		"sequence/predict":  {oneOrMany("sequences", predictFields, (*call).predictOne), needsTask},
		"sequence/labels":   {oneOrMany("sequences", predictFields, (*call).predictOne), needsTask},
		"sequence/tag":      {oneOrMany("sequences", predictFields, (*call).predictOne), needsTask},
		embedMethod:         {oneOrMany("sequences", embedFields, (*call).embedOne), needsSingleModel},
		"retrieval/score":   {oneOrMany("pairs", scoreFields, (*call).scoreOne), needsTask},
		"retrieval/add":     {(*call).add, needsIndex},
		"retrieval/remove":  {(*call).remove, needsIndex},
		"retrieval/search":  {oneOrMany("", searchFields, (*call).searchOne), needsIndex},
		"model/info":        {func(c *call) (any, error) { return infoOf(c.model), nil }, needsNothing},
		"server/stats":      {func(c *call) (any, error) { return c.session.server.stats(), nil }, needsNothing},
	}
}

// oneOrMany returns the function of a method whose params are one object, or a list of objects in the
// named field. With an empty name, the params are always one object.
func oneOrMany(name string, known map[string]bool, plan planFunc) func(*call) (any, error) {
	return func(c *call) (any, error) { return c.run(name, known, plan) }
}

func needsNothing(*call) string { return "" }

// Reasons why an ensemble does not support embeddings or explanations. Ensembles that sum logits
// support explanations.
const (
	noEmbeddings   = "an ensemble has no embeddings: serve one of its models with layers, such as --model DIR/sft"
	noExplanations = "an ensemble that averages predictions has no explanations: serve one of its models instead"
)

func needsSingleModel(c *call) string {
	if c.model.Scorer.Members() > 1 {
		return noEmbeddings
	}
	if c.model.config.IsLinear() {
		return "a linear model has no embeddings: serve a model with layers"
	}
	return ""
}

// needsTask returns the reason why the model's task does not have the call's method, or "".
func needsTask(c *call) string { return c.model.taskMismatch(c.method) }

// taskMismatch returns an error text that names the task's method, or "" if method is that method.
func (m *served) taskMismatch(method string) string {
	if own := m.task.Method(); own != method {
		return fmt.Sprintf("the task of the model is %s: use %s", m.config.Task, own)
	}
	return ""
}

func needsIndex(c *call) string {
	if c.session.server.index == nil {
		return "the server has no index: start it with --index FILE"
	}
	return ""
}
