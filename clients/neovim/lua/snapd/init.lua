--- snapd in Neovim: what agents did, step by step, and how to take it back.

local M = {}

--- Sets options, which `:help snapd-options` lists. Without this call, the defaults hold.
---@param options? table
function M.setup(options)
  require("snapd.config").set(options)
end

return M
