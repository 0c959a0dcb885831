--- The outcomes of files, done or planned, in words.

local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

local ORDER = { "failed", "skipped", "conflict", "kept", "merged", "restored", "deleted", "unchanged" }

---@param reason string
---@param branch? string
---@return string
function M.reason(reason, branch)
  return words.reason_text(reason, branch and wording.one_line(branch))
end

--- The planned outcome of a file, in one word.
---@param outcome string
---@return string
function M.planned(outcome)
  return words.OUTCOMES[outcome] and words.OUTCOMES[outcome].planned or outcome
end

--- The files, those that need a look first.
---@param list table[]
---@return table[]
function M.sorted(list)
  local rank = {}
  for at, outcome in ipairs(ORDER) do
    rank[outcome] = at
  end
  local sorted = vim.list_slice(list)
  table.sort(sorted, function(one, other)
    if one.outcome ~= other.outcome then
      return (rank[one.outcome] or 0) < (rank[other.outcome] or 0)
    end
    return one.file < other.file
  end)
  return sorted
end

--- The files with one of these outcomes.
---@param list table[]
---@param ... string
---@return table[]
function M.with(list, ...)
  local wanted = { ... }
  return vim.tbl_filter(function(file)
    return vim.list_contains(wanted, file.outcome)
  end, list)
end

--- The files that are written or deleted.
---@param list table[]
---@return table[]
function M.written(list)
  return M.with(list, unpack(words.WRITTEN_OUTCOMES))
end

--- What was done: "2 files restored, 1 merged".
---@param list table[]
---@return string
function M.summary(list)
  local parts = {}
  for _, outcome in ipairs(words.WRITTEN_OUTCOMES) do
    local count = #M.with(list, outcome)
    if count > 0 then
      parts[#parts + 1] = (#parts == 0 and wording.counted(count, "file") or tostring(count)) .. " " .. words.OUTCOMES[outcome].done
    end
  end
  if #parts == 0 then
    return #M.with(list, "conflict") > 0 and "no file was changed" or "no file had to be changed"
  end
  return table.concat(parts, ", ")
end

--- What was not done, file by file, in sentences.
---@param list table[]
---@return string[]
function M.leftovers(list)
  local sentences = {}
  for _, file in ipairs(M.with(list, "failed", "skipped")) do
    sentences[#sentences + 1] = ("%s: %s (%s)."):format(
      file.file,
      words.OUTCOMES[file.outcome].done,
      file.message or M.reason(file.reason or "failed")
    )
  end
  for _, file in ipairs(M.with(list, "unchanged")) do
    if vim.list_contains(words.ABSENT_REASONS, file.reason) then
      sentences[#sentences + 1] = ("%s: %s."):format(file.file, M.reason(file.reason, file.branch))
    end
  end
  return sentences
end

return M
