--- Pending hunks in buffers: signs, and the position of each hunk during edits.

local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local folders = require("snapd.daemon.folders")
local hunks = require("snapd.review.hunks")
local task = require("snapd.task")

local M = {}

local SIGNS = vim.api.nvim_create_namespace("snapd.signs")
local SPANS = vim.api.nvim_create_namespace("snapd.hunks")
local GATHERING = 50
local LOOKS = {
  added = { "┃", "SnapdAdded" },
  changed = { "┃", "SnapdChanged" },
  deleted = { "▁", "SnapdDeleted" },
}

---@class snapd.Shown a file as `review/file` gave it
---@field file table
---@field marks table<integer, table> the hunk of each extmark
---@field outdated boolean whether the buffer was saved since

---@type table<integer, snapd.Shown> by buffer
local shown = {}
---@type table<snapd.Connection, fun()>
local refreshers = {}

--- Takes signs and hunks out of a buffer.
---@param buf integer
local function clear(buf)
  shown[buf] = nil
  vim.api.nvim_buf_clear_namespace(buf, SIGNS, 0, -1)
  vim.api.nvim_buf_clear_namespace(buf, SPANS, 0, -1)
end

--- Whether a buffer has the lines of its hunks: it may not have been reloaded yet.
---@param buf integer
---@param list table[] PendingHunks
---@return boolean
local function has_lines(buf, list)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  for _, hunk in ipairs(list) do
    local at = hunk.newStart
    for _, text in ipairs(hunk.lines) do
      local sign = text:sub(1, 1)
      if sign == " " or sign == "+" then
        -- a buffer has neither the byte order mark nor the carriage return of a line end
        local wanted = text:sub(2):gsub("\r$", ""):gsub("^\239\187\191", "")
        if (lines[at] or ""):gsub("\r$", "") ~= wanted then
          return false
        end
        at = at + 1
      end
    end
  end
  return true
end

--- Puts the pending hunks of a file into its buffer.
---@param buf integer
---@param file table the result of `review/file`
local function place(buf, file)
  clear(buf)
  local count = vim.api.nvim_buf_line_count(buf)
  local marks = {}
  for _, hunk in ipairs(file.hunks) do
    local changes = hunks.changes(hunk)
    if #changes > 0 then
      local span = hunks.span(changes)
      local first, last = math.min(span.first, count), math.min(span.last, count)
      local mark = vim.api.nvim_buf_set_extmark(buf, SPANS, first - 1, 0, { end_row = last - 1, end_col = 0 })
      marks[mark] = hunk
    end
    for _, change in ipairs(changes) do
      local look = LOOKS[change.kind]
      for line = change.line, change.line + math.max(1, change.count) - 1 do
        if line <= count then
          local options = { sign_text = look[1], sign_hl_group = look[2], priority = 8 }
          vim.api.nvim_buf_set_extmark(buf, SIGNS, line - 1, 0, options)
        end
      end
    end
  end
  shown[buf] = { file = file, marks = marks, outdated = false }
end

--- Whether an answer says that there is nothing to show: nothing is pending, or the file is none of the folder.
---@param err any
---@return boolean
local function is_nothing(err)
  if not errors.is_error(err) then
    return false
  end
  return err.kind == "pathOutsideWorkspace" or (err.kind == "invalidParams" and err.data.field == "file")
end

--- Reads what is pending in a buffer's file; within a task. Edited hunks are skipped until the buffer is saved.
---@param connection snapd.Connection
---@param buf integer
local function read(connection, buf)
  local path = folders.path_of(buf)
  if not path or vim.bo[buf].modified then
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local ok, file = pcall(connection.ask, connection, "review/file", { file = files.uri(path) }, buf)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  elseif not ok then
    clear(buf)
    if not is_nothing(file) then
      error(file, 0)
    end
  elseif vim.api.nvim_buf_get_changedtick(buf) == tick then
    if has_lines(buf, file.hunks) then
      place(buf, file)
    else
      clear(buf)
    end
  end
end

--- Schedules a new read of what is pending in the visible buffers.
---@param connection snapd.Connection
function M.refresh(connection)
  if not refreshers[connection] then
    refreshers[connection] = task.coalesced(GATHERING, function()
      for _, buf in ipairs(folders.visible(connection)) do
        read(connection, buf)
      end
    end, function(err)
      if not (errors.is_error(err) and err.kind == "connectionLost") then
        errors.show("read what is pending", err)
      end
    end)
  end
  refreshers[connection]()
end

--- Reads what is pending in a buffer; within a task.
---@param connection snapd.Connection
---@param buf integer
function M.read(connection, buf)
  read(connection, buf)
end

--- Follows the daemon's notifications.
---@param connection snapd.Connection
function M.watch(connection)
  connection:listen(function(method)
    if method ~= "snapd/state" or connection.state == "ready" then
      M.refresh(connection)
    end
  end)
end

--- Forgets a buffer.
---@param buf integer
function M.forget(buf)
  shown[buf] = nil
end

--- Marks what was read of a buffer's file as outdated.
---@param buf integer
function M.outdate(buf)
  if shown[buf] then
    shown[buf].outdated = true
  end
end

--- What is shown of a buffer's file; nil if unknown or outdated.
---@param buf integer
---@return table?
function M.file(buf)
  return shown[buf] and not shown[buf].outdated and shown[buf].file or nil
end

---@class snapd.Placed
---@field hunk table a PendingHunk
---@field first integer its first line now, from 1
---@field last integer

--- The hunks of a buffer where they are now, from top to bottom.
---@param buf integer
---@return snapd.Placed[]
function M.placed(buf)
  local found = {}
  for _, mark in ipairs(shown[buf] and vim.api.nvim_buf_get_extmarks(buf, SPANS, 0, -1, { details = true }) or {}) do
    local hunk = shown[buf].marks[mark[1]]
    if hunk then
      found[#found + 1] = { hunk = hunk, first = mark[2] + 1, last = (mark[4].end_row or mark[2]) + 1 }
    end
  end
  table.sort(found, function(one, other)
    return one.first < other.first
  end)
  return found
end

--- The hunk at a line.
---@param buf integer
---@param line integer from 1
---@return snapd.Placed?
function M.at(buf, line)
  return vim.iter(M.placed(buf)):find(function(placed)
    return placed.first <= line and line <= placed.last
  end)
end

return M
