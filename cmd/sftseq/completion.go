package main

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that completes commands and flags in a shell",
		ArgsUsage: "bash|zsh|fish",
		UsageText: `sftseq completion bash|zsh|fish

Example: source <(sftseq completion bash)
         sftseq completion fish > ~/.config/fish/completions/sftseq.fish`,
		Action: completion,
	}
}

func completion(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one of bash, zsh, fish")
	}
	var script string
	switch shell := c.Args().First(); shell {
	case "bash":
		script = bashCompletion
	case "zsh":
		script = zshCompletion
	case "fish":
		text, err := c.App.ToFishCompletion()
		if err != nil {
			return err
		}
		script = strings.TrimRight(text, "\n") + "\n"
	default:
		return usage(c, "unknown shell %q, expected one of bash, zsh, fish", shell)
	}
	_, err := io.WriteString(c.App.Writer, script)
	return err
}

// The program completes itself: asked with one more flag, it lists what may
// follow. Where it lists nothing, the shell's own file names are offered.
const (
	bashCompletion = `_sftseq() {
  local cur words
  cur="${COMP_WORDS[COMP_CWORD]}"
  words=("${COMP_WORDS[@]:0:$COMP_CWORD}")
  # A bare -- would end the flags.
  if [[ "$cur" == -- ]]; then words+=("-"); elif [[ "$cur" == -* ]]; then words+=("$cur"); fi
  COMPREPLY=($(compgen -W "$("${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _sftseq sftseq
`
	zshCompletion = `#compdef sftseq
_sftseq() {
  local -a found
  local cur=${words[CURRENT]}
  local -a asked=(${words[1,CURRENT-1]})
  # A bare -- would end the flags.
  if [[ "$cur" == -- ]]; then asked+=("-"); elif [[ "$cur" == -* ]]; then asked+=("$cur"); fi
  found=("${(@f)$(${asked} --generate-bash-completion 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then _describe 'values' found; else _files; fi
}
compdef _sftseq sftseq
`
)
