--- Runs an operation: shows its plan, applies it, and reports the result.

local conflicts = require("snapd.operations.conflicts")
local errors = require("snapd.errors")
local files = require("snapd.daemon.files")
local floats = require("snapd.floats")
local outcomes = require("snapd.operations.outcomes")
local plans = require("snapd.operations.plan")
local task = require("snapd.task")
local unsaved = require("snapd.buffers.unsaved")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

---@class snapd.Action
---@field aim string what it is to do: "undo the step"
---@field done string what it did: "undid the step"
---@field method string
---@field params table
---@field chat? table the params of `session/rewindChat`, if the conversation goes back with the files
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

---@alias snapd.Decisions table<string, "overwrite"|"keep"> by exact name

--- Raises an error if a file that is to be overwritten has unsaved text.
---@param connection snapd.Connection
---@param action snapd.Action
---@param decisions snapd.Decisions
local function refuse_unsaved(connection, action, decisions)
  -- without a decision, the daemon says which files have unsaved text, in any editor
  local merged = ask(connection, action, { dryRun = true })
  for _, file in ipairs(merged.files) do
    local is_here = unsaved.has(files.path(connection:folder(), file))
    if decisions[plans.name(file)] == "overwrite" and (file.reason == "unsavedInEditor" or is_here) then
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

---@param decisions snapd.Decisions
---@return snapd.Decisions? decisions nil for none: an empty table would be sent as a list
local function sent(decisions)
  return next(decisions) and decisions or nil
end

--- What an action would do; within a task.
---@param connection snapd.Connection
---@param action snapd.Action
---@param decisions snapd.Decisions
---@return table outcome
local function foretell(connection, action, decisions)
  if vim.list_contains(vim.tbl_values(decisions), "overwrite") then
    refuse_unsaved(connection, action, decisions)
  end
  local plan = ask(connection, action, { dryRun = true, decisions = sent(decisions) })
  if action.chat then
    plan.chat = connection:ask("session/rewindChat", vim.tbl_extend("force", action.chat, { dryRun = true })).chat
  end
  return plan
end

local EXPLAINED = table.concat({
  "A file conflicts if others changed the same lines since. You decide about each:",
  "  overwrite  it becomes what it was; the history keeps what is overwritten",
  "  keep       it stays as it is, for good: no later undo tries it again",
  "  skip       it stays as it is, in conflict; all else is done",
  "Nothing is written until you press y, and then exactly what is shown here.",
}, "\n")

---@class snapd.Answer
---@field key string "y", "g", "o", "K", "s", "c" or "?"
---@field files table[] the file in conflict there; all of them if the cursor was at none

