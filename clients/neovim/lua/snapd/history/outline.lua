--- What the window of the steps shows: rows made of the history, without a window.

local files = require("snapd.daemon.files")
local highlights = require("snapd.highlights")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

---@alias snapd.Chunk { [1]: string, [2]: string? } text and highlight group

---@class snapd.Row
---@field key string stable: the same row has the same key after each rebuild
---@field kind "turn"|"step"|"user"|"operation"|"file"|"pending"|"pendingFile"|"more"|"note"
---@field depth integer
---@field chunks snapd.Chunk[]
---@field folds boolean whether other rows can stand below it
---@field open boolean whether they do
---@field entry? table the entry of the history
---@field file? table a FileChange
---@field session? string of a turn
---@field message? string of a turn

---@class snapd.History
---@field entries table[] newest first
---@field has_more boolean
---@field pending? table the result of `review/list`

local MARKS = { open = "◎", applied = "●", partly = "◐", undone = "○" }
local MARK_GROUPS = { open = "SnapdOpen", applied = "SnapdApplied", partly = "SnapdPartly", undone = "SnapdUndone" }
local LETTERS = { added = "A", deleted = "D", modified = "M" }
local LETTER_GROUPS = { added = "SnapdAdded", deleted = "SnapdDeleted", modified = "SnapdChanged" }

