package serve

import "fmt"

// method is a request that runs concurrently, as a call.
type method struct {
	run func(*call) (any, error)
	// lacking returns why the model or the server does not support the method, or "".
	lacking func(*call) string
}

// embedMethod is supported by the models of all tasks.
const embedMethod = "sequence/embed"

// methods has all concurrent requests by name. The file of a method is named after it.
var methods map[string]method

func init() {
	methods = map[string]method{
		"sequence/classify": {many("sequences", answerFields, (*call).answerOne), needsTask},
		"sequence/predict":  {many("sequences", answerFields, (*call).answerOne), needsTask},
		"sequence/labels":   {many("sequences", answerFields, (*call).answerOne), needsTask},
		"sequence/tag":      {many("sequences", answerFields, (*call).answerOne), needsTask},
		embedMethod:         {many("sequences", embedFields, (*call).embedOne), needsOne},
		"retrieval/score":   {many("pairs", scoreFields, (*call).scoreOne), needsTask},
		"retrieval/add":     {(*call).add, needsIndex},
		"retrieval/remove":  {(*call).remove, needsIndex},
		"retrieval/search":  {many("", searchFields, (*call).searchOne), needsIndex},
		"model/info":        {func(c *call) (any, error) { return infoOf(c.model), nil }, needsNothing},
		"server/stats":      {func(c *call) (any, error) { return c.session.server.stats(), nil }, needsNothing},
	}
}

// many returns the function of a method whose params are one object, or a list of objects in the
// field name.
func many(name string, known map[string]bool, planned planner) func(*call) (any, error) {
	return func(c *call) (any, error) { return c.run(name, known, planned) }
}

func needsNothing(*call) string { return "" }

// several is the reason why an ensemble does not support a method. Ensembles that sum logits
// support explanations.
const several = "an ensemble has no embeddings and no explanations: serve one of its models"

func needsOne(c *call) string {
	if c.model.Scorer.Members() > 1 {
		return several
	}
	if c.model.config.IsLinear() {
		return "a linear model has no embeddings: serve a model with layers"
	}
	return ""
}

// needsTask returns why the model's task does not have the call's method, or "".
func needsTask(c *call) string { return c.model.refuses(c.method) }

// refuses returns an error text that names the task's method, or "" if method is that method.
func (m *served) refuses(method string) string {
	if own := m.task.Method(); own != method {
		return fmt.Sprintf("the task of the model is %s: use %s", m.config.Task, own)
	}
	return ""
}

func needsIndex(c *call) string {
	if c.session.server.index == nil {
		return "the server has no index: start it with --index"
	}
	return ""
}
