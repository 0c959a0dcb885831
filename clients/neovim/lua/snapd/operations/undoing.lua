--- The operations that take something back, or do it again.

local act = require("snapd.operations.act")
local errors = require("snapd.errors")
local outline = require("snapd.history.outline")
local task = require("snapd.task")
local wording = require("snapd.wording")

local M = {}

--- Undoes the last that was done in the folder, or the last few.
---@param connection snapd.Connection
---@param count? integer
function M.undo_last(connection, count)
  local what = count and count > 1 and ("the last %d steps"):format(count) or "the last step"
  act.run(connection, {
    aim = "undo " .. what,
    done = "undid " .. what,
    method = "session/undo",
    params = { count = count },
    names_steps = true,
  })
end

--- Undoes a step, wherever it is in the history.
---@param connection snapd.Connection
---@param step table
function M.undo_step(connection, step)
  local name = ("“%s”"):format(outline.step_name(step))
  act.run(connection, {
    aim = "undo " .. name,
    done = "undid " .. name,
    method = "session/undo",
    params = { stepId = step.stepId },
  })
end

--- Undoes the step whose id begins like this.
---@param connection snapd.Connection
---@param prefix string
function M.undo_named(connection, prefix)
  task.start("undo the step", function()
    local found = connection:ask("step/find", { prefix = prefix, limit = 2 }).steps
    if #found == 0 then
      error(errors.new(("No step's id begins with %s."):format(prefix), ":Snapd shows the steps, K the id of one."), 0)
    elseif #found > 1 then
      error(errors.new(("Several steps' ids begin with %s."):format(prefix), "Give more of the id."), 0)
    end
    M.undo_step(connection, found[1])
  end)
end

--- Undoes all steps of a message.
---@param connection snapd.Connection
---@param turn { session: string, message: string, text?: string }
function M.undo_turn(connection, turn)
  local name = turn.text and ("all for “%s”"):format(wording.one_line(turn.text, 40)) or "all steps of the prompt"
  act.run(connection, {
    aim = "undo " .. name,
    done = "undid " .. name,
    method = "session/undo",
    params = { sessionId = turn.session, messageId = turn.message },
    names_steps = true,
  })
end

--- Goes back to before a prompt, with files and conversation.
---@param connection snapd.Connection
---@param turn { session: string, message: string, text?: string }
function M.rewind(connection, turn)
  local name = turn.text and ("“%s”"):format(wording.one_line(turn.text, 40)) or "the prompt"
  local about = { sessionId = turn.session, messageId = turn.message }
  act.run(connection, {
    aim = ("go back to before %s, with the conversation"):format(name),
    done = "went back to before " .. name,
    method = "session/revert",
    params = about,
    chat = about,
  })
end

--- Undoes what a step did to a file.
---@param connection snapd.Connection
---@param step table
---@param file table FileChange
function M.undo_file_of_step(connection, step, file)
  local name = ("what “%s” did to %s"):format(outline.step_name(step), wording.one_line(file.file))
  act.run(connection, {
    aim = "undo " .. name,
    done = "undid " .. name,
    method = "step/revertFiles",
    params = { stepId = step.stepId, files = { file.uri or file.file } },
  })
end

--- Redoes what was undone last in the folder.
---@param connection snapd.Connection
---@param count? integer
function M.redo(connection, count)
  local what = count and count > 1 and ("the last %d undone steps"):format(count) or "what was undone last"
  act.run(connection, {
    aim = "redo " .. what,
    done = "redid " .. what,
    method = "session/redo",
    params = count and { count = count } or { whole = true },
    names_steps = true,
  })
end

return M
