--- Who wrote the line under the cursor, as virtual text behind it.

local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local folders = require("snapd.daemon.folders")
local task = require("snapd.task")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("snapd.blame")
local GATHERING = 50

local is_on = false
---@type table<integer, table[]> the BlamedLines of each buffer
local known = {}
---@type table<string, string> what each step is called
local names = {}

---@param buf integer
local function clear(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
  end
end

--- What a step is called; within a task.
---@param connection snapd.Connection
---@param id string
---@return string
local function name_of(connection, id)
  if not names[id] then
    local step = connection:ask("step/find", { prefix = id }).steps[1]
    local name = step and (step.description or step.tool)
    names[id] = name and wording.one_line(name, 60) or ""
  end
  return names[id]
end

--- Who wrote some lines, in words; within a task.
---@param connection snapd.Connection
---@param lines table BlamedLines
---@return string
function M.words(connection, lines)
  if lines.author == "before" then
    local commit, noted = lines.commit, lines.noted
    if not commit then
      return "there before any agent"
    end
    local who = noted and (noted.agent and words.agent_title(noted.agent) or noted.person) or commit.author
    local text = ("%s, %s, git %s"):format(wording.one_line(who, 30), wording.ago(commit.at), commit.id:sub(1, 8))
    return commit.summary ~= "" and text .. " · " .. wording.one_line(commit.summary, 60) or text
  end
  local who = lines.author == "user" and "you"
    or lines.author == "unknown" and "unknown"
    or wording.one_line(lines.agent and words.agent_title(lines.agent) or "an agent", 30)
  local parts = { who }
  if lines.at then
    parts[#parts + 1] = wording.ago(lines.at)
  end
  local name = lines.stepId and name_of(connection, lines.stepId) or ""
  return table.concat(parts, ", ") .. (name ~= "" and " · " .. name or "")
end

--- Shows who wrote the line under the cursor; within a task.
local function show()
  local buf = vim.api.nvim_get_current_buf()
  clear(buf)
  local connection = is_on and folders.of_buffer(buf)
  local path = folders.path_of(buf)
  -- the daemon knows the lines of the file, not unsaved ones
  if not connection or not path or vim.bo[buf].modified or not vim.uv.fs_stat(path) then
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  if not known[buf] then
    known[buf] = connection:ask("snapshot/blame", { file = files.uri(path) }, buf).lines
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local found = vim.iter(known[buf]):find(function(each)
    return each.start <= line and line < each.start + each.count
  end)
  local words = found and M.words(connection, found)
  local is_same = vim.api.nvim_get_current_buf() == buf
    and vim.api.nvim_buf_get_changedtick(buf) == tick
    and vim.api.nvim_win_get_cursor(0)[1] == line
  if words and is_same and is_on then
    clear(buf)
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, line - 1, 0, {
      virt_text = { { "  " .. words, "SnapdBlame" } },
      hl_mode = "combine",
    })
  end
end

local refresh = task.coalesced(GATHERING, show, function(err)
  local is_expected = errors.is_error(err)
    and vim.list_contains({ "connectionLost", "fileNotInSnapshot", "pathOutsideWorkspace" }, err.kind)
  if not is_expected then
    errors.show("show who wrote the line", err)
  end
end)

--- Turns it on or off, for all buffers.
function M.toggle()
  is_on = not is_on
  known = {}
  if is_on then
    refresh()
  else
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      clear(buf)
    end
  end
end

--- The cursor moved, or the text changed.
function M.moved()
  if is_on then
    refresh()
  end
end

--- A file may have changed.
---@param buf? integer nil for any
function M.changed(buf)
  if not is_on then
    return
  elseif buf then
    known[buf] = nil
  else
    known = {}
  end
  refresh()
end

--- Follows the daemon's notifications.
---@param connection snapd.Connection
function M.watch(connection)
  connection:listen(function(method)
    if method ~= "snapd/state" or connection.state == "ready" then
      M.changed()
    end
  end)
end

return M
