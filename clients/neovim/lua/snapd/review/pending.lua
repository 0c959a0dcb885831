--- Pending changes: compared, kept, and undone.

local act = require("snapd.operations.act")
local diff = require("snapd.diff")
local documents = require("snapd.documents")
local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local floats = require("snapd.floats")
local folders = require("snapd.daemon.folders")
local marks = require("snapd.review.marks")
local pages = require("snapd.daemon.pages")
local task = require("snapd.task")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

local MOST_LISTED = 100

--- The two sides of a file with pending changes: its baseline and the current file; within a task.
---@param connection snapd.Connection
---@param file table PendingFile
---@return snapd.Sides
function M.sides(connection, file)
  local path = files.path(connection:folder(), file)
  local after
  if file.status == "deleted" then
    after = documents.nothing(connection, path)
  else
    after = vim.fn.bufadd(path)
    vim.fn.bufload(after)
    vim.bo[after].buflisted = true
  end
  return { before = documents.open(connection, "baseline", path), after = after }
end

---@param buf integer
local function need_saved(buf)
  if vim.bo[buf].modified then
    error(errors.new("The buffer has unsaved text.", "Save it first: the hunks are those of the file."), 0)
  end
end

--- Compares the file in the current window with its baseline.
function M.compare()
  task.start("compare the file with its baseline", function()
    local connection, buf, path = folders.here()
    local sides = { before = documents.open(connection, "baseline", path), after = buf }
    diff.show(sides, vim.fs.basename(path), "pending")
  end)
end

--- The current pending hunk under the cursor; within a task.
---@param connection snapd.Connection
---@param buf integer
---@return table file
---@return table hunk
local function hunk_under_cursor(connection, buf)
  need_saved(buf)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local file = marks.file(buf)
  if not file then
    marks.read(connection, buf)
    file = marks.file(buf)
  end
  local placed = file and marks.at(buf, line)
  if not placed then
    error(errors.new("There is no pending hunk under the cursor.", "]s goes to the next one."), 0)
  end
  return file, placed.hunk
end

--- What a request is about: a hunk, or the whole file if nothing smaller can be kept or reverted.
---@param file table
---@param hunk table
---@return table
local function params_of(file, hunk)
  local name = files.request_name(file)
  local expect = { [name] = file.id }
  if file.status ~= "modified" then
    return { files = { name }, expect = expect }
  end
  return { file = name, hunks = { hunk.index }, expect = expect }
end

--- Keeps the hunk under the cursor.
function M.keep_hunk()
  task.start("keep the hunk", function()
    local connection, buf = folders.here()
    local file, hunk = hunk_under_cursor(connection, buf)
    connection:ask("review/keep", params_of(file, hunk), buf)
    marks.read(connection, buf)
    local left = #marks.placed(buf)
    vim.notify(("snapd: kept. %s left in this file."):format(wording.counted(left, "hunk")))
  end)
end

--- Undoes the hunk under the cursor.
function M.undo_hunk()
  task.start("undo the hunk", function()
    local connection, buf = folders.here()
    local file, hunk = hunk_under_cursor(connection, buf)
    act.at_once(connection, {
      aim = "undo the hunk",
      done = "undid the hunk",
      method = "review/revert",
      params = params_of(file, hunk),
    })
  end)
end

