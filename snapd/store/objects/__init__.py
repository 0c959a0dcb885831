"""Git objects: encoded, compressed, and read and written loose and in packs (git's gitformat-pack(5))."""
