--- The window with the steps: a tree that follows what agents do, with the cursor staying on its row.

local actions = require("snapd.history.actions")
local config = require("snapd.config")
local models = require("snapd.history.model")
local outline = require("snapd.history.outline")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("snapd.history")

---@class snapd.View
---@field model snapd.Model
---@field buf integer
---@field rows snapd.Row[]
---@field private folded table<string, boolean>
local View = {}
View.__index = View

---@type table<string, snapd.View>
local views = {}

---@return integer[] windows that show it
function View:windows()
  return vim.fn.win_findbuf(self.buf)
end

--- The first line: the folder, and the state of a missing connection.
---@private
---@return string
function View:title()
  local name = vim.fs.basename(self.model.connection.workspace or self.model.connection.root)
  local state = self.model.connection.state
  if state ~= "ready" then
    local words = { idle = "not connected", waiting = "connecting again…", connecting = "connecting…" }
    return name .. " · " .. words[state]
  end
  return self.model.loaded and name or name .. " · reading…"
end

--- Draws the rows. A window's cursor stays on its row, or else on its line.
function View:draw()
  local at = {}
  for _, window in ipairs(self:windows()) do
    local line = vim.api.nvim_win_get_cursor(window)[1]
    at[window] = { line = line, key = self.rows[line - 1] and self.rows[line - 1].key }
  end
  self.rows = outline.rows(self.model, self.folded)
  local lines, marks = { self:title() }, { { 0, 0, #self:title(), "SnapdTitle" } }
  local line_of = {}
  for number, row in ipairs(self.rows) do
    line_of[row.key] = number + 1
    local text = ("  "):rep(row.depth) .. (row.folds and (row.open and "▾ " or "▸ ") or "  ")
    for _, chunk in ipairs(row.chunks) do
      local from = #text
      text = text .. chunk[1]
      if chunk[2] then
        marks[#marks + 1] = { number, from, #text, chunk[2] }
      end
    end
    lines[#lines + 1] = text
  end
  vim.bo[self.buf].modifiable = true
  vim.api.nvim_buf_set_lines(self.buf, 0, -1, true, lines)
  vim.bo[self.buf].modifiable = false
  vim.bo[self.buf].modified = false
  vim.api.nvim_buf_clear_namespace(self.buf, NAMESPACE, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(self.buf, NAMESPACE, mark[1], mark[2], { end_col = mark[3], hl_group = mark[4] })
  end
  for window, was in pairs(at) do
    local line = math.min(was.key and line_of[was.key] or was.line, #lines)
    vim.api.nvim_win_set_cursor(window, { line, 0 })
  end
end

--- The row under the cursor.
---@return snapd.Row?
function View:row()
  return self.rows[vim.api.nvim_win_get_cursor(0)[1] - 1]
end

--- Folds or unfolds the row under the cursor; false if it does not fold.
---@return boolean
function View:toggle()
  local row = self:row()
  if not row or not row.folds then
    return false
  end
  self.folded[row.key] = row.open
  self:draw()
  return true
end

---@private
function View:map()
  local function map(keys, run, desc)
    vim.keymap.set("n", keys, run, { buffer = self.buf, nowait = true, silent = true, desc = "snapd: " .. desc })
  end
  for _, action in ipairs(actions.KEYS) do
    map(action.key, function()
      action.run(self)
    end, action.desc)
  end
end

---@param model snapd.Model
---@return snapd.View
local function make(model)
  local buf = vim.api.nvim_create_buf(false, true)
  local view = setmetatable({ model = model, buf = buf, rows = {}, folded = {} }, View)
  vim.api.nvim_buf_set_name(buf, "snapd-steps://" .. model.connection.root)
  vim.bo[buf].filetype = "snapd"
  vim.bo[buf].modifiable = false
  vim.b[buf].snapd_root = model.connection.root
  view:map()
  local function redraw()
    view:draw()
  end
  model:listen(redraw)
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buf,
    callback = function()
      model:leave(redraw)
      views[model.connection.root] = nil
    end,
  })
  return view
end

--- Opens the window with the steps of a folder in this tab, or goes there.
---@param connection snapd.Connection
function M.open(connection)
  local view = views[connection.root]
  if not view then
    view = make(models.of(connection))
    views[connection.root] = view
  end
  for _, window in ipairs(view:windows()) do
    if vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage() then
      vim.api.nvim_set_current_win(window)
      view.model.refresh()
      return
    end
  end
  vim.cmd("topleft vertical " .. config.get().width .. "new")
  local window = vim.api.nvim_get_current_win()
  local empty = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_buf(window, view.buf)
  vim.api.nvim_buf_delete(empty, {})
  for name, value in pairs({
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    wrap = false,
    list = false,
    spell = false,
    cursorline = true,
    winfixwidth = true,
    fillchars = "eob: ",
    statusline = " agent steps%=? keys ",
  }) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = "local" })
  end
  view:draw()
  view.model.refresh()
end

--- Opens the window with the steps of a folder, or closes it in this tab.
---@param connection snapd.Connection
function M.toggle(connection)
  local view = views[connection.root]
  for _, window in ipairs(view and view:windows() or {}) do
    if vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage() then
      M.close(window)
      return
    end
  end
  M.open(connection)
end

--- Closes a window with steps; the last window of Neovim shows something else instead.
---@param window integer
function M.close(window)
  if #vim.api.nvim_list_tabpages() == 1 and vim.fn.winnr("$") == 1 then
    vim.api.nvim_win_call(window, function()
      vim.cmd("enew")
    end)
  else
    vim.api.nvim_win_close(window, false)
  end
end

return M
