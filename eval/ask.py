"""One prompt to the configured model, one structured reply: for judging and drafting, never for scoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rag.endpoint import Endpoint
from rag.errors import ModelError
from rag.settings import Settings


def asker(settings: Settings, fields: Mapping[str, Mapping[str, Any]]) -> Callable[[str], str]:
    """A function that sends a prompt and gives the reply's text, asked for as a JSON object with these fields.

    What a server does not know is left out in the next request: first the schema, then the temperature. Raises
    ModelError when no model is set; the function raises it when the model cannot be asked.
    """
    if not settings.llm_model:
        raise ModelError("no model is set: set QUOTH_LLM_MODEL (and OPENAI_API_KEY or OPENAI_BASE_URL)")
    endpoint = Endpoint(settings.llm_model, settings.openai_base_url, settings.key(), settings.llm_timeout)
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
    ways: list[dict[str, Any]] = [{"temperature": 0, "response_format": form}, {"temperature": 0}, {}]

    def ask(prompt: str) -> str:
        import openai

        client = openai.OpenAI(
            base_url=endpoint.url,
            api_key=endpoint.usable_key(),
            timeout=settings.llm_timeout,
            max_retries=settings.llm_retries,
        )
        while True:
            try:
                reply = client.chat.completions.create(
                    model=settings.llm_model, messages=[{"role": "user", "content": prompt}], **ways[0]
                )
                return reply.choices[0].message.content or ""
            except (openai.BadRequestError, openai.UnprocessableEntityError) as e:
                if len(ways) == 1:
                    raise endpoint.explain(e) from None
                ways.pop(0)
            except Exception as e:  # the one border to foreign code: its texts may hold the key
                raise endpoint.explain(e) from None

    return ask
