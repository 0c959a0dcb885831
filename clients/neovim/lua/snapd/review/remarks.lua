--- Comments in words: for whom they are, and who wrote them.

local pages = require("snapd.daemon.pages")
local wording = require("snapd.wording")
local words = require("snapd.words")

local M = {}

local WIDTH = 90
local PAGE = 100

---@type table<string, string> what the agent of each session is called
local agents = {}

--- What the agent of a session is called; within a task.
---@param connection snapd.Connection
---@param session? string
---@return string
function M.agent_of(connection, session)
  if session and not agents[session] then
    for _, each in ipairs(pages.read(connection, "session/list", { limit = PAGE }, "sessions")) do
      agents[each.sessionId] = wording.one_line(each.agent and words.agent_title(each.agent) or each.name, 30)
    end
  end
  return session and agents[session] or "an agent"
end

--- Breaks a text of others into lines of the screen.
---@param text string
---@param width integer
---@return string[]
local function wrapped(text, width)
  local found = {}
  for _, line in ipairs(vim.split(text, "\r?\n")) do
    local rest = wording.one_line(line, 10000)
    repeat
      local head = rest
      if vim.fn.strdisplaywidth(rest) > width then
        head = vim.fn.strcharpart(rest, 0, width)
        while vim.fn.strdisplaywidth(head) > width do
          head = vim.fn.strcharpart(head, 0, vim.fn.strchars(head) - 1)
        end
        head = head:match("^(.*%S)%s") or head
      end
      found[#found + 1] = head
      rest = vim.trim(rest:sub(#head + 1))
    until rest == ""
  end
  return found
end

--- A comment in words; within a task.
---@param connection snapd.Connection
---@param comment table
---@return string title
---@return string[] lines
function M.described(connection, comment)
  local parts = { "comment for " .. (comment.sessionId and M.agent_of(connection, comment.sessionId) or "no agent") }
  if comment.sessionId then
    parts[#parts + 1] = comment.deliveredAt and "told" or "not told yet"
  end
  if comment.outdated then
    parts[#parts + 1] = "outdated"
  end
  if comment.state == "resolved" then
    parts[#parts + 1] = "resolved"
  end
  local lines = {}
  if comment.outdated and comment.lines ~= "" then
    for _, line in ipairs(vim.split((comment.lines:gsub("\r?\n$", "")), "\r?\n")) do
      lines[#lines + 1] = "| " .. wording.one_line(line, WIDTH)
    end
  end
  local function add(author, session, text)
    local who = author == "user" and "you" or M.agent_of(connection, session)
    for _, line in ipairs(wrapped(who .. ": " .. text, WIDTH)) do
      lines[#lines + 1] = line
    end
  end
  add(comment.author, nil, comment.text)
  for _, reply in ipairs(comment.replies) do
    add(reply.author, reply.sessionId, reply.text)
  end
  return table.concat(parts, ", "), lines
end

return M
