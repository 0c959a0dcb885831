--- Reloads buffers whose files something else wrote.
---
--- Neovim itself reads the file again, so that it is as after 'autoread'. But all of the undo history stays, however long
--- the text, and cursors and marks stay on their lines. A buffer with unsaved text is left alone, always.

local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local folders = require("snapd.daemon.folders")
local task = require("snapd.task")

local M = {}

--- Milliseconds: the daemon takes what an editor reports just after a file changed for typing that is being saved.
local QUIET = 100
local GATHERING = 20

--- Where a line is after a change.
---@param hunks integer[][] as `vim.diff` gives them
---@param line integer from 1
---@return integer
local function moved(hunks, line)
  local shift = 0
  for _, hunk in ipairs(hunks) do
    local start, count, new_start, new_count = unpack(hunk)
    -- a hunk without lines names the line before
    local first = count == 0 and start + 1 or start
    if line < first then
      break
    elseif line < first + count then
      return math.max(1, new_count == 0 and new_start or math.min(new_start + line - first, new_start + new_count - 1))
    end
    shift = shift + new_count - count
  end
  return line + shift
end

---@class snapd.Places where cursors and marks are in a buffer
---@field lines string[]
---@field views table<integer, table> by window
---@field marks table<string, integer[]> line and column of each named mark

---@param buf integer
---@return snapd.Places
local function places(buf)
  local views, marks = {}, {}
  for _, window in ipairs(vim.fn.win_findbuf(buf)) do
    views[window] = vim.api.nvim_win_call(window, vim.fn.winsaveview)
  end
  for letter in ("abcdefghijklmnopqrstuvwxyz"):gmatch(".") do
    local place = vim.api.nvim_buf_get_mark(buf, letter)
    marks[letter] = place[1] > 0 and place or nil
  end
  return { lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true), views = views, marks = marks }
end

--- Puts cursors and marks back on their lines.
---@param buf integer
---@param before snapd.Places
local function put_back(buf, before)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local function joined(list)
    return table.concat(list, "\n") .. "\n"
  end
  local hunks = vim.diff(joined(before.lines), joined(lines), { result_type = "indices", algorithm = "histogram" })
  for window, view in pairs(before.views) do
    local line = math.min(moved(hunks --[[@as integer[][] ]], view.lnum), #lines)
    view.topline = math.max(1, view.topline + line - view.lnum)
    view.lnum = line
    vim.api.nvim_win_call(window, function()
      vim.fn.winrestview(view)
    end)
  end
  for letter, place in pairs(before.marks) do
    local line = math.min(moved(hunks --[[@as integer[][] ]], place[1]), #lines)
    vim.api.nvim_buf_set_mark(buf, letter, line, math.min(place[2], #lines[line]), {})
  end
end

--- Has Neovim read a file again, if it is another than Neovim knows.
---@param buf integer
---@return boolean changed
local function read_again(buf)
  local before = places(buf)
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local limit = vim.go.undoreload
  -- by default, the reload of a long text forgets what could be undone
  vim.go.undoreload = -1
  vim.cmd("silent! checktime " .. buf)
  vim.go.undoreload = limit
  if not vim.api.nvim_buf_is_loaded(buf) or vim.api.nvim_buf_get_changedtick(buf) == tick then
    return false
  end
  put_back(buf, before)
  return true
end

--- Whether a buffer is to be read again without a question.
---@param buf integer
---@return boolean
local function reads_by_itself(buf)
  return vim.api.nvim_buf_call(buf, function()
    return vim.o.autoread
  end)
end

--- Milliseconds since a file changed.
---@param status table
---@return number
local function age_of(status)
  local seconds, microseconds = vim.uv.gettimeofday()
  return (seconds - status.ctime.sec) * 1000 + microseconds / 1000 - status.ctime.nsec / 1e6
end

--- Reloads a buffer from disk; within a task.
---@param buf integer
---@return "same"|"reloaded"|"unsaved"|"gone"|"asks" became "asks" where 'autoread' is off
function M.reload(buf)
  local path = folders.path_of(buf)
  local status = path and vim.uv.fs_stat(path)
  if not path or not status then
    return "gone"
  end
  local age = age_of(status)
  if age >= 0 and age < QUIET then
    task.sleep(math.ceil(QUIET - age))
  end
  if not vim.api.nvim_buf_is_loaded(buf) then
    return "same"
  elseif vim.bo[buf].modified then
    return "unsaved"
  elseif not reads_by_itself(buf) then
    return "asks"
  end
  return read_again(buf) and "reloaded" or "same"
end

local WRITTEN = { restored = true, merged = true, deleted = true }

--- Messages about a buffer whose file an operation wrote.
local TOLD = {
  unsaved = "%s changed on disk and has unsaved text here, which stays. :e! takes the file, :w! the text.",
  gone = "%s is no longer on disk. The buffer keeps its text; :w writes it again.",
  asks = "%s changed on disk. :e shows it as it is now.",
}

---@type table<integer, string> the file of each buffer as it was when it was last looked at
local stamps = {}
---@type table<snapd.Connection, fun()>
local looks = {}

--- The state of a file, to detect changes.
---@param path string
---@return string
local function stamp(path)
  local status = vim.uv.fs_stat(path)
  if not status then
    return "none"
  end
  local mtime, ctime = status.mtime, status.ctime
  return table.concat({ status.ino, status.size, mtime.sec, mtime.nsec, ctime.sec, ctime.nsec }, " ")
end

--- Makes the next check read the file of a buffer in any case.
---@param buf integer
function M.forget(buf)
  stamps[buf] = nil
end

--- Reloads the buffers of a connection whose files are no longer as they were; within a task.
---@param connection snapd.Connection
---@param written table[] the FileOutcomes of operations, of which people have to know
local function follow(connection, written)
  local named = {} ---@type table<string, string> names by path
  for _, file in ipairs(written) do
    named[folders.real(files.path(connection:folder(), file))] = file.file
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local path = vim.api.nvim_buf_is_loaded(buf) and connection:has(buf) and folders.path_of(buf) or nil
    local name = path and named[path]
    if path and (name or stamp(path) ~= stamps[buf]) then
      local now = stamp(path)
      local became = M.reload(buf)
      stamps[buf] = now
      if name and TOLD[became] then
        vim.notify("snapd: " .. TOLD[became]:format(name), vim.log.levels.WARN)
      end
    end
  end
end

--- Follows notifications about a folder's files.
---@param connection snapd.Connection
function M.watch(connection)
  local written = {} ---@type table[]
  local soon = task.coalesced(GATHERING, function()
    local now = written
    written = {}
    follow(connection, now)
  end, function(err)
    if not (errors.is_error(err) and err.kind == "connectionLost") then
      errors.show("reload the buffers", err)
    end
  end)
  connection:listen(function(method, params)
    if method == "snapshot/didRevert" then
      vim.list_extend(
        written,
        vim.tbl_filter(function(file)
          return WRITTEN[file.outcome]
        end, params.files)
      )
    end
    soon()
  end)
  looks[connection] = soon
end

--- Looks soon whether files of a connection changed behind their buffers.
---@param connection snapd.Connection
function M.look(connection)
  looks[connection]()
end

return M
