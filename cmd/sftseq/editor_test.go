package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// nvimScript writes two lists of underlined texts with their labels to the file $FOUND: the list after
// the server's response, and the list after the server was stopped and the file was reopened.
const nvimScript = `
local function show()
  vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
  local found = {}
  for _, d in ipairs(vim.diagnostic.get(0)) do
    local line = vim.api.nvim_buf_get_lines(0, d.lnum, d.lnum + 1, false)[1]
    table.insert(found, d.message:match('^%S+') .. ' ' .. line:sub(d.col + 1, d.end_col))
  end
  return found
end
local first = show()
vim.lsp.stop_client(vim.lsp.get_active_clients(), true)
vim.wait(20000, function() return #vim.lsp.get_active_clients() == 0 end, 20)
vim.diagnostic.reset()
vim.cmd('edit')
vim.fn.writefile({ vim.fn.json_encode({ first, show() }) }, vim.env.FOUND)
vim.cmd('qall!')
`

// TestNeovim checks that Neovim, with the lines of docs/protocol.md in init.lua, underlines the
// spans that predict finds, and underlines them again if the file is reopened after the server has ended.
func TestNeovim(t *testing.T) {
	testenv.NeedPrograms(t, "nvim")
	page := readText(t, "../../docs/protocol.md")
	lua := regexp.MustCompile("(?s)```lua\n(.*?)```").FindStringSubmatch(page)
	if lua == nil {
		t.Fatal("docs/protocol.md has no example for Neovim")
	}
	dir := t.TempDir()
	model := must.Get(filepath.Abs(goldenPath("tagging")))(t)
	init := strings.Replace(strings.Replace(lua[1], "'sftseq', 'serve'", "'"+built(t)+"', 'serve'", 1), "~/runs/notes",
		model, 1)
	writeText(t, filepath.Join(dir, "init.lua"), init)
	writeText(t, filepath.Join(dir, "show.lua"), nvimScript)
	const text = "Ann Lee met\n😀 Zoë in New York.\n"
	writeText(t, filepath.Join(dir, "note.txt"), text)
	found := filepath.Join(dir, "found")
	c := exec.CommandContext(t.Context(), "nvim", "--headless", "-n", "-i", "NONE", "-u",
		filepath.Join(dir, "init.lua"),
		"-c", "filetype on", "-c", "set filetype=text", "-c", "luafile "+filepath.Join(dir, "show.lua"),
		filepath.Join(dir, "note.txt"))
	c.Env = append(os.Environ(), "FOUND="+found, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir,
		"XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("nvim: %v, output:\n%s", err, out)
	}
	var want []string
	var got [][]string
	must.Succeed(t, json.Unmarshal([]byte(readText(t, found)), &got))
	var reply struct {
		Spans []struct {
			Start, End int
			Label      string
		}
	}
	line := must.Get(json.Marshal(map[string]string{"text": text}))(t)
	must.Succeed(t, json.Unmarshal([]byte(succeed(t, string(line), "predict", "--model", model)), &reply))
	for _, x := range reply.Spans {
		want = append(want, x.Label+" "+string([]rune(text)[x.Start:x.End]))
	}
	if len(got) != 2 || !slices.Equal(got[0], want) || !slices.Equal(got[1], want) || len(want) == 0 {
		t.Errorf("got the underlined texts %q, want %q before and after the server was stopped", got, want)
	}
}