--- Shows a plan, and waits for the decision; within a task.
---@param action snapd.Action
---@param plan table
---@param decisions snapd.Decisions
---@param note? string
---@param about? string the name of the file that was decided about last: the cursor begins there
---@return snapd.Answer? answer
local function decide(action, plan, decisions, note, about)
  local in_conflict = outcomes.with(plan.files, "conflict")
  local has_unsaved = vim.iter(in_conflict):any(function(file)
    return file.reason == "unsavedInEditor"
  end)
  local redone = action.method == "session/redo"
  local keys = {}
  if #outcomes.written(plan.files) > 0 or #in_conflict < #plan.files or plan.git or plan.chat then
    keys[#keys + 1] = { "y", #in_conflict > 0 and "do it, and leave the files that conflict" or "do it" }
  end
  if plan.git or action.params.git then
    local with_git = redone and "redo git, too" or "take git back, too"
    keys[#keys + 1] = { "g", action.params.git and "leave git as it is" or with_git }
  end
  if has_unsaved then
    note = note or "Save or discard the unsaved text to have all of it done."
  end
  if #in_conflict > 0 then
    keys[#keys + 1] = { "o", "overwrite the file under the cursor, or all that conflict" }
    keys[#keys + 1] = { "K", "keep it, or all that conflict, for good" }
  end
  if next(decisions) then
    keys[#keys + 1] = { "s", "skip the file under the cursor: leave it in conflict" }
  end
  if #in_conflict > 0 then
    keys[#keys + 1] = { "c", "list the conflicts, and change nothing" }
    keys[#keys + 1] = { "?", "what this means" }
  end
  keys[#keys + 1] = { "q", "change nothing" }
  local text = plans.text(plan, note, action.names_steps or false, decisions, keys, redone)
  local cursor
  for line, file in pairs(text.files) do
    cursor = plans.name(file) == about and line or cursor
  end
  return task.await(function(done)
    local map = {}
    for _, key in ipairs(keys) do
      map[key[1]] = key[1] ~= "q"
          and function(line)
            local file = text.files[line]
            done({ key = key[1], files = file and { file } or in_conflict })
          end
        or nil
    end
    local title = action.aim:sub(1, 1):upper() .. action.aim:sub(2) .. "?"
    floats.show(text.lines, title, {
      keys = map,
      marks = text.marks,
      cursor = cursor,
      on_close = function()
        done(nil)
      end,
    })
  end)
end

--- Reports what was done, and lists what was not.
---@param connection snapd.Connection
---@param action snapd.Action
---@param outcome table
local function report(connection, action, outcome)
  local parts = { ("%s: %s."):format(action.done, outcomes.summary(outcome.files)) }
  local left = outcomes.leftovers(outcome.files)
  vim.list_extend(parts, left)
  local redone = action.method == "session/redo"
  local how = not redone and "undo with g" or nil
  for _, line in ipairs(outcome.git and words.git_lines(outcome.git, how, redone) or {}) do
    parts[#parts + 1] = line .. "."
  end
  if outcome.chat then
    local chat = outcome.chat
    parts[#parts + 1] = ("Conversation: %s."):format(wording.one_line(chat.problem or chat.summary, 500))
    local command = chat.line
    if command then
      vim.fn.setreg('"', command)
      parts[#parts + 1] = ("Type, or put from the register: %s"):format(wording.one_line(command, 500))
    end
  end
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

--- Applies a plan; within a task.
---@param connection snapd.Connection
---@param action snapd.Action
---@param plan table of a dry run
---@param decisions snapd.Decisions
---@return table? outcome nil if it would be something else by now
local function carry_out(connection, action, plan, decisions)
  local ok, result = pcall(ask, connection, action, { expect = plan.plan, decisions = sent(decisions) })
  if ok then
    if action.chat then
      -- the files are back already
      local went, answer = pcall(connection.ask, connection, "session/rewindChat", action.chat)
      local problem = not went and { command = {}, drops = {}, problem = tostring(answer) }
      result.chat = problem or answer.chat
    end
    return result
  elseif errors.is_error(result) and result.kind == "planChanged" then
    return nil
  end
  error(result, 0)
end

--- Shows the plan, and does what the user agrees to. A plan that changes nothing asks nothing.
---@param connection snapd.Connection
---@param action snapd.Action
function M.run(connection, action)
  task.start(action.aim, function()
    local decisions, note, about = {}, nil, nil
    local plan = foretell(connection, action, decisions)
    while true do
      local asks = next(decisions) or plan.git or plan.chat or #outcomes.written(plan.files) + #outcomes.with(plan.files, "conflict") > 0
      local answer = asks and decide(action, plan, decisions, note, about) or not asks and { key = "y", files = {} }
      note = nil
      if not answer then
        return
      end
      about = #answer.files == 1 and plans.name(answer.files[1]) or nil
      if answer.key == "c" then
        conflicts.list(connection:folder(), plan, action.aim)
        return
      elseif answer.key == "?" then
        note = EXPLAINED
      elseif answer.key == "g" then
        action = vim.deepcopy(action)
        action.params.git = not action.params.git or nil
      elseif answer.key == "y" then
        if vim.list_contains(vim.tbl_values(decisions), "overwrite") then
          refuse_unsaved(connection, action, decisions)
        end
        local outcome = carry_out(connection, action, plan, decisions)
        if outcome then
          report(connection, action, outcome)
          return
        end
        -- the decisions were about the earlier state of the files
        decisions, note = {}, "Something has changed since. This is the new plan."
      else
        for _, file in ipairs(answer.files) do
          decisions[plans.name(file)] = ({ o = "overwrite", K = "keep" })[answer.key]
        end
      end
      plan = foretell(connection, action, decisions)
    end
  end)
end

return M
