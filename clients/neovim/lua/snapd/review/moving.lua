--- Goes from pending hunk to pending hunk.

local marks = require("snapd.review.marks")

local M = {}

--- Moves the cursor to a hunk after or before it; 'wrapscan' says whether the search goes around the end.
---@param direction 1|-1
---@param count? integer
function M.go(direction, count)
  local placed = marks.placed(vim.api.nvim_get_current_buf())
  if #placed == 0 then
    vim.notify("snapd: nothing is pending in this file.", vim.log.levels.INFO)
    return
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  for _ = 1, count or 1 do
    local starts = vim.tbl_map(function(each)
      return each.first
    end, placed)
    if direction < 0 then
      table.sort(starts, function(one, other)
        return one > other
      end)
    end
    local found = vim.iter(starts):find(function(start)
      return (start - line) * direction > 0
    end)
    if not found and not vim.o.wrapscan then
      vim.notify("snapd: there is no other pending hunk in this direction.", vim.log.levels.INFO)
      return
    end
    line = found or starts[1]
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd("normal! zv")
end

return M
