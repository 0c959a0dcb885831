--- Floating windows: text to read, and keys that answer a question.

local wording = require("snapd.wording")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("snapd.floats")

---@class snapd.FloatOptions
---@field keys? table<string, fun(line: integer)> what keys do besides closing it, with the cursor's line; it is closed before
---@field cursor? integer the line where the cursor begins
---@field on_close? fun() it was closed without one of these keys
---@field marks? { [1]: integer, [2]: integer, [3]: integer, [4]: string }[] line, columns from 0, and highlight group

--- Shows lines in the middle of the screen.
---@param lines string[]
---@param title string
---@param options? snapd.FloatOptions
---@return integer window
function M.show(lines, title, options)
  options = options or {}
  local buf = vim.api.nvim_create_buf(false, true)
  local shown, width = {}, vim.fn.strdisplaywidth(title) + 4
  for at, line in ipairs(lines) do
    shown[at] = " " .. line:gsub("[%z\1-\8\10-\31\127]", " ") .. " "
    width = math.max(width, vim.fn.strdisplaywidth(shown[at]))
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, shown)
  for _, mark in ipairs(options.marks or {}) do
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, mark[1], mark[2] + 1, { end_col = mark[3] + 1, hl_group = mark[4] })
  end
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = "wipe"
  width = math.max(20, math.min(width, vim.o.columns - 4))
  local height = math.max(1, math.min(#shown, vim.o.lines - 6))
  local window = vim.api.nvim_open_win(buf, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    style = "minimal",
    border = "rounded",
    title = " " .. wording.one_line(title, width - 2) .. " ",
    title_pos = "center",
  })
  if options.cursor then
    vim.api.nvim_win_set_cursor(window, { math.min(options.cursor, #shown), 0 })
  end
  local answered = false
  local function close()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  local function map(key, run)
    vim.keymap.set("n", key, function()
      answered = run ~= nil
      local line = vim.api.nvim_win_get_cursor(window)[1]
      close()
      if run then
        run(line)
      end
    end, { buffer = buf, nowait = true, silent = true })
  end
  for _, key in ipairs({ "q", "<Esc>" }) do
    map(key)
  end
  for key, run in pairs(options.keys or {}) do
    map(key, run)
  end
  vim.api.nvim_create_autocmd({ "BufLeave", "BufWipeout" }, {
    buffer = buf,
    once = true,
    callback = function()
      -- a float that is left is closed: it would hide what is below
      vim.schedule(function()
        close()
        if not answered and options.on_close then
          options.on_close()
        end
      end)
    end,
  })
  return window
end

return M
