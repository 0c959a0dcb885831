--- How files are named: to the daemon, on this disk, and to people.

local M = {}

---@class snapd.Named what has the name of a file in it: a change, an outcome
---@field file string
---@field uri? string present if the name is not valid UTF-8

--- The name for a request.
---@param named snapd.Named
---@return string
function M.request_name(named)
  return named.uri or named.file
end

--- The absolute path.
---@param workspace string
---@param named snapd.Named
---@return string
function M.path(workspace, named)
  return named.uri and vim.uri_to_fname(named.uri) or vim.fs.joinpath(workspace, named.file)
end

--- The name of an absolute path for a request: a URI, so that any bytes go through JSON.
---@param path string
---@return string
function M.uri(path)
  return vim.uri_from_fname(path)
end

return M
