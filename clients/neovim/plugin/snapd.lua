if vim.g.loaded_snapd then
  return
end
vim.g.loaded_snapd = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("snapd needs Neovim 0.10 or later.", vim.log.levels.ERROR)
  return
end

require("snapd.start").begin()
