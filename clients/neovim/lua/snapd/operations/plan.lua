--- A plan as text: what an operation would do, file by file, and whom it conflicts with.

local highlights = require("snapd.highlights")
local outcomes = require("snapd.operations.outcomes")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

local MOST_FILES = 200
local MOST_LINES = 3
local MOST_STEPS = 8

---@class snapd.PlanText
---@field lines string[]
---@field marks table[] see `snapd.FloatOptions`
---@field files table<integer, table> the files in conflict, and those that were decided about, by their line

---@param by table ChangedBy
---@return string
local function who(by)
  if by.author == "operation" then
    return by.kind and words.OPERATIONS[by.kind].noun or "an operation"
  end
  return words.AUTHORS[by.author] or by.agent and wording.one_line(words.agent_title(by.agent), 30) or "an agent"
end

--- The steps and operations that an outcome is about: "Claude Code: round the totals", "a restore"; and whose they are.
---@param outcome table
---@return { [1]: string, [2]: string?, [3]: integer? }[]
local function subjects(outcome)
  local names = {}
  for _, step in ipairs(outcome.steps or {}) do
    local name = step.description or step.tool or "step " .. step.stepId:sub(1, 8)
    local title = wording.one_line(step.agent and words.agent_title(step.agent) or "an agent", 30)
    names[#names + 1] = { title .. ": " .. wording.one_line(name, 60), step.agent or "an agent", #title }
  end
  for _, operation in ipairs(outcome.operations or {}) do
    names[#names + 1] = { words.OPERATIONS[operation.kind].noun }
  end
  return names
end

--- Who changed a file, and why it conflicts: "changed since by Codex and you, line 12".
---@param file table FileOutcome
---@param contested? table Contested
---@return string
function M.conflict(file, contested)
  local text = file.message or outcomes.reason(file.reason or "changedSince")
  local names, seen = {}, {}
  for _, by in ipairs(contested and contested.by or {}) do
    if not by.elsewhere and not seen[who(by)] then
      seen[who(by)] = true
      names[#names + 1] = who(by)
    end
  end
  if #names > 0 then
    text = text .. (file.reason == "shared" and " with " or " by ") .. wording.listed(names)
  end
  if contested and contested.dispute then
    local first, count = contested.dispute.line, #contested.dispute.now
    text = text .. (count > 1 and (", lines %d to %d"):format(first, first + count - 1) or ", line " .. first)
  end
  return text
end

--- The exact name of a file, for requests.
---@param file table FileOutcome
---@return string
function M.name(file)
  return file.uri or file.file
end

--- The contested files by name.
---@param outcome table
---@return table<string, table>
function M.contested(outcome)
  local by_name = {}
  for _, contested in ipairs(outcome.details and outcome.details.contested or {}) do
    by_name[contested.file] = by_name[contested.file] or contested
  end
  return by_name
end

--- The plan as lines.
---@param outcome table of a dry run
---@param note? string something to know before
---@param names_steps boolean whether to say which steps it is about
---@param decisions table<string, string> what was decided about files
---@param keys { [1]: string, [2]: string }[] keys, and what they do
---@param redone boolean whether it does again what was undone
---@return snapd.PlanText
function M.text(outcome, note, names_steps, decisions, keys, redone)
  local lines, marks, decided = {}, {}, {}
  local function add(text, group, from, to)
    lines[#lines + 1] = text
    if group then
      marks[#marks + 1] = { #lines - 1, from or 0, to or #text, group }
    end
  end
  for _, line in ipairs(note and vim.split(note, "\n") or {}) do
    add(line, "WarningMsg")
  end
  if note then
    add("")
  end
  local about = names_steps and subjects(outcome) or {}
  for at, subject in ipairs(about) do
    if at > MOST_STEPS then
      add(("and %d more"):format(#about - MOST_STEPS), "SnapdDim")
      break
    end
    add(subject[1], highlights.agent(subject[2]), 0, subject[3] or #subject[1])
  end
  if #about > 0 then
    add("")
  end
  local contested = M.contested(outcome)
  local sorted = outcomes.sorted(outcome.files)
  for at, file in ipairs(sorted) do
    if at > MOST_FILES then
      add(("and %d more files"):format(#sorted - MOST_FILES), "SnapdDim")
      break
    end
    local word = outcomes.planned(file.outcome)
    local needs_look = vim.list_contains({ "conflict", "skipped", "failed" }, file.outcome)
    local text = ("%-8s  %s"):format(word, wording.one_line(file.file))
    if file.renamedFrom then
      text = text .. "  from " .. wording.one_line(file.renamedFrom)
    end
    if needs_look then
      text = text .. "  " .. M.conflict(file, contested[file.file])
    elseif decisions[M.name(file)] then
      local verb = decisions[M.name(file)] == "overwrite" and "overwrites: " or ""
      text = text .. "  " .. verb .. M.conflict(file, contested[file.file])
    elseif file.reason then
      text = text .. "  " .. (file.message or outcomes.reason(file.reason, file.branch))
    end
    if file.outcome == "conflict" or decisions[M.name(file)] then
      decided[#lines + 1] = file
    end
    add(text, needs_look and "SnapdConflict" or "SnapdTool", 0, #word)
    local dispute = file.outcome == "conflict" and contested[file.file] and contested[file.file].dispute
    for _, part in ipairs(dispute and { { "now", dispute.now }, { "wanted", dispute.wanted } } or {}) do
      for number, line in ipairs(vim.list_slice(part[2], 1, MOST_LINES)) do
        add(("          %-6s │ %s"):format(number == 1 and part[1] or "", wording.one_line(line, 80)), "SnapdDim")
      end
    end
  end
  if #sorted == 0 then
    add("No file has to be changed.")
  end
  add("")
  local details = outcome.details
  local counts = details and wording.lines(details.additions, details.deletions) or ""
  if counts ~= "" then
    add(counts .. " in " .. wording.counted(#outcomes.written(outcome.files), "file"), "SnapdDim")
    add("")
  end
  if outcome.chat then
    add("conversation: " .. wording.one_line(outcome.chat.problem or outcome.chat.summary, 500))
    add("")
  end
  for _, line in ipairs(outcome.git and words.git_lines(outcome.git, "g", redone) or {}) do
    add(wording.one_line(line, 500), "WarningMsg")
  end
  for _, key in ipairs(keys) do
    add(("%-3s %s"):format(key[1], key[2]), "SnapdKey", 0, #key[1])
  end
  return { lines = lines, marks = marks, files = decided }
end

return M
