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
		"sequence/classify": {(*call).classify, needsSingle},
		"sequence/embed":    {(*call).embed, needsNothing},
		"retrieval/score":   {(*call).score, needsPair},
		"retrieval/add":     {(*call).add, needsIndex},
		"retrieval/remove":  {(*call).remove, needsIndex},
		"retrieval/search":  {(*call).search, needsIndex},
		"model/info":        {(*call).info, needsNothing},
		"server/stats":      {(*call).stats, needsNothing},
	}
}

func needsNothing(*call) string { return "" }

func needsSingle(c *call) string {
	if c.model.config.Sequences() == 2 {
		return "the model compares pairs, it does not classify one sequence"
	}
	return ""
}

func needsPair(c *call) string {
	if c.model.config.Sequences() != 2 {
		return "the model classifies one sequence, it does not compare pairs"
	}
	return ""
}

func needsIndex(c *call) string {
	if c.session.server.index == nil {
		return "there is no index: start the server with --index"
	}
	return ""
}
