--- What went wrong, for people: the daemon's message and its hint.

local M = {}

---@class snapd.Error
---@field message string what is wrong
---@field hint? string what to do next
---@field kind? string the daemon's stable name of it
---@field code? integer
---@field data? table
local Error = {}
Error.__index = Error

function Error:__tostring()
  return self.message .. (self.hint and " " .. self.hint or "")
end

--- Ends a text as a sentence.
---@param text string
---@return string
local function ended(text)
  return text:match("[.!?]$") and text or text .. "."
end

--- Makes a hint, which the daemon begins in small letters, a sentence.
---@param text string
---@return string
local function sentence(text)
  return ended(text:sub(1, 1):upper() .. text:sub(2))
end

--- An error of the plugin itself.
---@param message string a sentence
---@param hint? string a sentence
---@return snapd.Error
function M.new(message, hint)
  return setmetatable({ message = message, hint = hint }, Error)
end

--- The error that the daemon answered with.
---@param answer { code: integer, message: string, data?: table }
---@return snapd.Error
function M.from_daemon(answer)
  local data = type(answer.data) == "table" and answer.data or {}
  return setmetatable({
    message = ended(answer.message),
    hint = data.hint and sentence(data.hint) or nil,
    kind = data.kind,
    code = answer.code,
    data = data,
  }, Error)
end

---@param value any
---@return boolean
function M.is_error(value)
  return getmetatable(value) == Error
end

--- Shows why something was not done.
---@param aim string what was to be done: "undo the step"
---@param err any
function M.show(aim, err)
  vim.notify(("snapd: could not %s. %s"):format(aim, tostring(err)), vim.log.levels.ERROR)
end

return M
