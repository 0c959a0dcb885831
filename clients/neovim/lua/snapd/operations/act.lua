--- Carries out an operation: its plan first, then what was agreed to, then what came of it.

local conflicts = require("snapd.operations.conflicts")
local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local floats = require("snapd.floats")
local outcomes = require("snapd.operations.outcomes")
local plans = require("snapd.operations.plan")
local task = require("snapd.task")
local unsaved = require("snapd.buffers.unsaved")
local wording = require("snapd.wording")

local M = {}

---@class snapd.Action
---@field aim string what it is to do: "undo the step"
---@field done string what it did: "undid the step"
---@field method string
---@field params table
---@field names_steps? boolean whether the plan says which steps it is about: where the aim does not

--- Asks for an action, or what it would do; within a task.
---@param connection snapd.Connection
---@param action snapd.Action
---@param extra table
---@return table outcome
local function ask(connection, action, extra)
  connection:flush()
  local params = vim.tbl_extend("force", { details = "counts" }, action.params, extra)
  return connection:ask(action.method, params)
end

--- Raises an error if an action that overwrites conflicts would write over unsaved text.
---@param connection snapd.Connection
---@param action snapd.Action
local function refuse_unsaved(connection, action)
  -- without overwriting, the daemon says which files have unsaved text, in any editor
  local merged = ask(connection, action, { dryRun = true })
  for _, file in ipairs(merged.files) do
    local is_here = unsaved.has(files.path(connection:folder(), file))
    if file.reason == "unsavedInEditor" or is_here then
      error(
        errors.new(
          ("%s has unsaved text in %s."):format(file.file, is_here and "a buffer" or "an editor"),
          "Save or discard it, then try again."
        ),
        0
      )
    end
  end
end

--- What an action would do; within a task.
---@param connection snapd.Connection
---@param action snapd.Action
---@param overwrites boolean
---@return table outcome
local function foretell(connection, action, overwrites)
  if not overwrites then
    return ask(connection, action, { dryRun = true })
  end
  refuse_unsaved(connection, action)
  return ask(connection, action, { dryRun = true, onConflict = "overwrite" })
end

--- Shows a plan, and waits within a task for what is decided.
---@param action snapd.Action
---@param plan table
---@param overwrites boolean
---@param note? string
---@return "do"|"overwrite"|"list"|nil decision
local function decide(action, plan, overwrites, note)
  local in_conflict = outcomes.with(plan.files, "conflict")
  local has_unsaved = vim.iter(in_conflict):any(function(file)
    return file.reason == "unsavedInEditor"
  end)
  local keys = {}
  local does_something = #outcomes.written(plan.files) > 0 or #in_conflict < #plan.files or #plan.files == 0
  if does_something then
    keys[#keys + 1] = { "y", #in_conflict > 0 and "do it, and leave the files that conflict" or "do it" }
  end
  if #in_conflict > 0 then
    if has_unsaved then
      note = "Save or discard the unsaved text to have all of it done."
    elseif not overwrites then
      keys[#keys + 1] = { "o", "show what would happen if the files that conflict were overwritten" }
    end
    keys[#keys + 1] = { "c", "list the conflicts, and change nothing" }
  end
  keys[#keys + 1] = { "q", "change nothing" }
  local text = plans.text(plan, note, action.names_steps or false, keys)
  return task.await(function(done)
    local function decision(name)
      return function()
        done(name)
      end
    end
    local map = {}
    local meaning = { y = "do", o = "overwrite", c = "list" }
    for _, key in ipairs(keys) do
      map[key[1]] = meaning[key[1]] and decision(meaning[key[1]])
    end
    local title = action.aim:sub(1, 1):upper() .. action.aim:sub(2) .. (overwrites and ", overwriting" or "") .. "?"
    floats.show(text.lines, title, { keys = map, marks = text.marks, on_close = decision(nil) })
  end)
end

--- Tells what was done, and lists what was not.
---@param connection snapd.Connection
---@param action snapd.Action
---@param outcome table
local function report(connection, action, outcome)
  local parts = { ("%s: %s."):format(action.done, outcomes.summary(outcome.files)) }
  local left = outcomes.leftovers(outcome.files)
  vim.list_extend(parts, left)
  local count = conflicts.list(connection:folder(), outcome, action.aim)
  if count > 0 then
    parts[#parts + 1] = ("%s in conflict, in the quickfix list."):format(wording.counted(count, "file"))
  end
  local level = #left > 0 and vim.log.levels.ERROR or count > 0 and vim.log.levels.WARN or vim.log.levels.INFO
  vim.notify("snapd: " .. table.concat(parts, " "), level)
end

--- Does it without a question; within a task. For what the user sees anyway, such as the hunk under the cursor.
---@param connection snapd.Connection
---@param action snapd.Action
function M.at_once(connection, action)
  report(connection, action, ask(connection, action, {}))
end

--- Does what a plan says, or gives what would be done now instead; within a task.
---@param connection snapd.Connection
---@param action snapd.Action
---@param plan table of a dry run
---@param overwrites boolean
---@return table? outcome nil if it would be something else by now
local function carry_out(connection, action, plan, overwrites)
  local extra = { expect = plan.plan, onConflict = overwrites and "overwrite" or nil }
  local ok, result = pcall(ask, connection, action, extra)
  if ok then
    return result
  elseif errors.is_error(result) and result.kind == "planChanged" then
    return nil
  end
  error(result, 0)
end

--- Shows the plan, and does what the user agrees to.
---@param connection snapd.Connection
---@param action snapd.Action
function M.run(connection, action)
  task.start(action.aim, function()
    local overwrites, note = false, nil
    local plan = foretell(connection, action, overwrites)
    while true do
      local decision = decide(action, plan, overwrites, note)
      note = nil
      if not decision then
        return
      elseif decision == "list" then
        conflicts.list(connection:folder(), plan, action.aim)
        return
      elseif decision == "do" then
        if overwrites then
          refuse_unsaved(connection, action)
        end
        local outcome = carry_out(connection, action, plan, overwrites)
        if outcome then
          report(connection, action, outcome)
          return
        end
        note = "Something changed meanwhile. This is what would be done now."
      end
      overwrites = overwrites or decision == "overwrite"
      plan = foretell(connection, action, overwrites)
    end
  end)
end

return M
