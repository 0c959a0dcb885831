--- Requests whose answers come in pages.

local M = {}

--- Asks for pages until there are no more, or until there is enough; within a task.
---@param connection snapd.Connection
---@param method string
---@param params table
---@param field string the field of the result that has the items
---@param most? integer
---@return table[] items
---@return boolean has_more
function M.read(connection, method, params, field, most)
  local items, cursor = {}, nil
  repeat
    local page = connection:ask(method, vim.tbl_extend("force", params, { cursor = cursor }))
    vim.list_extend(items, page[field])
    cursor = page.nextCursor
  until not cursor or (most and #items >= most)
  return items, cursor ~= nil
end

return M
