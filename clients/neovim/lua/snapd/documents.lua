--- Read-only buffers with the text of a file as it was: `snapd://SIDE/absolute/path`.
---
--- SIDE is the hash of a snapshot; `STEP.before` or `STEP.after` for what a step alone changed, whatever others did
--- meanwhile; or `baseline` for what has been accepted of a file.

local files = require("snapd.daemon.files")
local folders = require("snapd.daemon.folders")
local pages = require("snapd.daemon.pages")
local task = require("snapd.task")

local M = {}

local PATIENCE = 20000

--- The name of a document.
---@param side string
---@param path string absolute
---@return string
function M.name(side, path)
  return "snapd://" .. side .. path
end

---@class snapd.Text
---@field text string
---@field is_there boolean
---@field note? string what is to be shown instead

--- The text of a file in a snapshot.
---@param connection snapd.Connection
---@param hash string
---@param path string
---@return snapd.Text
local function in_snapshot(connection, hash, path)
  local ok, found = pcall(connection.ask, connection, "snapshot/fileAt", { hash = hash, file = files.uri(path) })
  if not ok then
    if type(found) == "table" and found.kind == "fileNotInSnapshot" then
      local skipped = vim.tbl_get(found, "data", "skipped")
      return { text = "", is_there = false, note = skipped and "The snapshot does not have this file." or nil }
    end
    error(found, 0)
  end
  if found.binary then
    return { text = "", is_there = true, note = ("A binary file of %d bytes."):format(found.size) }
  end
  return { text = found.encoding == "base64" and vim.base64.decode(found.content) or found.content, is_there = true }
end

--- What a step alone changed in a file; nil if the daemon has no text of it.
---@param connection snapd.Connection
---@param step table
---@param path string
---@return { status: string, before: string, after: string }?
function M.own_change(connection, step, path)
  if step.state ~= "applied" and step.state ~= "partly" then
    return nil
  end
  local workspace = connection:folder()
  local params = { sessionId = step.sessionId, stepId = step.stepId, limit = 100 }
  for _, diff in ipairs((pages.read(connection, "session/diff", params, "diffs"))) do
    if files.path(workspace, diff) == path then
      return not diff.binary and not diff.tooLarge and diff or nil
    end
  end
  return nil
end

---@param connection snapd.Connection
---@param side string
---@param path string
---@return snapd.Text
local function text_of(connection, side, path)
  if side == "baseline" then
    local found = connection:ask("review/file", { file = files.uri(path) })
    if found.binary or found.tooLarge then
      return { text = "", is_there = true, note = "Not a text that can be shown." }
    end
    return { text = found.before, is_there = found.status ~= "added" }
  end
  local step_id, which = side:match("^(.+)%.(%a+)$")
  if not step_id then
    return in_snapshot(connection, side, path)
  end
  local step = connection:ask("step/find", { prefix = step_id }).steps[1]
  local change = step and M.own_change(connection, step, path)
  if not change then
    return { text = "", is_there = false, note = "The step no longer has changes to this file." }
  end
  return { text = change[which], is_there = change.status ~= (which == "before" and "added" or "deleted") }
end

--- Whether bytes are UTF-8: what is not comes back from a conversion as question marks.
---@param text string
---@return boolean
local function is_utf8(text)
  local there = vim.iconv(text, "utf-8", "utf-16le")
  return there ~= nil and vim.iconv(there, "utf-16le", "utf-8") == text
end

--- Puts a text into a buffer as Neovim would have read it from a file.
---@param buf integer
---@param text string
local function put(buf, text)
  local has_bom = vim.startswith(text, "\239\187\191")
  if has_bom then
    text = text:sub(4)
  elseif not is_utf8(text) then
    text = vim.iconv(text, "latin1", "utf-8") or text
  end
  local ends_line = vim.endswith(text, "\n")
  local lines = vim.split(ends_line and text:sub(1, -2) or text, "\n", { plain = true })
  local is_dos = ends_line
  for _, line in ipairs(lines) do
    is_dos = is_dos and vim.endswith(line, "\r")
  end
  if is_dos then
    for at, line in ipairs(lines) do
      lines[at] = line:sub(1, -2)
    end
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].fileformat = is_dos and "dos" or "unix"
  vim.bo[buf].endofline = ends_line or text == ""
  vim.bo[buf].fixendofline = false
end

---@param buf integer
---@param connection snapd.Connection
---@param path string
---@param found snapd.Text
local function fill(buf, connection, path, found)
  vim.bo[buf].buftype = "nofile"
  vim.bo[buf].swapfile = false
  -- what stands in a file of others sets no options
  vim.bo[buf].modeline = false
  vim.bo[buf].undolevels = -1
  vim.b[buf].snapd_root = connection.root
  put(buf, found.note or found.text)
  vim.bo[buf].modified = false
  vim.bo[buf].modifiable = false
  vim.bo[buf].readonly = true
  local filetype = not found.note and vim.filetype.match({ buf = buf, filename = path })
  if filetype and vim.bo[buf].filetype ~= filetype then
    vim.bo[buf].filetype = filetype
  end
end

---@param name string
---@return string? side
---@return string? path
local function parsed(name)
  return name:match("^snapd://([^/]+)(/.+)$")
end

---@param connection snapd.Connection
---@param side string
---@param path string
---@param found snapd.Text
---@return integer
local function filled(connection, side, path, found)
  local buf = vim.fn.bufadd(M.name(side, path))
  vim.b[buf].snapd_filled = true
  vim.fn.bufload(buf)
  vim.b[buf].snapd_filled = nil
  fill(buf, connection, path, found)
  vim.bo[buf].bufhidden = "wipe"
  return buf
end

--- The buffer of a document, filled; within a task.
---@param connection snapd.Connection
---@param side string
---@param path string absolute
---@return integer
function M.open(connection, side, path)
  return filled(connection, side, path, text_of(connection, side, path))
end

--- An empty document, where a file was not there.
---@param connection snapd.Connection
---@param path string absolute
---@return integer
function M.nothing(connection, path)
  return filled(connection, "nothing", path, { text = "", is_there = false })
end

--- Fills a buffer whose name was given to Neovim, for `BufReadCmd`.
---@param buf integer
function M.read(buf)
  if vim.b[buf].snapd_filled then
    return
  end
  local side, path = parsed(vim.api.nvim_buf_get_name(buf))
  if not side or not path then
    vim.notify("snapd: this is not the name of a document. See :help snapd-documents.", vim.log.levels.ERROR)
    return
  end
  local err = task.wait(PATIENCE, function()
    local connection = folders.of_path(path) or folders.open(vim.fs.dirname(path))
    fill(
      buf,
      connection,
      path,
      side == "nothing" and { text = "", is_there = false } or text_of(connection, side, path)
    )
  end)
  if err then
    require("snapd.errors").show("show the file", err)
  end
end

return M
