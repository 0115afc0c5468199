"""The page of the API: plain HTML made from the OpenAPI schema, with nothing to load elsewhere."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f4f4f4;padding:.7rem;overflow:auto;font-size:13px}"
    "h2 code{font-size:1.1rem}.m{color:#06c}summary{cursor:pointer}"
)


def page(schema: Mapping[str, Any]) -> str:
    """Return the page."""
    info = schema["info"]
    parts = [
        _section(path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    forms = schema.get("components", {}).get("schemas", {})
    parts += ["<h1>Forms</h1>", *(_form(name, form) for name, form in forms.items())]
    title = html.escape(f"{info['title']} {info['version']}")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
        f"<h1>{title}</h1><p>{html.escape(info.get('description', ''))}</p>"
        f"<p>Machine-readable: <a href=openapi.json>openapi.json</a></p>{''.join(parts)}</html>"
    )


def _section(path: str, method: str, operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    takes = _link(body["schema"]) if body else ""
    answers = "".join(
        f"<li>{html.escape(status)}: {html.escape(answer.get('description', ''))} "
        f"{_link(answer.get('content', {}).get('application/json', {}).get('schema', {}))}</li>"
        for status, answer in operation.get("responses", {}).items()
    )
    text = html.escape(operation.get("description") or operation.get("summary", ""))
    return (
        f"<h2><code><span class=m>{method.upper()}</span> {html.escape(path)}</code></h2>"
        f"<p>{text}</p>{f'<p>Takes {takes}</p>' if takes else ''}<ul>{answers}</ul>"
    )


def _link(schema: Mapping[str, Any]) -> str:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return f"<a href='#{html.escape(name)}'>{html.escape(name)}</a>" if name else ""


def _form(name: str, form: Mapping[str, Any]) -> str:
    text = html.escape(json.dumps(form, indent=1))
    anchor = html.escape(name)
    return f"<details id='{anchor}' open><summary>{anchor}</summary><pre>{text}</pre></details>"
