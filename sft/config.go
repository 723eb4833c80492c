package sft

import "github.com/sftseq/sftseq/sft/config"

// Config is config.json: see [config.Config].
type Config = config.Config
