--- Two panes in diff mode: a file before and after a change.

local documents = require("snapd.documents")
local files = require("snapd.daemon.files")
local wording = require("snapd.wording")

local M = {}

---@class snapd.Sides
---@field before integer a buffer
---@field after integer a buffer

--- The window for files in this tab: not that of the steps, nor a float.
---@return integer?
local function main_window()
  local function suits(window)
    local buf = vim.api.nvim_win_get_buf(window)
    return vim.api.nvim_win_get_config(window).relative == "" and vim.bo[buf].filetype ~= "snapd"
  end
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, window in ipairs({ vim.api.nvim_get_current_win(), previous }) do
    if window ~= 0 and suits(window) then
      return window
    end
  end
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(suits)
end

--- Makes a window for files the current one.
function M.go_to_main_window()
  local window = main_window()
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("botright vertical new")
  end
end

--- The panes of this tab that still are there.
---@return integer[] windows
local function panes()
  local found = {}
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.w[window].snapd_pane then
      found[#found + 1] = window
    end
  end
  return found
end

--- Closes the panes of this tab, and restores the previous layout.
function M.close()
  local open = panes()
  for at, window in ipairs(open) do
    vim.api.nvim_win_call(window, function()
      vim.cmd("diffoff")
    end)
    local back = vim.w[window].snapd_pane
    vim.w[window].snapd_pane = nil
    vim.wo[window].winbar = ""
    if at < #open then
      vim.api.nvim_win_close(window, false)
    elseif type(back) == "number" and vim.api.nvim_buf_is_valid(back) then
      vim.api.nvim_win_set_buf(window, back)
    end
  end
end

--- Shows two buffers beside each other, in place of what was compared before.
---@param sides snapd.Sides
---@param file string the name of the file
---@param what string whose change is shown
function M.show(sides, file, what)
  local open = panes()
  if #open == 0 then
    M.go_to_main_window()
  else
    vim.api.nvim_set_current_win(open[1])
    for _, window in ipairs(open) do
      vim.api.nvim_win_call(window, function()
        vim.cmd("diffoff")
      end)
    end
  end
  local left = vim.api.nvim_get_current_win()
  local back = vim.w[left].snapd_pane or vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_buf(left, sides.before)
  local right = open[2]
  if not right then
    vim.cmd("rightbelow vertical split")
    right = vim.api.nvim_get_current_win()
  end
  vim.api.nvim_win_set_buf(right, sides.after)
  local function plain(text)
    return (wording.one_line(text):gsub("%%", "%%%%"))
  end
  for window, side in pairs({ [left] = "before", [right] = "after" }) do
    vim.w[window].snapd_pane = back
    vim.wo[window].winbar = (" %s · %s · %s%%<"):format(side, plain(file), plain(what))
    vim.api.nvim_win_call(window, function()
      vim.cmd("diffthis")
    end)
    local buf = vim.api.nvim_win_get_buf(window)
    if vim.bo[buf].buftype == "nofile" then
      vim.keymap.set("n", "q", M.close, { buffer = buf, desc = "snapd: close the comparison" })
    end
  end
  vim.api.nvim_set_current_win(right)
  vim.cmd("normal! gg")
  if vim.fn.diff_hlID(1, 1) == 0 then
    vim.cmd("silent! normal! ]c")
  end
end

--- The two sides of a file of a change; within a task.
---
--- They are what the step alone changed, if the daemon has that; else the snapshots around the change.
---@param connection snapd.Connection
---@param change { before: string, after?: string, step?: table } `after` is absent for what goes on
---@param file table a FileChange
---@return snapd.Sides
function M.sides(connection, change, file)
  local path = files.path(connection:folder(), file)
  local old_path = file.renamedFrom and vim.fs.joinpath(connection:folder(), file.renamedFrom) or path
  if change.step and change.after and not file.renamedFrom and documents.own_change(connection, change.step, path) then
    local id = change.step.stepId
    return {
      before = documents.open(connection, id .. ".before", path),
      after = documents.open(connection, id .. ".after", path),
    }
  end
  local before = file.status == "added" and documents.nothing(connection, path)
    or documents.open(connection, change.before, old_path)
  local after
  if file.status == "deleted" then
    after = documents.nothing(connection, path)
  elseif change.after then
    after = documents.open(connection, change.after, path)
  else
    after = vim.fn.bufadd(path)
    vim.fn.bufload(after)
    vim.bo[after].buflisted = true
  end
  return { before = before, after = after }
end

return M
