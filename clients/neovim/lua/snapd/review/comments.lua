--- Comments on lines: shown below the lines, made, answered and resolved.

local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local floats = require("snapd.floats")
local folders = require("snapd.daemon.folders")
local pages = require("snapd.daemon.pages")
local remarks = require("snapd.review.remarks")
local task = require("snapd.task")
local wording = require("snapd.wording")

local M = {}

local NAMESPACE = vim.api.nvim_create_namespace("snapd.comments")
local GATHERING = 50
--- Lines of a comment that are shown below its lines.
local MOST_LINES = 12
local PAGE = 100

---@type table<integer, table<integer, table>> the Comment of each extmark, by buffer
local shown = {}
---@type table<snapd.Connection, fun()>
local refreshers = {}
---@type { connection: snapd.Connection, id: string }? the comment that was resolved last
local resolved

--- Takes the comments out of a buffer.
---@param buf integer
local function clear(buf)
  shown[buf] = nil
  vim.api.nvim_buf_clear_namespace(buf, NAMESPACE, 0, -1)
end

--- Puts comments below their lines.
---@param buf integer
---@param list { comment: table, title: string, lines: string[] }[]
local function place(buf, list)
  clear(buf)
  local count = vim.api.nvim_buf_line_count(buf)
  shown[buf] = {}
  for _, each in ipairs(list) do
    local first = math.max(1, math.min(each.comment.start, count))
    local last = math.max(first, math.min(each.comment.start + each.comment.count - 1, count))
    local virtual = { { { "  ┌ " .. each.title, "SnapdDim" } } }
    for at, line in ipairs(each.lines) do
      if at > MOST_LINES then
        local more = wording.counted(#each.lines - MOST_LINES, "more line")
        virtual[#virtual + 1] = { { "  │ … " .. more .. ": see :SnapdShowComment", "SnapdDim" } }
        break
      end
      virtual[#virtual + 1] = { { "  │ ", "SnapdDim" }, { line, "SnapdComment" } }
    end
    -- the lines of the comment, and below them what it says
    local mark = vim.api.nvim_buf_set_extmark(buf, NAMESPACE, first - 1, 0, { end_row = last - 1, end_col = 0 })
    shown[buf][mark] = each.comment
    vim.api.nvim_buf_set_extmark(buf, NAMESPACE, last - 1, 0, { virt_lines = virtual })
  end
end

--- Reads the comments on a buffer's file; within a task. While it has unsaved text, they move with their lines.
---@param connection snapd.Connection
---@param buf integer
local function read(connection, buf)
  local path = folders.path_of(buf)
  if not path or vim.bo[buf].modified then
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  local params = { file = files.uri(path), limit = PAGE }
  local ok, list = pcall(pages.read, connection, "review/comments", params, "comments")
  if ok then
    list = vim.tbl_map(function(comment)
      local title, lines = remarks.described(connection, comment)
      return { comment = comment, title = title, lines = lines }
    end, list)
  end
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  elseif not ok then
    clear(buf)
    -- the file is none of the folder
    if not (errors.is_error(list) and list.kind == "pathOutsideWorkspace") then
      error(list, 0)
    end
  elseif vim.api.nvim_buf_get_changedtick(buf) == tick then
    place(buf, list)
  end
end

--- Schedules a new read of the comments in the visible buffers.
---@param connection snapd.Connection
function M.refresh(connection)
  if not refreshers[connection] then
    refreshers[connection] = task.coalesced(GATHERING, function()
      for _, buf in ipairs(folders.visible(connection)) do
        read(connection, buf)
      end
    end, function(err)
      if not (errors.is_error(err) and err.kind == "connectionLost") then
        errors.show("read the comments", err)
      end
    end)
  end
  refreshers[connection]()
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

--- Raises an error if the file on disk does not have some lines of the buffer.
---@param buf integer
---@param path string
---@param first integer
---@param last integer
local function need_lines(buf, path, first, last)
  if vim.bo[buf].modified then
    error(errors.new("The buffer has unsaved text.", "Save it first: a comment is on lines of the file."), 0)
  end
  -- other encodings are another text on disk
  if not vim.list_contains({ "", "utf-8" }, vim.bo[buf].fileencoding) or vim.fn.filereadable(path) == 0 then
    return
  end
  local disk = vim.fn.readfile(path, "", last)
  for at, line in ipairs(vim.api.nvim_buf_get_lines(buf, first - 1, last, false)) do
    local there = (disk[first + at - 1] or ""):gsub("\r$", ""):gsub("^\239\187\191", "")
    if there ~= line:gsub("\r$", "") then
      error(errors.new("The file has changed on disk.", "Read it again with :checktime first."), 0)
    end
  end
end

--- The given text, or one that the user is asked for; nil if there is none. Within a task.
---@param given string
---@param prompt string
---@return string?
local function text_of(given, prompt)
  local text = given
  if text == "" then
    text = task.await(function(done)
      vim.ui.input({ prompt = prompt }, done)
    end) or ""
  end
  return vim.trim(text) ~= "" and text or nil
end

--- Comments on lines of the current buffer.
---@param first integer from 1
---@param last integer
---@param given string the text; empty to ask for it
function M.comment(first, last, given)
  task.start("comment on these lines", function()
    local connection, buf, path = folders.here()
    need_lines(buf, path, first, last)
    local place_text = first == last and "line " .. first or ("lines %d to %d"):format(first, last)
    local text = text_of(given, ("Comment on %s: "):format(place_text))
    if not text then
      return
    end
    need_lines(buf, path, first, last)
    local params = { file = files.uri(path), start = first, count = last - first + 1, text = text }
    local comment = connection:ask("review/comment", params, buf)
    if comment.sessionId then
      local agent = remarks.agent_of(connection, comment.sessionId)
      vim.notify(("snapd: %s hears of it with its next prompt or call."):format(agent))
    else
      vim.notify("snapd: no agent wrote these lines, so none hears of it.")
    end
    M.refresh(connection)
  end)
end

--- The comment at the cursor; within a task.
---@return snapd.Connection
---@return table
local function at_cursor()
  local connection, buf = folders.here()
  if not shown[buf] then
    read(connection, buf)
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, NAMESPACE, 0, -1, { details = true })) do
    local comment = (shown[buf] or {})[mark[1]]
    if comment and mark[2] + 1 <= line and line <= (mark[4].end_row or mark[2]) + 1 then
      found[#found + 1] = comment
    end
  end
  if #found == 0 then
    error(errors.new("There is no comment under the cursor.", ":SnapdComments lists them."), 0)
  end
  local chosen = #found == 1 and found[1]
    or task.await(function(done)
      vim.ui.select(found, {
        prompt = "Which comment?",
        format_item = function(comment)
          return wording.one_line(comment.text, 70)
        end,
      }, done)
    end)
  if not chosen then
    error(errors.new("No comment was chosen."), 0)
  end
  return connection, chosen
end

--- Replies to the comment at the cursor.
---@param given string the text; empty to ask for it
function M.reply(given)
  task.start("reply to the comment", function()
    local connection, comment = at_cursor()
    local text = text_of(given, ("Reply to “%s”: "):format(wording.one_line(comment.text, 40)))
    if text then
      connection:ask("review/comment", { replyTo = comment.commentId, text = text })
      vim.notify("snapd: replied.")
      M.refresh(connection)
    end
  end)
end

--- Resolves the comment at the cursor, or opens the one again that was resolved last.
---@param reopen boolean
function M.resolve(reopen)
  task.start(reopen and "reopen the comment" or "resolve the comment", function()
    if reopen then
      if not resolved then
        error(errors.new("No comment was resolved here.", "Use 'snapd comment --reopen ID' in a terminal."), 0)
      end
      resolved.connection:ask("review/resolve", { commentId = resolved.id, state = "open" })
      vim.notify("snapd: the comment is open again.")
      M.refresh(resolved.connection)
      return
    end
    local connection, comment = at_cursor()
    connection:ask("review/resolve", { commentId = comment.commentId })
    resolved = { connection = connection, id = comment.commentId }
    vim.notify("snapd: resolved. :SnapdResolve! opens it again.")
    M.refresh(connection)
  end)
end

--- Shows all of the comment at the cursor.
function M.show()
  task.start("show the comment", function()
    local connection, comment = at_cursor()
    local title, lines = remarks.described(connection, comment)
    floats.show(lines, title)
  end)
end

--- Puts the comments of a folder into the quickfix list.
---@param connection snapd.Connection
---@param all boolean the resolved ones, too
function M.list(connection, all)
  task.start("list the comments", function()
    local workspace = connection:folder()
    local params = { state = all and "all" or "open", limit = PAGE }
    local items = {}
    for _, comment in ipairs(pages.read(connection, "review/comments", params, "comments")) do
      local title = remarks.described(connection, comment)
      local count = #comment.replies
      local replies = count == 0 and "" or (" (%d %s)"):format(count, count == 1 and "reply" or "replies")
      items[#items + 1] = {
        filename = files.path(workspace, comment),
        lnum = math.max(1, comment.start),
        end_lnum = math.max(1, comment.start + comment.count - 1),
        text = ("%s: %s%s"):format(title, wording.one_line(comment.text, 100), replies),
      }
    end
    if #items == 0 then
      vim.notify(all and "snapd: there are no comments." or "snapd: no comment is open.")
      return
    end
    vim.fn.setqflist({}, " ", { title = "snapd: comments", items = items })
    vim.cmd("botright copen")
  end)
end

return M
