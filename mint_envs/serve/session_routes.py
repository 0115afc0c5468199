"""The routes of sessions: episodes turn by turn.

A session is what its client sends back: see ``references``. A process that does not have the
responses so far asks for them once, with 428, and plays the episode again. Only an episode with
chance in it is held by one process.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response

from ..core import Reward, Task
from ..errors import SettingError
from ..executors import Turn
from ..problems import Answer
from . import wire
from .catalog import Offer
from .episodes import SessionTurn, session_turns
from .references import (
    SessionRef,
    StaleReference,
    chain_digest,
    first_heard,
    said_digest,
)
from .server import Server, StrictRoute, raise_lost
from .sessions import OpenSession, new_episode
from .wire import StrictJSON
from .work import Home, show_prompts

_MAX_TURNS = 1000
_SHARE = 0.9  # of a body, that all responses of a session may have: they may have to be sent again

_HELD = (
    "its task says that it has chance in it (nondeterministic): it cannot be played again, and is "
    "lost with the process that has it"
)


def session_routes(server: Server) -> APIRouter:
    """Return the routes."""
    router = APIRouter(route_class=StrictRoute)

    @router.post("/v1/sessions", response_model=wire.SessionOut, status_code=201)
    async def open_session(form: wire.SessionForm) -> Response:
        """Begin an episode; the answer holds its prompt, and the session to be sent back."""
        return StrictJSON(await _new_session(server, form), 201)

    @router.post("/v1/sessions/respond", response_model=wire.TurnOut)
    async def respond_to(form: wire.TurnForm) -> Response:
        """Give the next response of an episode; the answer holds the reply, or the reward.

        428 asks for the responses before it (`said`): another process has played them. Sending the
        same again after a lost connection is harmless.
        """
        ref, task = await _read_session(server, form.session)
        turn = _hold_turn if ref.holder else _move_turn
        answer, after = await turn(server, task, ref, form)
        session = None if isinstance(answer, Reward) else server.signer.sign(after)
        return StrictJSON(wire.turn_out(session, after.turn, answer))

    @router.post("/v1/sessions/close", status_code=204)
    async def close_session(form: wire.CloseForm) -> Response:
        """Forget what is kept of a session, and end an episode that is held."""
        ref = server.signer.read(form.session)
        server.played.forget(ref.episode)
        server.sessions.close(ref.episode)
        return Response(status_code=204)

    return router


async def _new_session(server: Server, form: wire.SessionForm) -> dict[str, Any]:
    problem = form.ref(secrets.randbits(63))
    task = await server.task(form.env, form.settings)
    movable = task.single_turn or not task.nondeterministic
    if not movable:
        server.sessions.check_room()
    (shown,) = await server.desk.run(show_prompts, task, [problem])
    raise_lost(shown)
    prompt, problem_id = shown
    ref = SessionRef(
        form.env, form.settings, _offer_digest(server.catalog.offers[form.env]), problem.seed,
        problem.index, new_episode(), first_heard(problem_id, prompt), server.signer.now(),
        "" if movable else server.name,
    )  # fmt: skip
    if not movable:
        server.sessions.add(OpenSession(form.env, task, problem, ref.episode))
    return {
        "session": server.signer.sign(ref),
        "seed": ref.seed,
        "index": ref.index,
        "prompt": wire.prompt_out(prompt),
        "problem_id": problem_id,
        "idle_s": server.settings.session_s,
        "movable": movable,
        "why_held": None if movable else _HELD,
    }


async def _read_session(server: Server, text: str) -> tuple[SessionRef, Task[Any]]:
    """Return a session and its task.

    Raises:
        StaleReference: it is forged or too old, or what is offered is not what it was.
    """
    ref = server.signer.read(text)
    offer = server.catalog.offers.get(ref.env)
    changed = f"what is offered as {ref.env!r} is not what it was: open another session"
    if offer is None or _offer_digest(offer) != ref.offer:
        raise StaleReference(changed)
    try:
        return ref, await server.task(ref.env, ref.settings)
    except SettingError as error:
        raise StaleReference(f"{changed} ({error})") from error


def _offer_digest(offer: Offer) -> str:
    return chain_digest("", offer.id, dict(offer.settings))


def _check_session_length(server: Server, ref: SessionRef, response: str) -> None:
    longest = int(_SHARE * server.settings.max_body)
    if ref.turn >= _MAX_TURNS or ref.weight + len(json.dumps(response)) > longest:
        raise HTTPException(
            409, f"a session has {_MAX_TURNS} turns and {longest} bytes of responses at most: open "
            "another"
        )  # fmt: skip


# -- a session that any process can go on with ----------------------------------------------------


async def _move_turn(
    server: Server, task: Task[Any], ref: SessionRef, form: wire.TurnForm
) -> tuple[Answer, SessionRef]:
    again = server.played.answered(ref, form.response, form.cut)
    if again is not None:
        return again.answer, again.after
    history, home = _history(server, ref, form)
    _check_session_length(server, ref, form.response)
    turn = Turn(None, ref.episode, history, form.response, form.cut)
    asked = SessionTurn(ref.problem, turn, ref.heard)
    found, slot = await server.desk.run_at(home, session_turns, task, asked)
    raise_lost(found)  # nothing has changed: the response may be sent again
    answer, replayed = found
    after = ref.after(form.response, answer, server.signer.now())
    home = None if isinstance(answer, Reward) else Home(slot)
    server.played.keep(ref, history, form.response, form.cut, answer, after, home)
    server.metrics.count_turn(ref.env, answer, replayed)
    return answer, after


def _history(
    server: Server, ref: SessionRef, form: wire.TurnForm
) -> tuple[tuple[str, ...], Home | None]:
    """Return the responses before this one, and where the episode is, if it is here."""
    known = server.played.history(ref)
    if known is not None:
        return known
    if form.said is None:
        raise HTTPException(
            428, f"send the {ref.turn} responses before this one too, as 'said': this process has "
            "not played them, or has forgotten them"
        )  # fmt: skip
    if len(form.said) != ref.turn or said_digest(form.said) != ref.said:
        raise HTTPException(422, "said: these are not the responses that the session has had")
    return tuple(form.said), None


# -- one that is held here ------------------------------------------------------------------------


async def _hold_turn(
    server: Server, task: Task[Any], ref: SessionRef, form: wire.TurnForm
) -> tuple[Answer, SessionRef]:
    if ref.holder != server.name:
        raise HTTPException(
            421, f"the session is held by another process, or is lost with it: {_HELD}",
            {"Connection": "close"},
        )  # fmt: skip
    session = server.sessions.get(ref.episode)
    if session is None:
        raise StaleReference("the session was closed, or idle for too long: open another")
    answer = session.said_before(form.response, form.cut, ref.turn)
    if answer is not None:
        server.sessions.touch(session)
        return answer, ref.after(form.response, answer, server.signer.now())
    _check_session_length(server, ref, form.response)
    _check_turn(session, ref, server.sessions.is_open(session))
    server.sessions.check_text(form.response)
    turn = Turn(None, session.id, session.history, form.response, form.cut)
    session.busy = True
    try:
        found, slot = await server.desk.run_at(
            session.home, session_turns, task, SessionTurn(session.ref, turn, ref.heard)
        )
    finally:
        session.busy = False
    raise_lost(found)  # the session stays as it was: the response may be sent again
    answer, session.home = found[0], Home(slot, only=True)
    server.sessions.advance(session, form.response, form.cut, answer)
    server.metrics.count_turn(session.env, answer, False)
    return answer, ref.after(form.response, answer, server.signer.now())


def _check_turn(session: OpenSession, ref: SessionRef, is_open: bool) -> None:
    if not is_open:
        raise HTTPException(409, "the episode of this session is over: open another session")
    if session.busy:
        raise HTTPException(409, "the session is working on a response already")
    if ref.turn != session.turn:
        raise HTTPException(
            409, f"the session has had {session.turn} responses, not {ref.turn}: it has chance in "
            "it, and does not go back"
        )  # fmt: skip
