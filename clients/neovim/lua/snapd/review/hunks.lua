--- The lines of a buffer that a pending hunk is about, without a buffer.

local M = {}

---@class snapd.Change lines that were added, replaced, or taken out in front of a line
---@field kind "added"|"changed"|"deleted"
---@field line integer the first line in the file, from 1; of lines that were taken out, the line before, or 1
---@field count integer 0 where lines were taken out

---@class snapd.Span
---@field first integer the first line that changed, from 1
---@field last integer the last one

--- The changes within a hunk.
---@param hunk { newStart: integer, newLines: integer, lines: string[] }
---@return snapd.Change[]
function M.changes(hunk)
  local changes = {}
  -- a hunk without lines in the file names the line before
  local line = hunk.newLines == 0 and hunk.newStart + 1 or hunk.newStart
  local added, deleted = 0, 0
  local function flush()
    if added > 0 then
      local kind = deleted > 0 and "changed" or "added"
      changes[#changes + 1] = { kind = kind, line = line - added, count = added }
    elseif deleted > 0 then
      changes[#changes + 1] = { kind = "deleted", line = math.max(1, line - 1), count = 0 }
    end
    added, deleted = 0, 0
  end
  for _, text in ipairs(hunk.lines) do
    local sign = text:sub(1, 1)
    if sign == "+" then
      added, line = added + 1, line + 1
    elseif sign == "-" then
      if added > 0 then
        flush()
      end
      deleted = deleted + 1
    elseif sign == " " then
      flush()
      line = line + 1
    end
  end
  flush()
  return changes
end

--- From the first to the last line that a hunk changed.
---@param changes snapd.Change[]
---@return snapd.Span
function M.span(changes)
  local first, last = changes[1], changes[#changes]
  return { first = first.line, last = last.line + math.max(0, last.count - 1) }
end

return M
