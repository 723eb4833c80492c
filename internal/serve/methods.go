package serve

// method is a request that runs on its own.
type method struct {
	run func(*call) (any, error)
	// lacking says why the model or the server cannot, "" if it can.
	lacking func(*call) string
}

// methods has a row for each; a method's file is named after it.
var methods map[string]method

func init() {
	methods = map[string]method{
		"sequence/classify": {many("sequences", classifyFields, (*call).classifyOne), needsSingle},
		"sequence/predict":  {many("sequences", predictFields, (*call).predictOne), needsNumbers},
		"sequence/labels":   {many("sequences", labelsFields, (*call).labelsOne), needsLabels},
		"sequence/tag":      {many("sequences", tagFields, (*call).tagOne), needsTags},
		"sequence/embed":    {many("sequences", embedFields, (*call).embedOne), needsOne},
		"retrieval/score":   {many("pairs", scoreFields, (*call).scoreOne), needsPair},
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

// several is what several models lack that answer together.
const several = "several models answer together, which have no embeddings and no explanations: serve one of them"

func needsOne(c *call) string {
	if c.model.Scorer.Members() > 1 {
		return several
	}
	return ""
}

// unlabelled is what a model lacks that has learned from sequences alone.
const unlabelled = "the model was trained without labels: it embeds sequences (sequence/embed), and does not classify"

// predicting is what a model lacks that predicts numbers.
const predicting = "the model predicts numbers, and does not classify: sequence/predict answers with them"

// labelling is what a model lacks that answers with several labels.
const labelling = "several labels of a sequence may hold, and the model does not classify: sequence/labels answers with them"

func needsLabels(c *call) string {
	if !c.model.config.LabelsHold() {
		return "the model does not answer with several labels: it is of the task " + c.model.config.Task
	}
	return ""
}

// tagging is what a model lacks that tags tokens.
const tagging = "the model tags tokens, and does not classify: sequence/tag answers with spans"

func needsTags(c *call) string {
	if !c.model.config.Tags() {
		return "the model tags no tokens: it is of the task " + c.model.config.Task
	}
	return ""
}

// needsClass says what a model answers with in place of a class.
func needsClass(c *call) string {
	switch {
	case c.model.config.LabelsHold():
		return labelling
	case c.model.config.Tags():
		return tagging
	case c.model.config.Predicts():
		return predicting
	case !c.model.config.Answers():
		return unlabelled
	}
	return ""
}

func needsSingle(c *call) string {
	if lacking := needsClass(c); lacking != "" || c.model.config.Sequences() != 2 {
		return lacking
	}
	return "the model compares pairs, it does not classify one sequence"
}

func needsNumbers(c *call) string {
	if !c.model.config.Predicts() {
		return "the model predicts no numbers: it is of the task " + c.model.config.Task
	}
	return ""
}

func needsPair(c *call) string {
	if lacking := needsClass(c); lacking != "" || c.model.config.Sequences() == 2 {
		return lacking
	}
	return "the model classifies one sequence, it does not compare pairs"
}

func needsIndex(c *call) string {
	if c.session.server.index == nil {
		return "there is no index: start the server with --index"
	}
	return ""
}
