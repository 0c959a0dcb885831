"""All agents, by name."""

from __future__ import annotations

from .agent import Agent
from .claude import Claude
from .codex import Codex
from .gemini import Gemini
from .opencode import OpenCode
from .qwen import Qwen

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (Claude(), Codex(), OpenCode(), Gemini(), Qwen())}
