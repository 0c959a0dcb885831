--- The setup when Neovim starts: commands and autocommands.

local blame = require("snapd.blame")
local commands = require("snapd.commands")
local comments = require("snapd.review.comments")
local documents = require("snapd.documents")
local folders = require("snapd.daemon.folders")
local highlights = require("snapd.highlights")
local keys = require("snapd.review.keys")
local marks = require("snapd.review.marks")
local reload = require("snapd.buffers.reload")

local M = {}

--- Reports a buffer to the daemon, and shows what is pending in it.
---@param buf integer
local function attach(buf)
  local connection = folders.attach(buf)
  if connection then
    keys.map(buf)
    -- an agent may have written the file after Neovim read it
    reload.forget(buf)
    reload.look(connection)
    marks.refresh(connection)
    comments.refresh(connection)
  end
end

--- The file of a buffer is as its text, or soon will be.
---@param buf integer
local function look_again(buf)
  for _, connection in ipairs(folders.all()) do
    if connection:has(buf) then
      marks.refresh(connection)
      comments.refresh(connection)
    end
  end
  blame.changed(buf)
end

--- Begins: for `plugin/snapd.lua`, once.
function M.begin()
  local group = vim.api.nvim_create_augroup("snapd", {})
  local function on(events, pattern, callback, desc)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      pattern = pattern,
      callback = function(event)
        -- an autocommand whose callback returns true is deleted
        callback(event.buf)
      end,
      desc = "snapd: " .. desc,
    })
  end
  commands.create()
  highlights.define()
  keys.define()
  folders.on_new(function(connection)
    reload.watch(connection)
    marks.watch(connection)
    comments.watch(connection)
    blame.watch(connection)
  end)
  on("ColorScheme", nil, highlights.define, "define the highlight groups")
  on("BufReadCmd", "snapd://*", documents.read, "show a file as it was")
  on({ "BufReadPost", "BufNewFile", "BufFilePost" }, nil, attach, "report the buffer to the daemon")
  on("BufWritePost", nil, marks.outdate, "update the pending lines")
  on({ "BufWritePost", "BufWinEnter" }, nil, look_again, "read what is pending")
  on({ "CursorMoved", "BufEnter", "TextChanged" }, nil, blame.moved, "show who wrote the line")
  on("BufUnload", nil, function(buf)
    marks.forget(buf)
    comments.forget(buf)
    reload.forget(buf)
    blame.changed(buf)
    folders.detach(buf)
  end, "forget the buffer")
  if vim.v.vim_did_enter == 1 then
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_loaded(buf) then
        attach(buf)
      end
    end
  end
end

return M
