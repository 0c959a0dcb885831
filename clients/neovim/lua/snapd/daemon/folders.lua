--- The folders whose daemon this Neovim speaks with, and which file and buffer belongs to which.

local config = require("snapd.config")
local connection = require("snapd.daemon.connection")
local errors = require("snapd.errors")

local M = {}

---@type table<string, snapd.Connection>
local connections = {}
---@type (fun(connection: snapd.Connection))[]
local listeners = {}
local told_not_installed = false

--- Calls the listener for each new connection.
---@param listener fun(connection: snapd.Connection)
function M.on_new(listener)
  table.insert(listeners, listener)
  for _, made in pairs(connections) do
    listener(made)
  end
end

--- The absolute path of a file, with symlinks resolved in the part that exists.
---@param path string
---@return string
function M.real(path)
  local absolute = vim.fs.normalize(vim.fn.fnamemodify(path, ":p"))
  local found = vim.uv.fs_realpath(absolute)
  if found then
    return found
  end
  local above = vim.fs.dirname(absolute)
  return above == absolute and absolute or vim.fs.joinpath(M.real(above), vim.fs.basename(absolute))
end

--- The connection for a folder.
---@param root string
---@return snapd.Connection
function M.open(root)
  if not connections[root] then
    connections[root] = connection.new(root)
    for _, listener in ipairs(listeners) do
      listener(connections[root])
    end
  end
  return connections[root]
end

--- All connections.
---@return snapd.Connection[]
function M.all()
  return vim.tbl_values(connections)
end

--- The path of the file of a buffer; nil for a buffer that is none.
---@param buf integer
---@return string?
function M.path_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if name == "" or vim.bo[buf].buftype ~= "" or name:match("^%a[%w+.-]+://") then
    return nil
  end
  return M.real(name)
end

--- The connection for a file; nil for one that snapd is to leave alone.
---@param path string
---@return snapd.Connection?
function M.of_path(path)
  local root = config.get().root(path)
  return root and M.open(M.real(root)) or nil
end

--- The connection for a buffer; nil for one that is not a file or that snapd ignores.
---@param buf integer
---@return snapd.Connection?
function M.of_buffer(buf)
  local path = M.path_of(buf)
  return path and M.of_path(path) or nil
end

--- The connection for the file in the current window, else for the current directory.
---@return snapd.Connection
function M.current()
  local marked = vim.b.snapd_root
  if marked then
    return M.open(marked)
  end
  local cwd = M.real(assert(vim.uv.cwd()))
  return M.of_buffer(0) or M.open(M.real(vim.fs.root(cwd, ".git") or cwd))
end

--- The buffer of a file; nil if no loaded one has it.
---@param path string
---@return integer?
function M.buffer_of(path)
  local real = M.real(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and M.path_of(buf) == real then
      return buf
    end
  end
  return nil
end

--- The current buffer as a file of a folder; raises an error if it is none.
---@return snapd.Connection
---@return integer buf
---@return string path
function M.here()
  local buf = vim.api.nvim_get_current_buf()
  local found = M.of_buffer(buf)
  local path = M.path_of(buf)
  if not found or not path then
    error(errors.new("This buffer is no file of a folder that snapd knows."), 0)
  end
  return found, buf, path
end

--- The visible buffers of a connection.
---@param of snapd.Connection
---@return integer[]
function M.visible(of)
  local found = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(window)
    if of:has(buf) and not vim.list_contains(found, buf) then
      found[#found + 1] = buf
    end
  end
  return found
end

--- Reports the buffer of a file to the daemon.
---@param buf integer
---@return snapd.Connection?
function M.attach(buf)
  local found = M.of_buffer(buf)
  if not found then
    return nil
  end
  if not connection.is_installed() then
    if not told_not_installed then
      told_not_installed = true
      vim.notify("snapd: " .. tostring(connection.not_installed()), vim.log.levels.WARN)
    end
    return nil
  end
  for _, other in pairs(connections) do
    if other ~= found and other:has(buf) then
      other:detach(buf)
    end
  end
  found:attach(buf)
  return found
end

--- Stops reporting a deleted buffer.
---@param buf integer
function M.detach(buf)
  for _, each in pairs(connections) do
    if each:has(buf) then
      each:detach(buf)
    end
  end
end

return M
