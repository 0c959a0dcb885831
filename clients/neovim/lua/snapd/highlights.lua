--- The highlight groups of the plugin; each links to one that colour schemes have.

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
}

--- Defines them, where nobody has.
function M.define()
  for name, link in pairs(GROUPS) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

return M