--- Added and deleted lines, each in its colour.
---@param chunks snapd.Chunk[]
---@param additions integer
---@param deletions integer
local function add_counts(chunks, additions, deletions)
  if additions > 0 then
    chunks[#chunks + 1] = { " +" .. additions, "SnapdAdded" }
  end
  if deletions > 0 then
    chunks[#chunks + 1] = { " -" .. deletions, "SnapdDeleted" }
  end
end

--- What an entry did to git, if it changed no file; details show it otherwise.
---@param chunks snapd.Chunk[]
---@param entry table
local function add_git(chunks, entry)
  if entry.git and #entry.files == 0 then
    chunks[#chunks + 1] = { " git: " .. wording.one_line(words.git_words(entry.git)), "SnapdDim" }
  end
end

---@param list table[]
---@return integer additions
---@return integer deletions
local function totals(list)
  local additions, deletions = 0, 0
  for _, file in ipairs(list) do
    if not file.byGit then
      additions, deletions = additions + file.additions, deletions + file.deletions
    end
  end
  return additions, deletions
end

---@param kind "file"|"pendingFile"
---@param file table
---@param above string the key of the row above
---@param depth integer
---@param entry? table
---@return snapd.Row
local function file_row(kind, file, above, depth, entry)
  local name = wording.one_line(file.file)
  if file.renamedFrom then
    name = wording.one_line(file.renamedFrom) .. " → " .. name
  end
  local letter = file.renamedFrom and "R" or LETTERS[file.status]
  local chunks = { { letter .. " ", LETTER_GROUPS[file.status] }, { name } }
  if file.byGit then
    chunks[#chunks + 1] = { " by git", "SnapdDim" }
  else
    add_counts(chunks, file.additions, file.deletions)
  end
  if file.binary then
    chunks[#chunks + 1] = { " binary", "SnapdDim" }
  end
  if file.shared then
    chunks[#chunks + 1] = { " shared", "SnapdDim" }
  end
  return {
    key = above .. "\0" .. files.request_name(file),
    kind = kind,
    depth = depth,
    chunks = chunks,
    folds = false,
    open = false,
    entry = entry,
    file = file,
  }
end

--- What a step is called in a sentence: its description, else its tool, else its id.
---@param step table
---@return string
function M.step_name(step)
  local name = step.description or step.tool
  return name and wording.one_line(name, 60) or "step " .. step.stepId:sub(1, 8)
end

---@param entry table
---@return snapd.Chunk[]
local function step_chunks(entry)
  local step = entry.step
  local chunks = { { MARKS[step.state] .. " ", MARK_GROUPS[step.state] } }
  if not step.messageId and step.agent then
    chunks[#chunks + 1] = { wording.one_line(words.agent_title(step.agent), 20) .. " ", highlights.agent(step.agent) }
  end
  local group = step.state == "undone" and "SnapdUndone" or nil
  if step.tool and step.description then
    chunks[#chunks + 1] = { wording.one_line(step.tool, 20) .. " ", group or "SnapdTool" }
  end
  chunks[#chunks + 1] = { M.step_name(step), group }
  if step.command and step.command ~= step.description then
    chunks[#chunks + 1] = { " $ " .. wording.one_line(step.command, 60), "SnapdDim" }
  end
  if step.state == "open" then
    chunks[#chunks + 1] = { " goes on", "SnapdOpen" }
  end
  add_counts(chunks, totals(entry.files))
  add_git(chunks, entry)
  chunks[#chunks + 1] = { " " .. wording.clock(entry.at), "SnapdDim" }
  return chunks
end

---@param entry table
---@return snapd.Chunk[]
local function other_chunks(entry)
  local chunks
  if entry.kind == "user" then
    chunks = { { entry.unknown and "◦ unknown" or "◦ you", "SnapdDim" } }
  else
    local what = words.OPERATIONS[entry.kind].past
    local count = #(entry.steps or {})
    if count > 0 then
      what = what .. " " .. wording.counted(count, "step")
    end
    local state = entry.state == "undone" and ", undone" or entry.state == "partly" and ", partly undone" or ""
    chunks = { { "◆ " .. what .. state, "SnapdDim" } }
  end
  if #entry.files > 0 or not entry.git then
    chunks[#chunks + 1] = { " " .. wording.counted(#entry.files, "file"), "SnapdDim" }
  end
  add_counts(chunks, totals(entry.files))
  add_git(chunks, entry)
  chunks[#chunks + 1] = { " " .. wording.clock(entry.at), "SnapdDim" }
  return chunks
end

---@param entry table
---@return string
local function key_of(entry)
  if entry.step then
    return "step\0" .. entry.step.stepId
  end
  return table.concat({ entry.kind, entry.at, entry.before, entry.after or "" }, "\0")
end

---@class snapd.Turn
---@field session string
---@field message string
---@field text? string
---@field agent? string
---@field at string
---@field items table[] entries, newest first

--- Which entries stand at the top, newest first: turns with the steps of their message, and what belongs to none.
---@param entries table[]
---@return table[] tops each an entry, or a turn
---@return table<string, table[]> parts the parts of a step, by its id
local function arranged(entries)
  local tops, turns, parts, is_shown = {}, {}, {}, {}
  entries = vim.tbl_filter(function(entry)
    return not entry.step or not words.is_empty(entry.step)
  end, entries)
  for _, entry in ipairs(entries) do
    if entry.step then
      is_shown[entry.step.stepId] = true
    end
  end
  for _, entry in ipairs(entries) do
    local step = entry.step
    local above = step and step.parentStepId
    if above and is_shown[above] then
      parts[above] = parts[above] or {}
      table.insert(parts[above], entry)
    else
      local session = step and step.sessionId or entry.sessionId
      local message = step and step.messageId or (entry.kind == "message" and entry.messageId) or nil
      if message and session then
        local id = session .. "\0" .. message
        local turn = turns[id]
        if not turn then
          turn = { session = session, message = message, at = entry.at, items = {} }
          turns[id] = turn
          tops[#tops + 1] = turn
        end
        if entry.kind == "message" then
          -- of a message that was sent again, the text of the last time counts
          turn.text = turn.text or entry.text
          turn.at = entry.at
        else
          turn.agent = turn.agent or step.agent
          table.insert(turn.items, entry)
        end
      else
        tops[#tops + 1] = entry
      end
    end
  end
  return tops, parts
end

--- The state of a turn's steps, as a mark.
---@param turn snapd.Turn
---@return string? state
local function turn_state(turn)
  local states = {}
  for _, entry in ipairs(turn.items) do
    if entry.step.state == "open" then
      return "open"
    elseif #entry.files > 0 or entry.git then
      states[entry.step.state] = true
    end
  end
  local names = vim.tbl_keys(states)
  return #names > 1 and "partly" or names[1]
end

---@param turn snapd.Turn
---@return snapd.Chunk[]
local function turn_chunks(turn)
  local state = turn_state(turn)
  local chunks = {}
  if state then
    chunks[1] = { MARKS[state] .. " ", MARK_GROUPS[state] }
  end
  if turn.agent then
    chunks[#chunks + 1] = { wording.one_line(words.agent_title(turn.agent), 20) .. " ", highlights.agent(turn.agent) }
  end
  local prompt = turn.text and wording.one_line(turn.text, 60) or ""
  chunks[#chunks + 1] = { prompt ~= "" and prompt or "an unknown prompt", "SnapdPrompt" }
  chunks[#chunks + 1] = { " " .. wording.clock(turn.at), "SnapdDim" }
  return chunks
end

--- The rows for a history.
---@param history snapd.History
---@param folded table<string, boolean> by key: true for rows that were folded, false for those that were unfolded
---@return snapd.Row[]
function M.rows(history, folded)
  local rows = {} ---@type snapd.Row[]

  ---@param row table
  ---@param is_open boolean whether it is unfolded by default
  ---@return boolean
  local function add(row, is_open)
    row.folds = row.folds or false
    if folded[row.key] ~= nil then
      is_open = not folded[row.key]
    end
    row.open = row.folds and is_open
    rows[#rows + 1] = row
    return row.open
  end

  local function add_files(list, above, depth, entry)
    for _, file in ipairs(list) do
      rows[#rows + 1] = file_row("file", file, above, depth, entry)
    end
  end

  local tops, parts = arranged(history.entries)

  local function add_entry(entry, depth)
    local key = key_of(entry)
    if not entry.step then
      local kind = entry.kind == "user" and "user" or "operation"
      local row = { key = key, kind = kind, depth = depth, chunks = other_chunks(entry), entry = entry }
      row.folds = #entry.files > 0
      if add(row, false) then
        add_files(entry.files, key, depth + 1, entry)
      end
      return
    end
    local inner = parts[entry.step.stepId] or {}
    local row = { key = key, kind = "step", depth = depth, chunks = step_chunks(entry), entry = entry }
    row.folds = #entry.files > 0 or #inner > 0
    if add(row, #entry.files <= 20) then
      for _, part in ipairs(inner) do
        add_entry(part, depth + 1)
      end
      add_files(entry.files, key, depth + 1, entry)
    end
  end

  local pending = history.pending
  if pending and pending.pendingFiles > 0 then
    local chunks = { { "Pending ", "SnapdTitle" }, { wording.counted(pending.pendingFiles, "file") } }
    add_counts(chunks, pending.additions, pending.deletions)
    if add({ key = "pending", kind = "pending", depth = 0, chunks = chunks, folds = true }, true) then
      for _, file in ipairs(pending.files) do
        rows[#rows + 1] = file_row("pendingFile", file, "pending", 1)
      end
      local left = pending.pendingFiles - #pending.files
      if left > 0 then
        local note = { { ("and %d more"):format(left), "SnapdDim" } }
        add({ key = "pending\0more", kind = "note", depth = 1, chunks = note }, false)
      end
    end
  end
  for _, top in ipairs(tops) do
    if top.items then
      local key = "turn\0" .. top.session .. "\0" .. top.message
      local row = { key = key, kind = "turn", depth = 0, chunks = turn_chunks(top), folds = #top.items > 0 }
      row.session, row.message, row.text = top.session, top.message, top.text
      if add(row, true) then
        for _, entry in ipairs(top.items) do
          add_entry(entry, 1)
        end
      end
    else
      add_entry(top, 0)
    end
  end
  if history.has_more then
    add({ key = "more", kind = "more", depth = 0, chunks = { { "… older entries", "SnapdDim" } } }, false)
  end
  if #rows == 0 then
    add({ key = "none", kind = "note", depth = 0, chunks = { { "No agent has worked here yet.", "SnapdDim" } } }, false)
  end
  return rows
end

return M
