--- Conflicts in the quickfix list.

local files = require("snapd.daemon.files")
local outcomes = require("snapd.operations.outcomes")
local plans = require("snapd.operations.plan")

local M = {}

--- Lists the files of an outcome that conflict, at the first line that both changed, and shows the list.
---@param workspace string
---@param outcome table
---@param title string
---@return integer count
function M.list(workspace, outcome, title)
  local contested = plans.contested(outcome)
  local items = {}
  for _, file in ipairs(outcomes.with(outcome.files, "conflict")) do
    local found = contested[file.file]
    items[#items + 1] = {
      filename = files.path(workspace, file),
      lnum = found and found.dispute and found.dispute.line or 1,
      text = plans.conflict(file, found),
      type = "W",
    }
  end
  if #items > 0 then
    vim.fn.setqflist({}, " ", { title = "snapd: " .. title, items = items })
    local here = vim.api.nvim_get_current_win()
    vim.cmd("botright copen " .. math.min(10, #items + 1))
    vim.api.nvim_set_current_win(here)
  end
  return #items
end

return M
