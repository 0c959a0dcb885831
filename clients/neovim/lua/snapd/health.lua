--- `:checkhealth snapd`.

local config = require("snapd.config")
local connections = require("snapd.daemon.connection")
local folders = require("snapd.daemon.folders")
local task = require("snapd.task")

local M = {}

local PATIENCE = 20000
local VERSION = 1
local METHODS = {
  "session/history",
  "session/undo",
  "session/redo",
  "session/diff",
  "step/find",
  "step/revertFiles",
  "review/list",
  "review/file",
  "review/keep",
  "review/revert",
  "snapshot/blame",
  "snapshot/fileAt",
  "snapshot/status",
}

---@return boolean ok
local function check_program()
  vim.health.start("Programs")
  if vim.fn.has("nvim-0.10") == 1 then
    vim.health.ok("Neovim " .. tostring(vim.version()))
  else
    vim.health.error("Neovim is older than 0.10", { "Install Neovim 0.10 or later." })
  end
  local cmd = config.get().cmd
  if not connections.is_installed() then
    local missing = connections.not_installed()
    vim.health.error(missing.message, { missing.hint })
    return false
  end
  local done = vim.system({ cmd[1], "--version" }, { text = true }):wait(PATIENCE)
  if done.code ~= 0 then
    vim.health.error(("%s --version ended with code %d"):format(cmd[1], done.code), vim.split(done.stderr or "", "\n"))
    return false
  end
  vim.health.ok(("%s: %s"):format(vim.fn.exepath(cmd[1]), vim.trim(done.stdout)))
  return true
end

---@param connection snapd.Connection
local function check_daemon(connection)
  local able = connection.experimental or {}
  if able.protocolVersion ~= VERSION then
    vim.health.error(
      ("The daemon uses version %s of the protocol, the plugin version %d"):format(able.protocolVersion, VERSION),
      { "Install a snapd and a plugin of the same release." }
    )
  end
  local missing = vim.tbl_filter(function(method)
    return not vim.list_contains(able.methods or {}, method)
  end, METHODS)
  if #missing > 0 then
    vim.health.error("The daemon is too old: it does not support " .. table.concat(missing, ", "), {
      "Update snapd, then run `snapd stop`: the next start is the new one.",
    })
  else
    vim.health.ok("The daemon answers and supports everything that the plugin needs")
  end
end

---@param connection snapd.Connection
local function check_folder(connection)
  vim.health.start("Folder " .. connection.root)
  local status = connection:ask("snapshot/status")
  vim.health.ok("The history is that of " .. vim.uri_to_fname(status.workspaceUri))
  if status.enabled then
    vim.health.ok(("%d files are captured"):format(status.files))
  else
    vim.health.warn("Snapshots are turned off here", { "See `snapd config`." })
  end
  if status.watcherReason then
    vim.health.warn(("Changes are noticed by %s: %s"):format(status.watcher, status.watcherReason))
  else
    vim.health.ok("Changes are noticed by " .. status.watcher)
  end
  for _, problem in ipairs(status.settingsProblems or {}) do
    vim.health.error(problem)
  end
  vim.health.info("Snapshots are in " .. status.store.path)
end

--- Reports on programs, daemon and folder: for Neovim.
function M.check()
  if not check_program() then
    return
  end
  vim.health.start("Daemon")
  local connection = folders.current()
  local failure = task.wait(PATIENCE, function()
    connection:ask("snapshot/list", { limit = 1, counts = false })
  end)
  if failure and not connection.experimental then
    vim.health.error(tostring(failure.message or failure), failure.hint and { failure.hint } or nil)
    return
  end
  check_daemon(connection)
  failure = task.wait(PATIENCE, function()
    check_folder(connection)
  end)
  if failure then
    vim.health.error(tostring(failure.message or failure), failure.hint and { failure.hint } or nil)
  end
end

return M