--- Who made a hunk, for people.
---@param connection snapd.Connection
---@param owners table[]
---@return string[]
local function makers(connection, owners)
  local lines = {}
  for _, owner in ipairs(owners) do
    local step = connection:ask("step/find", { prefix = owner.stepId }).steps[1]
    if step then
      local name = step.description or step.tool
      local who = wording.one_line(step.agent and words.agent_title(step.agent) or "an agent", 30)
      lines[#lines + 1] = who
        .. (name and ": " .. wording.one_line(name, 60) or "")
        .. ", "
        .. wording.ago(step.startedAt)
    end
  end
  return lines
end

--- Shows the hunk under the cursor: who made it, and the lines that went and came.
function M.show_hunk()
  task.start("show the hunk", function()
    local connection, buf = folders.here()
    local file, hunk = hunk_under_cursor(connection, buf)
    local lines = makers(connection, hunk.owners)
    local groups = { ["+"] = "SnapdAdded", ["-"] = "SnapdDeleted" }
    local found = {}
    lines[#lines + 1] = ""
    for _, line in ipairs(hunk.lines) do
      lines[#lines + 1] = line
      local group = groups[line:sub(1, 1)]
      if group then
        found[#found + 1] = { #lines - 1, 0, #line, group }
      end
    end
    floats.show(lines, file.file, { marks = found })
  end)
end

--- Keeps what is pending in files.
---@param connection snapd.Connection
---@param list table[] PendingFile
---@param what string
function M.keep_files(connection, list, what)
  task.start("keep " .. what, function()
    local names, expect = {}, {}
    for _, file in ipairs(list) do
      names[#names + 1] = files.request_name(file)
      expect[files.request_name(file)] = file.id
    end
    connection:ask("review/keep", { files = names, expect = expect })
    marks.refresh(connection)
    vim.notify(("snapd: kept %s."):format(what))
  end)
end

--- Undoes what is pending in files.
---@param connection snapd.Connection
---@param list table[] PendingFile
---@param what string
function M.undo_files(connection, list, what)
  local names, expect = {}, {}
  for _, file in ipairs(list) do
    names[#names + 1] = files.request_name(file)
    expect[files.request_name(file)] = file.id
  end
  act.run(connection, {
    aim = "undo what is pending in " .. what,
    done = "undid what was pending in " .. what,
    method = "review/revert",
    params = { files = names, expect = expect },
  })
end

--- Asks, then keeps everything that is pending and was listed.
---@param connection snapd.Connection
---@param list table[] PendingFile
function M.keep_all(connection, list)
  local what = "all that is pending in " .. wording.counted(#list, "file")
  floats.show({ "y   keep it", "q   change nothing" }, "Keep " .. what .. "?", {
    keys = {
      y = function()
        M.keep_files(connection, list, what)
      end,
    },
  })
end

--- The file in the current window as `review/file` has it; within a task.
---@return snapd.Connection
---@return table file
local function file_here()
  local connection, buf, path = folders.here()
  need_saved(buf)
  local file = connection:ask("review/file", { file = files.uri(path) }, buf)
  if #file.owners == 0 then
    error(errors.new("Nothing is pending in this file."), 0)
  end
  return connection, file
end

--- Keeps what is pending in the file of the current window.
function M.keep_file()
  task.start("keep the file", function()
    local connection, file = file_here()
    M.keep_files(connection, { file }, wording.one_line(file.file))
  end)
end

--- Undoes what is pending in the file of the current window.
function M.undo_file()
  task.start("undo the file", function()
    local connection, file = file_here()
    M.undo_files(connection, { file }, wording.one_line(file.file))
  end)
end

--- Puts all pending hunks of a folder into the quickfix list.
---@param connection snapd.Connection
function M.list(connection)
  task.start("list what is pending", function()
    local workspace = connection:folder()
    local list, has_more = pages.read(connection, "review/list", { limit = MOST_LISTED }, "files", MOST_LISTED)
    local items = {}
    for _, file in ipairs(list) do
      local found = file.hunks > 0 and file.status ~= "deleted"
      local shown = found and connection:ask("review/file", { file = files.request_name(file) }) or { hunks = {} }
      for _, hunk in ipairs(shown.hunks) do
        local changes = require("snapd.review.hunks").changes(hunk)
        local line = changes[1] and changes[1].line or 1
        local text = vim.iter(hunk.lines):find(function(each)
          return each:match("^[+-]")
        end)
        items[#items + 1] = { filename = files.path(workspace, file), lnum = line, text = wording.one_line(text or "") }
      end
      if #shown.hunks == 0 then
        items[#items + 1] = { filename = files.path(workspace, file), lnum = 1, text = file.status }
      end
    end
    if #items == 0 then
      vim.notify("snapd: nothing is pending.")
      return
    end
    local more = has_more and (", the first %d files"):format(#list) or ""
    vim.fn.setqflist({}, " ", { title = "snapd: pending hunks" .. more, items = items })
    vim.cmd("botright copen")
  end)
end

return M
