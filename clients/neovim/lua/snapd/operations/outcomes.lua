--- What became of files, or is to become of them, in words.

local wording = require("snapd.wording")

local M = {}

local DONE = {
  restored = "restored",
  deleted = "deleted",
  merged = "merged",
  unchanged = "unchanged",
  conflict = "in conflict",
  kept = "kept",
  skipped = "skipped",
  failed = "failed",
}
local PLANNED = {
  restored = "restore",
  deleted = "delete",
  merged = "merge",
  unchanged = "leave",
  conflict = "conflict",
  kept = "keep",
  skipped = "skip",
  failed = "fail",
}
local REASONS = {
  already = "it is so already",
  onBranch = "the change is on another branch",
  stashed = "the change is in a stash",
  changedSince = "changed since",
  deletedSince = "deleted since",
  renamedSince = "moved since",
  occupied = "something else is in its place",
  shared = "steps of several sessions may have made the change",
  unsavedInEditor = "has unsaved text in an editor",
  changedMeanwhile = "changed at the same moment",
  conflictsElsewhere = "other files are in conflict",
  ignored = "is ignored",
  tooLarge = "is over the size limit",
  unreadable = "cannot be read",
  special = "is no regular file",
  unstable = "changes all the time",
  unsupportedName = "its name is not supported",
  purged = "its contents were purged",
  inTheWay = "something that no snapshot has is in its place",
  directoryNotEmpty = "a folder with other files is in its place",
  onlyCopy = "is the only copy of a file that was not captured before",
  clash = "another file of the request is in its place",
  storeCorrupt = "its snapshot is damaged",
}
local ORDER = { "failed", "skipped", "conflict", "kept", "merged", "restored", "deleted", "unchanged" }
local WRITTEN = { "restored", "merged", "deleted" }

---@param reason string
---@param branch? string
---@return string
function M.reason(reason, branch)
  if branch then
    return "the change is on branch " .. wording.one_line(branch)
  end
  return REASONS[reason] or reason
end

--- What is to become of a file, in one word.
---@param outcome string
---@return string
function M.planned(outcome)
  return PLANNED[outcome] or outcome
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
  return M.with(list, unpack(WRITTEN))
end

--- What was done: "2 files restored, 1 merged".
---@param list table[]
---@return string
function M.summary(list)
  local parts = {}
  for _, outcome in ipairs(WRITTEN) do
    local count = #M.with(list, outcome)
    if count > 0 then
      parts[#parts + 1] = (#parts == 0 and wording.counted(count, "file") or tostring(count)) .. " " .. DONE[outcome]
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
      DONE[file.outcome],
      file.message or M.reason(file.reason or "failed")
    )
  end
  for _, file in ipairs(M.with(list, "unchanged")) do
    if vim.list_contains({ "already", "onBranch", "stashed" }, file.reason) then
      sentences[#sentences + 1] = ("%s: %s."):format(file.file, M.reason(file.reason, file.branch))
    end
  end
  return sentences
end

return M
