--- What the keys in the window with the steps do.

local diff = require("snapd.diff")
local files = require("snapd.daemon.files")
local floats = require("snapd.floats")
local outline = require("snapd.history.outline")
local pending = require("snapd.review.pending")
local task = require("snapd.task")
local undoing = require("snapd.operations.undoing")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

--- Shows what the row under the cursor changed in its file.
---@param view snapd.View
---@param row snapd.Row
local function show_file(view, row)
  local connection = view.model.connection
  task.start("show the file", function()
    local sides, what
    if row.kind == "pendingFile" then
      sides = pending.sides(connection, row.file)
      what = "pending"
    else
      local entry = row.entry --[[@as table]]
      local step = entry.step
      sides = diff.sides(connection, { before = entry.before, after = entry.after, step = step }, row.file)
      what = step and outline.step_name(step) or wording.clock(entry.at)
    end
    diff.show(sides, row.file.file, what)
  end)
end

--- Opens what is under the cursor: the changes of a file, what stands below a row, or older entries.
---@param view snapd.View
function M.open(view)
  local row = view:row()
  if not row then
    return
  elseif row.file then
    show_file(view, row)
  elseif row.kind == "more" then
    view.model:read_more()
  else
    view:toggle()
  end
end

--- Opens the current version of the file under the cursor.
---@param view snapd.View
function M.edit(view)
  local row = view:row()
  if not row or not row.file then
    return
  end
  local path = files.path(view.model.connection.workspace, row.file)
  if not vim.uv.fs_stat(path) then
    vim.notify(("snapd: %s no longer exists."):format(row.file.file), vim.log.levels.WARN)
    return
  end
  diff.close()
  diff.go_to_main_window()
  vim.cmd.edit({ path, magic = { file = false, bar = false } })
end

--- Shows the details of the row under the cursor.
---@param view snapd.View
function M.details(view)
  local row = view:row()
  if not row then
    return
  end
  local lines = {}
  local function add(name, value)
    if value then
      lines[#lines + 1] = ("%-9s %s"):format(name, wording.one_line(tostring(value), 500))
    end
  end
  if row.kind == "turn" then
    add("session", row.session)
    add("message", row.message)
    lines[#lines + 1] = ""
    vim.list_extend(lines, vim.split(row.text or "", "[\r\n]+"))
  elseif row.entry then
    local step = row.entry.step or {}
    add("step", step.stepId)
    add("agent", step.agent and words.agent_title(step.agent))
    add("session", step.sessionId or row.entry.sessionId)
    add("tool", step.tool)
    add("what", step.description)
    add("state", step.state or row.entry.state)
    add("began", step.startedAt or row.entry.at)
    add("ended", step.endedAt)
    add("before", row.entry.before)
    add("after", row.entry.after)
    add("git", row.entry.git and words.git_words(row.entry.git))
    for _, lost in ipairs(step.uncaptured or {}) do
      add("no copy", lost.file .. " (" .. lost.change .. ")")
    end
  end
  if #lines > 0 then
    floats.show(lines, "Details")
  end
end

--- The pending files that a row stands for, and what they are called.
---@param view snapd.View
---@param row snapd.Row
---@return table[] list
---@return string what
local function pending_of(view, row)
  local list = row.kind == "pendingFile" and { row.file } or view.model.pending.files
  return list, row.file and wording.one_line(row.file.file) or wording.counted(#list, "file")
end

--- Undoes what is under the cursor.
---@param view snapd.View
function M.undo(view)
  local row = view:row()
  local connection = view.model.connection
  if row and (row.kind == "pending" or row.kind == "pendingFile") then
    pending.undo_files(connection, pending_of(view, row))
  elseif row and row.kind == "turn" then
    undoing.undo_turn(connection, row)
  elseif row and row.entry and row.entry.step then
    if row.kind == "file" then
      undoing.undo_file_of_step(connection, row.entry.step, row.file)
    else
      undoing.undo_step(connection, row.entry.step)
    end
  else
    vim.notify("snapd: no step is under the cursor. :SnapdUndo undoes the last step.", vim.log.levels.WARN)
  end
end

--- Goes back to before the prompt under the cursor, with files and conversation.
---@param view snapd.View
function M.rewind(view)
  local row = view:row()
  if row and row.kind == "turn" then
    undoing.rewind(view.model.connection, row)
  else
    vim.notify("snapd: no prompt is under the cursor.", vim.log.levels.WARN)
  end
end

--- Keeps what is pending under the cursor.
---@param view snapd.View
function M.keep(view)
  local row = view:row()
  if row and row.kind == "pendingFile" then
    pending.keep_files(view.model.connection, pending_of(view, row))
  elseif row and row.kind == "pending" then
    pending.keep_all(view.model.connection, view.model.pending.files)
  else
    vim.notify("snapd: no pending file is under the cursor.", vim.log.levels.WARN)
  end
end

---@type { key: string, desc: string, run: fun(view: snapd.View) }[]
M.KEYS = {
  { key = "<CR>", desc = "show the changes of a file; fold and unfold", run = M.open },
  { key = "<2-LeftMouse>", desc = "the same", run = M.open },
  { key = "o", desc = "open the file as it is now", run = M.edit },
  { key = "u", desc = "undo a step, a turn, a file of a step, or what is pending", run = M.undo },
  {
    key = "r",
    desc = "redo what was undone last",
    run = function(view)
      undoing.redo(view.model.connection)
    end,
  },
  { key = "B", desc = "go back to before a prompt, with files and conversation", run = M.rewind },
  { key = "y", desc = "keep a pending file, or all of them", run = M.keep },
  { key = "K", desc = "show details", run = M.details },
  {
    key = "R",
    desc = "read everything again",
    run = function(view)
      view.model.refresh()
    end,
  },
  {
    key = "q",
    desc = "close the window",
    run = function()
      require("snapd.history.view").close(vim.api.nvim_get_current_win())
    end,
  },
  {
    key = "?",
    desc = "show these keys",
    run = function()
      local lines = {}
      for _, action in ipairs(M.KEYS) do
        if action.desc ~= "the same" then
          lines[#lines + 1] = ("%-6s %s"):format(action.key, action.desc)
        end
      end
      floats.show(lines, "Keys")
    end,
  },
}

return M
