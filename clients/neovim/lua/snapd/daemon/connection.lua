--- One folder's connection to the daemon: an LSP client of Neovim that runs `snapd connect`, started again when it ends.
---
--- As an LSP client, it reports open buffers and their unsaved text to the daemon by itself.

local config = require("snapd.config")
local errors = require("snapd.errors")
local task = require("snapd.task")

local NOTIFICATIONS = {
  "snapshot/didTrack",
  "snapshot/didChange",
  "snapshot/didRevert",
  "session/didChange",
  "review/didChange",
}
local FIRST_DELAY, LONGEST_DELAY = 200, 10000
local MOST_FAILURES = 4
local NEWER = vim.fn.has("nvim-0.11") == 1

---@class snapd.Connection
---@field root string the folder that was opened
---@field state "idle"|"connecting"|"ready"|"waiting" "waiting" to connect again
---@field workspace? string the path of the folder that the daemon has for it: that of the history
---@field server_info? { name: string, version?: string }
---@field experimental? table what the daemon can do
---@field private client? vim.lsp.Client
---@field private pending table<function, true> what waits for answers
---@field private waiters function[] what waits for the connection
---@field private buffers table<integer, true> the buffers to report to the daemon
---@field private listeners (fun(method: string, params: table))[]
---@field private failures integer attempts to connect that failed, one after the other
local Connection = {}
Connection.__index = Connection

local M = {}

---@param root string
---@return snapd.Connection
function M.new(root)
  return setmetatable({
    root = root,
    state = "idle",
    pending = {},
    waiters = {},
    buffers = {},
    listeners = {},
    failures = 0,
  }, Connection)
end

--- Subscribes to notifications of the daemon; `snapd/state` is for changes of the connection's state.
---@param listener fun(method: string, params: table)
function Connection:listen(listener)
  table.insert(self.listeners, listener)
end

---@private
function Connection:emit(method, params)
  for _, listener in ipairs(self.listeners) do
    listener(method, params)
  end
end

---@private
function Connection:become(state)
  self.state = state
  self:emit("snapd/state", {})
end

--- Whether the command that connects exists.
---@return boolean
function M.is_installed()
  return vim.fn.executable(config.get().cmd[1]) == 1
end

--- The error for a missing command.
---@return snapd.Error
function M.not_installed()
  local command = config.get().cmd[1]
  return errors.new(
    ("There is no program %s."):format(command),
    "Install snapd, put its folder on the PATH, or set the option cmd: see :help snapd-install."
  )
end

---@private
---@param ok boolean
---@param err? snapd.Error
function Connection:wake(ok, err)
  local waiters = self.waiters
  self.waiters = {}
  for _, waiter in ipairs(waiters) do
    waiter(ok, err)
  end
end

--- Begins to connect, if it has not begun.
---@private
function Connection:start()
  if self.state == "connecting" or self.state == "ready" then
    return
  end
  if not M.is_installed() then
    self:wake(false, M.not_installed())
    return
  end
  self:become("connecting")
  local handlers = {}
  for _, method in ipairs(NOTIFICATIONS) do
    handlers[method] = function(_, params)
      self:emit(method, params)
    end
  end
  local settings = {
    name = "snapd",
    cmd = config.get().cmd,
    cmd_cwd = self.root,
    root_dir = self.root,
    workspace_folders = { { uri = vim.uri_from_fname(self.root), name = vim.fs.basename(self.root) } },
    init_options = { findRoot = true },
    handlers = handlers,
    on_init = function(client, result)
      self:opened(client, result)
    end,
    on_exit = function(code)
      vim.schedule(function()
        self:ended(code)
      end)
    end,
  }
  local id
  if NEWER then
    local never = function()
      return false
    end
    id = vim.lsp.start(settings, { attach = false, reuse_client = never, silent = true })
  else
    id = vim.lsp.start_client(settings)
  end
  if not id then
    self:ended(nil)
  end
end

---@private
---@param client vim.lsp.Client
---@param result table the answer to `initialize`
function Connection:opened(client, result)
  self.client = client
  self.server_info = result.serverInfo
  self.experimental = vim.tbl_get(result, "capabilities", "experimental", "snapshot")
  self.failures = 0
  for buf in pairs(self.buffers) do
    if vim.api.nvim_buf_is_loaded(buf) then
      self:report(buf)
    else
      self.buffers[buf] = nil
    end
  end
  self:become("ready")
  self:wake(true)
end

