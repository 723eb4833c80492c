package serve

import "fmt"

// method is a request that runs on its own.
type method struct {
	run func(*call) (any, error)
	// lacking says why the model or the server cannot, "" if it can.
	lacking func(*call) string
}

// embedMethod is the method that every task has.
const embedMethod = "sequence/embed"

// methods has a row for each; a method's file is named after it.
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

// many is a method of one object, or of each of the list that the field name holds.
func many(name string, known map[string]bool, planned planner) func(*call) (any, error) {
	return func(c *call) (any, error) { return c.run(name, known, planned) }
}

func needsNothing(*call) string { return "" }

// several is what several models lack that answer together. Those whose logits are summed explain.
const several = "several models answer together, which have no embeddings and no explanations: serve one of them"

func needsOne(c *call) string {
	if c.model.Scorer.Members() > 1 {
		return several
	}
	if c.model.config.IsLinear() {
		return "a linear model has no embeddings: serve a model with layers"
	}
	return ""
}

// needsTask refuses a method that another task has.
func needsTask(c *call) string { return c.model.refuses(c.method) }

// refuses says which method answers in place of another, "" if it is the same.
func (m *served) refuses(method string) string {
	if own := m.task.Method(); own != method {
		return fmt.Sprintf("the task of the model is %s: use %s", m.config.Task, own)
	}
	return ""
}

func needsIndex(c *call) string {
	if c.session.server.index == nil {
		return "there is no index: start the server with --index"
	}
	return ""
}
