--- Words for people: counts, lists, times, and texts of others cut to one line.

local M = {}

--- "1 file", "2 files".
---@param count integer
---@param noun string
---@return string
function M.counted(count, noun)
  return ("%d %s%s"):format(count, noun, count == 1 and "" or "s")
end

--- "a", "a and b", "a, b and 3 more".
---@param names string[]
---@param most? integer
---@return string
function M.listed(names, most)
  most = most or 4
  if #names <= 1 then
    return names[1] or ""
  end
  local all = #names <= most
  local shown = vim.list_slice(names, 1, all and #names - 1 or most - 1)
  return table.concat(shown, ", ") .. " and " .. (all and names[#names] or ("%d more"):format(#names - #shown))
end

--- "+2 -1"; empty where no line was added or deleted.
---@param additions integer
---@param deletions integer
---@return string
function M.lines(additions, deletions)
  local parts = {}
  if additions > 0 then
    parts[#parts + 1] = "+" .. additions
  end
  if deletions > 0 then
    parts[#parts + 1] = "-" .. deletions
  end
  return table.concat(parts, " ")
end

--- A text of others as a part of one line: without line ends and control characters, and cut.
---@param text string
---@param most? integer the most characters that are kept
---@return string
function M.one_line(text, most)
  local plain = vim.trim((text:gsub("[%z\1-\31\127]+", " ")))
  most = most or 200
  if vim.fn.strchars(plain) <= most then
    return plain
  end
  return vim.fn.strcharpart(plain, 0, most - 1) .. "…"
end

--- Seconds since 1970 of a time in the daemon's format, in UTC.
---@param at string
---@return integer
function M.seconds(at)
  local year, month, day, hour, minute, second = at:match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return 0
  end
  local parts = { year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false }
  local as_local = os.time(parts)
  -- os.time takes local time: what it is off by is what it makes of the same moment in UTC
  local utc = os.date("!*t", as_local) --[[@as osdate]]
  utc.isdst = false
  return as_local + os.difftime(as_local, os.time(utc))
end

--- When something was, for a row: the time if it was today, else the day.
---@param at string
---@return string
function M.clock(at)
  local seconds = M.seconds(at)
  local is_today = os.date("%Y%j", seconds) == os.date("%Y%j")
  return tostring(os.date(is_today and "%H:%M" or "%b %d", seconds))
end

--- When something was, in a sentence: "just now", "5 minutes ago", "3 days ago".
---@param at string
---@param now? integer seconds since 1970
---@return string
function M.ago(at, now)
  local passed = math.max(0, (now or os.time()) - M.seconds(at))
  if passed < 60 then
    return "just now"
  end
  for _, unit in ipairs({ { 86400, "day" }, { 3600, "hour" }, { 60, "minute" } }) do
    if passed >= unit[1] then
      return M.counted(math.floor(passed / unit[1]), unit[2]) .. " ago"
    end
  end
  return "just now"
end

return M