---@private
---@param code integer? of the process; nil where it could not be started
function Connection:ended(code)
  local was_open = self.client ~= nil
  self.client = nil
  local lost = errors.new(
    was_open and "The connection to snapd was lost."
      or ("%s ended%s."):format(table.concat(config.get().cmd, " "), code and " with code " .. code or " at once"),
    was_open and "Reconnecting; check whether the request took effect." or "See :checkhealth snapd and :LspLog."
  )
  lost.kind = "connectionLost"
  local pending = self.pending
  self.pending = {}
  self.failures = was_open and 0 or self.failures + 1
  -- a program that always fails is started again only for the next request
  local gives_up = self.failures >= MOST_FAILURES
  self:become(gives_up and "idle" or "waiting")
  self:wake(false, lost)
  for done in pairs(pending) do
    done(lost)
  end
  if not gives_up then
    vim.defer_fn(function()
      if self.state == "waiting" then
        self:start()
      end
    end, math.min(FIRST_DELAY * 2 ^ self.failures, LONGEST_DELAY))
  end
end

--- Reports a buffer to the daemon, now and after each reconnect.
---@param buf integer
function Connection:attach(buf)
  if self.buffers[buf] then
    return
  end
  self.buffers[buf] = true
  if self.state == "ready" then
    self:report(buf)
  elseif self.state == "idle" then
    self:start()
  end
end

--- Whether a buffer is reported to the daemon.
---@param buf integer
---@return boolean
function Connection:has(buf)
  return self.buffers[buf] ~= nil
end

--- Stops reporting a buffer to the daemon.
---@param buf integer
function Connection:detach(buf)
  self.buffers[buf] = nil
  if self.client and vim.lsp.buf_is_attached(buf, self.client.id) then
    vim.lsp.buf_detach_client(buf, self.client.id)
  end
end

---@private
---@param buf integer
function Connection:report(buf)
  vim.lsp.buf_attach_client(buf, self.client.id)
  if vim.bo[buf].modified then
    -- the text of a file that is not UTF-8 cannot be compared with the disk: only a change says that it is unsaved
    local ending = vim.bo[buf].fileformat == "dos" and "\r\n" or "\n"
    local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), ending)
    self:notify("textDocument/didChange", {
      textDocument = { uri = vim.uri_from_bufnr(buf), version = vim.api.nvim_buf_get_changedtick(buf) },
      contentChanges = { { text = vim.bo[buf].endofline and text .. ending or text } },
    })
  end
end

---@private
---@param method string
---@param params table
function Connection:notify(method, params)
  if NEWER then
    self.client:notify(method, params)
  else
    self.client.notify(method, params)
  end
end

--- Waits within a task until the daemon is connected.
---@private
function Connection:wait()
  if self.state == "ready" then
    return
  end
  local ok, err = task.await(function(done)
    table.insert(self.waiters, done)
    self:start()
  end)
  if not ok then
    error(err, 0)
  end
end

--- Sends a request, and waits within a task for the answer.
---
--- Raises a `snapd.Error`: the daemon's, or of the kind `connectionLost`.
---@param method string
---@param params? table
---@param buf? integer the text of this buffer is sent to the daemon first
---@return any result
function Connection:ask(method, params, buf)
  self:wait()
  local err, result = task.await(function(done)
    self.pending[done] = true
    local function answered(failure, answer)
      self.pending[done] = nil
      done(failure and errors.from_daemon(failure), answer)
    end
    -- an empty table would be sent as [], which means {} to the daemon as well
    params = params or vim.empty_dict()
    local sent
    if NEWER then
      sent = self.client:request(method, params, answered, buf)
    else
      sent = self.client.request(method, params, answered, buf)
    end
    if not sent then
      self.pending[done] = nil
      local lost = errors.new("The connection to snapd was lost.", "Nothing was done; try again.")
      lost.kind = "connectionLost"
      done(lost)
    end
  end)
  if err then
    error(err, 0)
  end
  return result
end

--- Sends unsaved text to the daemon at once; Neovim would delay it.
---
--- Before any notification, Neovim sends what it gathered; the daemon does nothing for this one.
function Connection:flush()
  if self.state == "ready" then
    self:notify("$/setTrace", { value = "off" })
  end
end

--- The folder that the daemon has for this one, by a request within a task.
---@return string
function Connection:folder()
  if not self.workspace then
    self.workspace = vim.uri_to_fname(self:ask("snapshot/status").workspaceUri)
  end
  return self.workspace
end

return M
