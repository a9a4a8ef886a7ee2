"""Editing pictures on ComfyUI servers.

`edit` is what the synthesis stage calls and `check` what the preflight calls. Below them: `editor` (one group's
edits), `wording` (instructions), `pool` (several servers), `jobs` (the life of one job), `server`, `client` (HTTP),
`events` (websocket), `graph` and `validate` (the workflow, and whether a server can run it).
"""
