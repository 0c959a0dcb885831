"""What clients can do: one module for each family of requests.

A method that raises `WorkspaceGone`, `StoreCorrupt`, `StorageFull`, `IoError` or `Cancelled` has changed and recorded
nothing, unless its docstring says otherwise.
"""
