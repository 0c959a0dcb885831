--- The commands.

local folders = require("snapd.daemon.folders")

local M = {}

---@class snapd.Command
---@field name string
---@field desc string
---@field run fun(given: table)
---@field options? table for `nvim_create_user_command`

---@param method string
---@return fun()
local function pending(method)
  return function()
    require("snapd.review.pending")[method]()
  end
end

---@type snapd.Command[]
local COMMANDS = {
  {
    name = "Snapd",
    desc = "Show or hide the steps of agents; or run the command that this begins with the word after it",
    options = { nargs = "*", range = true, bang = true, complete = "custom,v:lua.require'snapd.commands'.words" },
    run = function(given)
      local word, rest = given.args:match("^(%S+)%s*(.*)$")
      if word == nil then
        require("snapd.history.view").toggle(folders.current())
      else
        M.run(word, vim.tbl_extend("force", given, { args = rest }))
      end
    end,
  },
  {
    name = "SnapdUndo",
    desc = "Undo the last step, or the step with this id",
    options = { nargs = "?", range = 0 },
    run = function(given)
      local undoing = require("snapd.operations.undoing")
      if given.args ~= "" then
        undoing.undo_named(folders.current(), given.args)
      else
        undoing.undo_last(folders.current(), given.count > 0 and given.count or nil)
      end
    end,
  },
  {
    name = "SnapdRedo",
    desc = "Redo what was undone last",
    options = { range = 0 },
    run = function(given)
      require("snapd.operations.undoing").redo(folders.current(), given.count > 0 and given.count or nil)
    end,
  },
  { name = "SnapdDiff", desc = "Compare the file with its accepted version", run = pending("compare") },
  { name = "SnapdKeepHunk", desc = "Keep the pending hunk under the cursor", run = pending("keep_hunk") },
  { name = "SnapdUndoHunk", desc = "Undo the pending hunk under the cursor", run = pending("undo_hunk") },
  { name = "SnapdShowHunk", desc = "Show the pending hunk under the cursor", run = pending("show_hunk") },
  { name = "SnapdKeepFile", desc = "Keep what is pending in the file", run = pending("keep_file") },
  { name = "SnapdUndoFile", desc = "Undo what is pending in the file", run = pending("undo_file") },
  {
    name = "SnapdPending",
    desc = "List all pending hunks in the quickfix list",
    run = function()
      require("snapd.review.pending").list(folders.current())
    end,
  },
  {
    name = "SnapdComment",
    desc = "Comment on the line, or on lines, for the agent that wrote them",
    options = { nargs = "*", range = true },
    run = function(given)
      require("snapd.review.comments").comment(given.line1, given.line2, given.args)
    end,
  },
  {
    name = "SnapdReply",
    desc = "Reply to the comment under the cursor",
    options = { nargs = "*" },
    run = function(given)
      require("snapd.review.comments").reply(given.args)
    end,
  },
  {
    name = "SnapdResolve",
    desc = "Resolve the comment under the cursor; with !, reopen the one resolved last",
    options = { bang = true },
    run = function(given)
      require("snapd.review.comments").resolve(given.bang)
    end,
  },
  {
    name = "SnapdShowComment",
    desc = "Show the whole comment under the cursor",
    run = function()
      require("snapd.review.comments").show()
    end,
  },
  {
    name = "SnapdComments",
    desc = "List the open comments in the quickfix list; with !, the resolved ones, too",
    options = { bang = true },
    run = function(given)
      require("snapd.review.comments").list(folders.current(), given.bang)
    end,
  },
  {
    name = "SnapdBlame",
    desc = "Show or hide who wrote the line under the cursor",
    run = function()
      require("snapd.blame").toggle()
    end,
  },
}

--- The words that may follow `:Snapd`, a line each.
---@return string
function M.words()
  local words = {}
  for _, command in ipairs(COMMANDS) do
    words[#words + 1] = command.name:sub(#"Snapd" + 1):lower()
  end
  return vim.trim(table.concat(words, "\n"))
end

--- Runs the command whose name is `Snapd` and this word.
---@param word string
---@param given table as its own function gets it
function M.run(word, given)
  for _, command in ipairs(COMMANDS) do
    if command.name:lower() == "snapd" .. word:lower() then
      command.run(given)
      return
    end
  end
  vim.notify(("snapd: there is no command :Snapd%s."):format(word), vim.log.levels.WARN)
end

--- Creates them.
function M.create()
  for _, command in ipairs(COMMANDS) do
    local options = vim.tbl_extend("error", { desc = command.desc }, command.options or {})
    vim.api.nvim_create_user_command(command.name, command.run, options)
  end
end

return M
