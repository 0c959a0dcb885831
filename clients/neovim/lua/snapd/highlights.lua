--- The highlight groups of the plugin; each links to one that colour schemes have.

local words = require("snapd.words")

local M = {}

local GROUPS = {
  SnapdTitle = "Title",
  SnapdPrompt = "String",
  SnapdAgent = "Identifier",
  SnapdTool = "Function",
  SnapdDim = "Comment",
  SnapdOpen = "DiagnosticInfo",
  SnapdApplied = "DiagnosticOk",
  SnapdPartly = "DiagnosticWarn",
  SnapdUndone = "Comment",
  SnapdAdded = "Added",
  SnapdDeleted = "Removed",
  SnapdChanged = "Changed",
  SnapdConflict = "DiagnosticError",
  SnapdKey = "Special",
  SnapdBlame = "NonText",
  SnapdComment = "DiagnosticInfo",
}

--- The group of an agent: the colour that the agent has everywhere.
---@param agent? string
---@return string
function M.agent(agent)
  return agent and "SnapdAgent_" .. words.agent_colour(agent).name or "SnapdAgent"
end

--- Defines them, where nobody has.
function M.define()
  for _, colour in ipairs(words.PALETTE) do
    local fg = vim.o.background == "light" and colour.light or colour.dark
    vim.api.nvim_set_hl(0, "SnapdAgent_" .. colour.name, { fg = fg, ctermfg = colour.terminal, default = true })
  end
  for name, link in pairs(GROUPS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
