package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a shell completion script",
		ArgsUsage: "bash|zsh|fish|powershell",
		UsageText: `sftseq completion bash|zsh|fish|powershell

Example: source <(sftseq completion bash)
         sftseq completion fish > ~/.config/fish/completions/sftseq.fish
         sftseq completion powershell | Out-String | Invoke-Expression`,
		Action: completion,
		BashComplete: func(c *cli.Context) {
			if c.NArg() == 0 {
				fmt.Fprintln(c.App.Writer, strings.ReplaceAll(shells, ", ", "\n"))
			}
		},
	}
}

const shells = "bash, zsh, fish, powershell"

func completion(c *cli.Context) error {
	if c.NArg() != 1 {
		return usage(c, "expected one of "+shells)
	}
	var script string
	switch shell := c.Args().First(); shell {
	case "bash":
		script = bashCompletion
	case "zsh":
		script = zshCompletion
	case "powershell":
		script = powershellCompletion
	case "fish":
		text, err := c.App.ToFishCompletion()
		if err != nil {
			return err
		}
		script = strings.TrimRight(text, "\n") + "\n"
	default:
		return usage(c, "unknown shell %q: expected one of "+shells, shell)
	}
	_, err := io.WriteString(c.App.Writer, script)
	return err
}

// The scripts call the program with --generate-bash-completion. The program then prints the
// possible next words, for zsh with their descriptions. If it prints none, the shell offers file
// names.
const (
	bashCompletion = `_sftseq() {
  local cur words
  cur="${COMP_WORDS[COMP_CWORD]}"
  words=("${COMP_WORDS[@]:0:$COMP_CWORD}")
  # A bare -- would end the flags.
  if [[ "$cur" == -- ]]; then words+=("-"); elif [[ "$cur" == -* ]]; then words+=("$cur"); fi
  COMPREPLY=($(compgen -W "$(SHELL=bash "${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
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
  found=("${(@f)$(SHELL=zsh ${asked} --generate-bash-completion 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then _describe 'values' found; else _files; fi
}
compdef _sftseq sftseq
# As a file in fpath, this script is the function itself when it is first called.
if [[ "${funcstack[1]}" == _sftseq ]]; then _sftseq; fi
`
	powershellCompletion = `Register-ArgumentCompleter -Native -CommandName sftseq -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
  if ($wordToComplete -ne '') { $words = @($words | Select-Object -SkipLast 1) }
  # A bare -- would end the flags.
  if ($wordToComplete -eq '--') { $words += '-' } elseif ($wordToComplete -like '-*') { $words += $wordToComplete }
  $arguments = @($words | Select-Object -Skip 1) + '--generate-bash-completion'
  & $words[0] @arguments 2>$null | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
)
