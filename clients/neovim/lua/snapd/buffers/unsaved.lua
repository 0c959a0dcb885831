--- Which buffers have text that is on no disk.

local folders = require("snapd.daemon.folders")

local M = {}

--- Whether a file has unsaved text here.
---@param path string
---@return boolean
function M.has(path)
  local buf = folders.buffer_of(path)
  return buf ~= nil and vim.bo[buf].modified
end

return M
