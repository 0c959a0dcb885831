--- Tasks that wait for answers without blocking the editor: coroutines, and the handling of their errors.

local errors = require("snapd.errors")

local M = {}

--- Starts work that may wait. An error is shown.
---@param aim string what it is to do, for the message of an error: "undo the step"
---@param work fun()
function M.start(aim, work)
  M.run(work, function(err)
    errors.show(aim, err)
  end)
end

--- Starts work that may wait.
---@param work fun()
---@param on_error fun(err: any)
---@param on_end? fun()
function M.run(work, on_error, on_end)
  local thread = coroutine.create(work)
  local function go_on(...)
    local ok, err = coroutine.resume(thread, ...)
    if not ok then
      -- any error that is not snapd's is a bug: show the traceback
      on_error(errors.is_error(err) and err or debug.traceback(thread, tostring(err)))
    elseif coroutine.status(thread) ~= "dead" then
      err(go_on)
      return
    end
    if on_end then
      on_end()
    end
  end
  go_on()
end

--- Waits within a task.
---@param begin fun(done: fun(...)) begins something that calls `done` once, at once or later
---@return any ... what `done` was called with
function M.await(begin)
  return coroutine.yield(function(go_on)
    local called = false
    begin(function(...)
      if called then
        return
      end
      called = true
      if vim.in_fast_event() then
        local given = vim.F.pack_len(...)
        vim.schedule(function()
          go_on(vim.F.unpack_len(given))
        end)
      else
        go_on(...)
      end
    end)
  end)
end

--- Waits within a task for some milliseconds.
---@param milliseconds integer
function M.sleep(milliseconds)
  M.await(function(done)
    vim.defer_fn(done, milliseconds)
  end)
end

--- Runs work to its end while the editor waits, for what Neovim wants at once.
---@param milliseconds integer the longest time to wait
---@param work fun()
---@return any err nil if it succeeded
function M.wait(milliseconds, work)
  local ended, failure = false, nil
  M.run(work, function(err)
    failure = err
  end, function()
    ended = true
  end)
  local in_time = vim.wait(milliseconds, function()
    return ended
  end, 5)
  return failure
    or (not in_time and errors.new("snapd does not answer.", "Try again, or see :checkhealth snapd."))
    or nil
end

--- Has work done once after any number of calls in quick succession; never two at a time.
---@param milliseconds integer how long to wait for more calls
---@param work fun() may wait
---@param on_error fun(err: any)
---@return fun()
function M.coalesced(milliseconds, work, on_error)
  local waiting, running, again = false, false, false
  local call
  local function begin()
    waiting, running = false, true
    M.run(work, on_error, function()
      running = false
      if again then
        again = false
        call()
      end
    end)
  end
  call = function()
    if running then
      again = true
    elseif not waiting then
      waiting = true
      vim.defer_fn(begin, milliseconds)
    end
  end
  return call
end

return M
