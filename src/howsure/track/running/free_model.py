"""Models of Inspect that cost no tokens, and say so: players and people."""

from __future__ import annotations

from abc import abstractmethod

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolChoice, ToolInfo

__all__ = ["FreeAPI"]


class FreeAPI(ModelAPI):
    """Somebody who answers a conversation without a server."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as Inspect has it
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect's name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """What is said to the last message."""
        output = ModelOutput.from_message(ChatMessageAssistant(content=self.said(input), source="generate"))
        # without usage Inspect counts tokens itself, and fetches a tokenizer for it
        output.usage = ModelUsage()
        return output

    @abstractmethod
    def said(self, messages: list[ChatMessage]) -> str:
        """The reply to a conversation."""
