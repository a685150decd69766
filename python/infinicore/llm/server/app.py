"""The HTTP application: routes, the API key, body limits, errors."""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from infinicore.llm.server import metrics, parse
from infinicore.llm.server.answers import ChatForm, TextForm
from infinicore.llm.server.embeddings import embeddings
from infinicore.llm.server.errors import ApiError
from infinicore.llm.server.generate import generate
from infinicore.llm.server.worker import Worker

Handler = Callable[[Request], Awaitable[Response]]

MOST_BODY = 8 << 20  # bytes
# The page has its own script and connects only to this server.
_PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def json_response(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # In ASCII: an error may quote a lone surrogate, which cannot be encoded otherwise.
    text = json.dumps(body, allow_nan=False)
    return Response(text.encode(), status, headers, "application/json")


class Server:
    """The state shared by the handlers. `key` None: no authentication. `hosts`: the names allowed
    in the Host header; None: any."""

    def __init__(
        self,
        worker: Worker,
        name: str,
        key: str | None = None,
        hosts: Collection[str] | None = None,
    ) -> None:
        self.worker, self.name, self._hosts = worker, name, hosts
        self._key = key.encode() if key else None
        self.metrics = metrics.Metrics()
        self.created = int(time.time())
        self._page = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")

    def application(self) -> Starlette:
        routes = [
            self._route("/v1/chat/completions", "POST", self.chat),
            self._route("/v1/completions", "POST", self.complete),
            self._route("/v1/embeddings", "POST", self.embed),
            self._route("/v1/models", "GET", self.models),
            self._route("/v1/models/{name:path}", "GET", self.model),
            self._route("/metrics", "GET", self.show_metrics),
            self._route("/health", "GET", self.health, open_to_all=True),
            self._route("/", "GET", self.page, open_to_all=True),
        ]
        errors: Any = {404: _no_such_path, 405: _wrong_method}
        return Starlette(routes=routes, exception_handlers=errors)

    def _route(self, path: str, method: str, handler: Handler, open_to_all: bool = False) -> Route:
        async def handle(request: Request) -> Response:
            try:
                self._check_host(request)
                if not open_to_all:
                    self._check_key(request)
                response = await handler(request)
            except ApiError as error:
                response = json_response(error.body(), error.status, error.headers)
            except ClientDisconnect:
                response = Response(status_code=499)
            except Exception as error:
                failed = ApiError(500, f"{type(error).__name__}: {error}")
                response = json_response(failed.body(), 500)
            self.metrics.request(path, response.status_code)
            return response

        return Route(path, handle, methods=[method])

    def _check_host(self, request: Request) -> None:
        """A page of another site can reach this server under its own name (DNS rebinding) and read
        the responses, so the Host header is checked."""
        given = request.headers.get("host", "")
        # Browsers always send one; health checks of HTTP/1.0 may not.
        if self._hosts is not None and given and host_name(given) not in self._hosts:
            raise ApiError(
                403,
                f"Host is {given!r}: expected one of {', '.join(sorted(self._hosts))}, or the"
                " option --allowed-host for it",
                code="host_not_allowed",
            )

    def _check_key(self, request: Request) -> None:
        if self._key is None:
            return
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        # Compares in constant time.
        same = hmac.compare_digest(given.strip().encode("latin-1"), self._key)
        if kind.lower() != "bearer" or not same:
            raise ApiError(
                401,
                "expected the header Authorization: Bearer <the key of this server>",
                code="invalid_api_key",
            )

    def check_model(self, name: str | None) -> None:
        if name is not None and name != self.name:
            raise ApiError(
                404,
                f"the model {name!r} does not exist: this server has {self.name!r}",
                "model",
                "model_not_found",
            )

    async def body(self, request: Request) -> Any:
        """The JSON of a request."""
        # Pages of other origins can send other content types without a CORS preflight.
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise ApiError(415, f"Content-Type is {kind!r}: expected application/json")
        too_large = ApiError(
            413, f"the body is larger than {MOST_BODY} bytes", code="body_too_large"
        )
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > MOST_BODY:
            raise too_large
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > MOST_BODY:
                raise too_large
        return parse.read_json(bytes(data))

    # ---- paths -------------------------------------------------------------------------------

    async def chat(self, request: Request) -> Response:
        return await generate(self, request, parse.chat(await self.body(request)), ChatForm)

    async def complete(self, request: Request) -> Response:
        return await generate(self, request, parse.completion(await self.body(request)), TextForm)

    async def embed(self, request: Request) -> Response:
        return json_response(await embeddings(self, await self.body(request)))

    async def models(self, request: Request) -> Response:
        return json_response({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        self.check_model(request.path_params["name"])
        return json_response(self._model())

    def _model(self) -> dict[str, Any]:
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "infinicore",
            "max_model_len": self.worker.longest,
        }

    async def health(self, request: Request) -> Response:
        worker = self.worker
        if worker.failure:
            return json_response({"status": "failed", "error": worker.failure}, 503)
        if worker.draining:
            return json_response({"status": "shutting down"}, 503)
        return json_response({"status": "ok", "running": worker.running, "waiting": worker.waiting})

    async def show_metrics(self, request: Request) -> Response:
        return Response(self.metrics.text(self.worker), media_type=metrics.CONTENT_TYPE)

    async def page(self, request: Request) -> Response:
        headers = {"Content-Security-Policy": _PAGE_POLICY, "X-Content-Type-Options": "nosniff"}
        return HTMLResponse(self._page, headers=headers)


def host_name(host: str) -> str:
    """The name in a Host header: without port and brackets, in lower case."""
    match = re.fullmatch(r"(\[.*\]|[^:]*)(:\d*)?", host.strip())
    return (match[1] if match else host).strip("[]").rstrip(".").lower()


async def _no_such_path(request: Request, error: Exception) -> Response:
    missing = ApiError(404, f"{request.url.path}: no such path", code="unknown_path")
    return json_response(missing.body(), 404)


async def _wrong_method(request: Request, error: Exception) -> Response:
    wrong = ApiError(405, f"{request.url.path} has no {request.method}", code="wrong_method")
    return json_response(wrong.body(), 405, getattr(error, "headers", None))
