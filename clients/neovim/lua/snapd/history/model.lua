--- The history of a folder, read again after each notification about it.

local errors = require("snapd.errors")
local pages = require("snapd.daemon.pages")
local task = require("snapd.task")

local M = {}

local PAGE = 100
local PENDING = 50
local GATHERING = 50

---@class snapd.Model: snapd.History
---@field connection snapd.Connection
---@field loaded boolean
---@field err? any why the last attempt to read it failed
---@field refresh fun() reads it again, soon
---@field private wanted integer the number of entries
---@field private listeners table<function, true>
local Model = {}
Model.__index = Model

---@type table<string, snapd.Model>
local models = {}

--- Reads the newest entries, and the pending files; within a task.
---@private
function Model:read()
  local entries, has_more =
    pages.read(self.connection, "session/history", { limit = PAGE, renames = true }, "entries", self.wanted)
  local pending = self.connection:ask("review/list", { limit = PENDING })
  self.entries, self.has_more, self.pending = entries, has_more, pending
  self.loaded, self.err = true, nil
  self:emit()
end

---@private
function Model:emit()
  for listener in pairs(self.listeners) do
    listener()
  end
end

--- Calls the listener when something is new.
---@param listener fun()
function Model:listen(listener)
  self.listeners[listener] = true
end

--- Removes the listeners.
---@param listener fun()
function Model:leave(listener)
  self.listeners[listener] = nil
end

--- Reads older entries, too.
function Model:read_more()
  self.wanted = #self.entries + PAGE
  self.refresh()
end

--- The model of a folder's history.
---@param connection snapd.Connection
---@return snapd.Model
function M.of(connection)
  local model = models[connection.root]
  if model then
    return model
  end
  model = setmetatable({
    connection = connection,
    entries = {},
    has_more = false,
    loaded = false,
    wanted = PAGE,
    listeners = {},
  }, Model)
  model.refresh = task.coalesced(GATHERING, function()
    model:read()
  end, function(err)
    model.err = err
    model:emit()
    local is_lost = errors.is_error(err) and err.kind == "connectionLost"
    if not is_lost then
      errors.show("read the steps", err)
    end
  end)
  connection:listen(function(method)
    -- nobody looks: the next one who does reads it again
    if next(model.listeners) == nil then
      return
    end
    if method == "snapd/state" then
      model:emit()
    end
    if method ~= "snapd/state" or connection.state == "ready" then
      model.refresh()
    end
  end)
  models[connection.root] = model
  return model
end

return M
